//! `runnel bench` from outside.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value as Json;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_runnel")).arg("bench").args(arguments).output().unwrap()
}

#[test]
fn a_quick_ping_pong_on_the_floor_is_measured_shown_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let told = bench(&["C", "--quick", "--only", "floor-tcp", "--out", folder.path().to_str().unwrap()]);
    let (text, progress) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success(), "{progress}");
    assert!(text.contains("C  ping-pong, 10 B, one-core, microseconds, 2 rounds\n"), "{text}");
    assert!(progress.contains("C 10 B one-core round 2 floor-tcp: round trip "), "{progress}");
    let results: Json =
        serde_json::from_str(&fs::read_to_string(folder.path().join("results.json")).unwrap()).unwrap();
    for run in results["runs"].as_array().unwrap() {
        assert_eq!((&run["failure"], &run["sent"], &run["lost"]), (&Json::Null, &1000.into(), &0.into()));
        let trip = &run["round_trip_ns"];
        assert!(0 < trip["min"].as_u64().unwrap() && trip["min"].as_u64() <= trip["max"].as_u64(), "{trip}");
    }
    assert_eq!(results["summaries"][0]["to_floor"], 1.0);
}

#[test]
fn an_unknown_contestant_is_refused_with_the_names_there_are() {
    let told = bench(&["C", "--only", "abacus"]);
    let error = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(2));
    assert!(error.contains("abacus") && error.contains("floor-tcp"), "{error}");
}
