//! `runnel bench` as a process of its own.

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
fn quick_ping_pong_is_measured_shown_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let output = bench(&["C", "--quick", "--only", "floor-tcp", "--out", folder.path().to_str().unwrap()]);
    let (text, progress) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{progress}");
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

/// The runs of a contestant in a scenario, none of which lost or doubled a message.
fn whole_runs<'a>(results: &'a Json, scenario: &str, contestant: &str) -> Vec<&'a Json> {
    let of = |run: &&Json| run["case"]["scenario"] == scenario && run["contestant"] == contestant;
    let runs: Vec<&Json> = results["runs"].as_array().unwrap().iter().filter(of).collect();
    for run in &runs {
        assert_eq!(
            (&run["failure"], &run["lost"], &run["doubled"]),
            (&Json::Null, &0.into(), &0.into()),
            "{run}"
        );
    }
    runs
}

#[test]
fn every_ipc_transport_carries_a_ping_pong() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = bench(&["ipc", "--quick", "--size", "10,100000", "--out", out]);
    let (text, progress) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{progress}");
    let results = results(folder.path());
    // Two rounds of two sizes in two placements.
    for (contestant, runs) in [
        ("floor-tcp", 8),
        ("floor-unix-stream", 8),
        ("floor-unix-dgram", 8),
        ("floor-unix-seqpacket", 8),
        ("floor-futex", 8),
        ("floor-udp", 4),
        ("floor-spin", 4),
    ] {
        assert_eq!(whole_runs(&results, "ipc", contestant).len(), runs, "{contestant}: {progress}");
    }
    let spinning = whole_runs(&results, "ipc", "floor-spin");
    assert!(spinning.iter().all(|run| run["case"]["placement"] == "two-cores"));
    let note = "ipc with 100000 B without floor-udp: it carries at most 65507 B";
    assert_eq!(results["notes"], serde_json::json!([note]));
    assert!(text.contains("ipc  ping-pong, 100000 B, two-cores, microseconds, 2 rounds\n"), "{text}");
    let floor = results["summaries"].as_array().unwrap().iter();
    for summary in floor.filter(|summary| summary["contestant"] == "floor-unix-stream") {
        assert_eq!(summary["to_floor"], 1.0);
    }
}

#[test]
fn floor_and_runnel_run_every_message_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let scenarios = ["B", "D", "hello", "chain", "scale", "--quick"];
    let only = ["--only", "floor-tcp-pair", "floor-unix-stream", "runnel-tcpros", "--out", out];
    let output = bench(&[&scenarios[..], &only].concat());
    let progress = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{progress}");
    let results = results(folder.path());
    // Rounds, placements, and what is varied in each.
    for (scenario, runs, sent, field) in [
        ("B", 2 * 2 * 8, 10, "one_way_ns"),
        ("D", 2 * 2 * 8, 10, "round_trip_ns"),
        ("D-pairs", 2 * 3 * 4, 10, "round_trip_ns"),
        ("hello", 2 * 2, 30, "one_way_ns"),
        ("chain", 2 * 2, 30, "one_way_ns"),
        ("scale-topics", 2 * 2 * 2, 1000, "round_trip_ns"),
        ("scale-subscribers", 2 * 2, 30, "one_way_ns"),
    ] {
        for contestant in ["floor-unix-stream", "runnel-tcpros"] {
            let whole = whole_runs(&results, scenario, contestant);
            assert_eq!(whole.len(), runs, "{scenario} {contestant}: {progress}");
            for run in whole {
                let pairs = run["case"]["pairs"].as_u64().unwrap_or(1);
                assert_eq!(run["sent"], sent * pairs, "{run}");
                assert!(0 < run[field]["min"].as_u64().unwrap(), "{run}");
                assert_eq!(run["late_ns"].is_null(), scenario == "scale-topics", "{run}");
            }
        }
    }
    assert_eq!(whole_runs(&results, "D", "floor-tcp-pair").len(), 2 * 2 * 8);
}

#[test]
fn idle_cost_is_measured_with_and_without_messages() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output =
        bench(&["idle", "--quick", "--only", "floor-tcp", "runnel-ipc", "runnel-tcpros", "--out", out]);
    let (text, progress) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{progress}");
    assert!(
        text.contains("idle  by so many topics, no message, one-core, CPU in per mille, 1 round\n"),
        "{text}"
    );
    let results = results(folder.path());
    for contestant in ["floor-tcp", "runnel-ipc", "runnel-tcpros"] {
        let whole = whole_runs(&results, "idle", contestant);
        let of =
            |run: &&Json| (run["case"]["topics"].as_u64().unwrap(), run["case"]["rate_hz"].as_u64().unwrap());
        assert_eq!(
            whole.iter().map(of).collect::<Vec<_>>(),
            [(1, 0), (10, 0), (1, 100), (10, 100)],
            "{progress}"
        );
        for (run, end) in whole.iter().flat_map(|run| [(run, "receiver"), (run, "sender")]) {
            let (cost, rate) = (&run[end], run["case"]["rate_hz"].as_u64().unwrap());
            assert_eq!(run["sent"], if rate == 0 { 1 } else { 500 }, "{run}");
            assert!(cost["resident_bytes"].as_u64().unwrap() > 100_000, "{run}");
            // How long a message takes depends on the machine, but it always costs CPU time and a context switch.
            if rate > 0 {
                assert!(cost["cpu_per_mille"].as_f64().unwrap() > 0.0, "{run}");
                assert!(cost["switches_per_second"].as_f64().unwrap() > 50.0, "{run}");
            }
        }
    }
}

#[test]
fn written_and_read_payloads_match_sent_ones() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = bench(&["sizes", "--quick", "--only", "floor-tcp", "runnel-tcpros", "--out", out]);
    let progress = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{progress}");
    let results = results(folder.path());
    for contestant in ["floor-tcp", "runnel-tcpros"] {
        let whole = whole_runs(&results, "sizes", contestant);
        for payload in ["hand-over", "write", "read"] {
            let of = whole.iter().filter(|run| run["case"]["payload"] == payload);
            assert_eq!(of.count(), 2 * 8, "{progress}");
        }
    }
}

#[test]
fn quick_service_and_parameter_calls_are_all_answered() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = bench(&["service", "param", "--quick", "--only", "runnel-tcpros", "--out", out]);
    let (text, progress) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{progress}");
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
fn missing_rosmaster_is_noted_and_others_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["bench", "param", "--quick", "--only", "runnel-tcpros", "roscpp", "--out"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    let output = command.args(arguments).arg(folder.path()).env("PATH", "").output().unwrap();
    let progress = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{progress}");
    let note = "param-set and param-get without roscpp: rosmaster is not installed (Debian: apt-get install python3-rosmaster)";
    assert_eq!(results(folder.path())["notes"], serde_json::json!([note]));
    let results = results(folder.path());
    let runs = results["runs"].as_array().unwrap();
    assert!(!runs.is_empty() && runs.iter().all(|run| run["failure"] == Json::Null), "{progress}");
}

#[test]
fn size_too_small_for_a_number_is_refused() {
    let output = bench(&["ipc", "--size", "10,7"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("a number of bytes from 8 to "), "{error}");
}

#[test]
fn unknown_contestant_is_refused_with_known_names() {
    let output = bench(&["C", "--only", "abacus"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("abacus") && error.contains("floor-tcp"), "{error}");
}
