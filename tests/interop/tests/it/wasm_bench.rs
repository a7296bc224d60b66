//! `bench/wasm --quick`, with the programs and modules that `./test` builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use interop::folder;
use runnel_testkit::namespace::require_private_network;
use serde_json::Value;

const MODES: [&str; 4] = ["native", "AOT", "JIT", "Pulley"];

fn bench(arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/wasm");
    Command::new(script).args(arguments).output().expect("it starts")
}

/// Text of a file of the bench's folder for results.
fn text(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn node_in_webassembly_is_measured_in_every_mode() {
    require_private_network();
    let results = tempfile::tempdir().expect("a folder");
    let in_results = |name: &str| results.path().join(name);
    let (json, charts) = (in_results("results.json"), in_results("charts"));
    let (json, charts) = (json.to_str().expect("UTF-8"), charts.to_str().expect("UTF-8"));
    let programs = folder();
    let programs = programs.to_str().expect("UTF-8");
    let ran = bench(&["--quick", "--programs", programs, "--json", json, "--charts", charts]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));

    let found: Value = serde_json::from_str(&text(json.into())).expect("JSON");
    for mode in MODES {
        let of_mode = |runs: &&Value| runs["mode"] == mode;
        let run = found["runs"].as_array().and_then(|runs| runs.iter().find(of_mode)).expect(mode);
        for topic in ["light_sensors", "cmd_vel"] {
            let times = |way: &str| run[topic][way].as_array().map_or(0, Vec::len);
            assert_eq!([times("one_way"), times("round_trip")], [20, 20], "{mode}, {topic}");
        }
        let searches = ["primes_up_to", "first_primes"].map(|kind| run[kind].as_array().map_or(0, Vec::len));
        assert_eq!(searches, [10, 10], "{mode}");
        assert!(run["started"].as_u64() < run["first_received"].as_u64(), "{mode}: {run}");
        let memory = found["memory"].as_array().and_then(|rows| rows.iter().find(of_mode)).expect(mode);
        let bytes = |name: &str| memory[name].as_u64().unwrap_or_default();
        assert!(0 < bytes("SHR") && bytes("SHR") < bytes("RES") && bytes("RES") < bytes("VSS"), "{memory}");
    }

    let tables = String::from_utf8(ran.stdout).expect("UTF-8");
    let cells =
        ["| Pulley, one core |", "mROS 2-Wasm, interpreted (published", "### Computing", "mean nothing"];
    assert!(cells.iter().all(|cell| tables.contains(cell)), "{tables}");
    let again = bench(&["--from", json, "--charts", charts]);
    assert_eq!(String::from_utf8_lossy(&again.stdout), tables, "the file holds all that the tables have");
    for chart in ["wasm-light-sensors-light.svg", "wasm-cmd-vel-dark.svg"] {
        let drawn = text(Path::new(charts).join(chart));
        assert!(MODES.iter().all(|mode| drawn.contains(&format!(">{mode}, one core<"))), "{chart}");
    }
}
