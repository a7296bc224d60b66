//! `runnel bench` from outside.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value as Json;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_runnel")).arg("bench").args(arguments).output().unwrap()
}

fn results(folder: &Path) -> Json {
    serde_json::from_str(&fs::read_to_string(folder.join("results.json")).unwrap()).unwrap()
}

#[test]
fn a_quick_ping_pong_on_the_floor_is_measured_shown_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let told = bench(&["C", "--quick", "--only", "floor-tcp", "--out", folder.path().to_str().unwrap()]);
    let (text, progress) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success(), "{progress}");
    assert!(text.contains("C  ping-pong, 10 B, one-core, microseconds, 2 rounds\n"), "{text}");
    assert!(progress.contains("C 10 B one-core round 2 floor-tcp: round trip "), "{progress}");
    let results = results(folder.path());
    for run in results["runs"].as_array().unwrap() {
        assert_eq!((&run["failure"], &run["sent"], &run["lost"]), (&Json::Null, &1000.into(), &0.into()));
        let trip = &run["round_trip_ns"];
        assert!(0 < trip["min"].as_u64().unwrap() && trip["min"].as_u64() <= trip["max"].as_u64(), "{trip}");
    }
    assert_eq!(results["summaries"][0]["to_floor"], 1.0);
}

#[test]
fn quick_calls_of_services_and_for_parameters_are_all_answered() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let told = bench(&["service", "param", "--quick", "--only", "runnel-tcpros", "--out", out]);
    let (text, progress) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success(), "{progress}");
    for (title, scenario, size, calls) in [
        ("service  calls, each on its own connection, one-core", "service-once", 1, 200),
        ("service  calls, all on one connection, one-core", "service-persistent", 1, 1000),
        ("param  setting an int, one-core", "param-set", 4, 200),
        ("param  getting an int, one-core", "param-get", 4, 200),
        ("param  setting a string of 100 B, one-core", "param-set", 100, 200),
        ("param  getting a string of 100 B, one-core", "param-get", 100, 200),
    ] {
        assert!(text.contains(&format!("{title}, microseconds, 2 rounds\n")), "{text}");
        let results = results(folder.path());
        let case = serde_json::json!({ "scenario": scenario, "size": size, "placement": "one-core" });
        let runs = results["runs"].as_array().unwrap().iter().filter(|run| run["case"] == case);
        for run in runs.clone() {
            assert_eq!(
                (&run["failure"], &run["sent"], &run["lost"]),
                (&Json::Null, &calls.into(), &0.into())
            );
            assert!(0 < run["round_trip_ns"]["min"].as_u64().unwrap(), "{run}");
        }
        assert_eq!(runs.count(), 2);
    }
    assert!(!text.contains("without the floor"), "{text}");
}

#[test]
fn without_the_original_master_the_others_are_measured_and_the_user_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["bench", "param", "--quick", "--only", "runnel-tcpros", "roscpp", "--out"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    let told = command.args(arguments).arg(folder.path()).env("PATH", "").output().unwrap();
    let progress = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{progress}");
    let note = "param-set and param-get without roscpp: rosmaster is not installed (Debian: apt-get install python3-rosmaster)";
    assert_eq!(results(folder.path())["notes"], serde_json::json!([note]));
    let results = results(folder.path());
    let runs = results["runs"].as_array().unwrap();
    assert!(!runs.is_empty() && runs.iter().all(|run| run["failure"] == Json::Null), "{progress}");
}

#[test]
fn an_unknown_contestant_is_refused_with_the_names_there_are() {
    let told = bench(&["C", "--only", "abacus"]);
    let error = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(2));
    assert!(error.contains("abacus") && error.contains("floor-tcp"), "{error}");
}
