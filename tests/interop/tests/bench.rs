//! `runnel bench` with every contestant of the scenarios in which the original master and roscpp take part.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The program that cargo puts beside the folder of the test executables.
fn bench(arguments: &[&str], folder: &Path) -> String {
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("runnel");
    assert!(
        program.is_file(),
        "{} is missing: run ./test, or cargo build --workspace --bins",
        program.display()
    );
    let mut command = Command::new(program);
    // A master of the folder's own comes before the one that is installed.
    command.env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()));
    let told = command.arg("bench").args(arguments).arg("--out").arg(folder).output().unwrap();
    let progress = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.status.success(), "{progress}");
    progress
}

/// How often a contestant has figures for one exchange.
fn figures(progress: &str, exchange: &str, contestant: &str) -> usize {
    let of_both = |line: &&str| {
        line.contains(&format!("] {exchange} ")) && line.contains(&format!(" {contestant}: call "))
    };
    progress.lines().filter(of_both).count()
}

#[test]
fn every_contestant_calls_services_and_sets_and_gets_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let progress = bench(&["service", "param", "--quick"], folder.path());
    let everybody = ["runnel-tcpros", "roscpp", "roscpp-at-runnel"].as_slice();
    // Two rounds in two placements; a parameter is of two sizes.
    for (exchange, contestants, runs) in [
        ("service-once", everybody, 4),
        ("service-persistent", &everybody[..2], 4),
        ("param-set", everybody, 8),
        ("param-get", everybody, 8),
    ] {
        for contestant in contestants {
            assert_eq!(figures(&progress, exchange, contestant), runs, "{exchange} {contestant}: {progress}");
        }
    }
    // Calls of roscpp fail now and then where each is a connection of its own, and nowhere else.
    for line in progress.lines().filter(|line| line.contains(" lost")) {
        assert!(line.contains("service-once") && line.contains(" roscpp"), "{line}");
    }
    assert!(!progress.contains("without"), "{progress}");
}

/// How often roscpp has figures of one exchange, of which nothing was lost.
fn whole(progress: &str, exchange: &str) -> usize {
    let of_exchange = |line: &&str| line.contains(&format!("] {exchange} ")) && line.contains(" roscpp: ");
    let runs: Vec<&str> = progress.lines().filter(of_exchange).collect();
    let figures = |line: &&&str| line.contains(" us") || line.contains(" messages/s");
    assert!(runs.iter().all(|line| !line.contains("lost") && !line.contains("arrived")), "{progress}");
    runs.iter().filter(figures).count()
}

#[test]
fn roscpp_plays_every_scenario_that_carries_messages() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = ["C", "A", "B", "D", "hello", "chain", "sizes", "scale"];
    let progress = bench(&[&scenarios[..], &["--quick", "--only", "roscpp"]].concat(), folder.path());
    // Rounds, placements, and what is varied in each.
    for (exchange, runs) in [
        ("C", 2 * 2),
        ("A", 2 * 2 * 2),
        ("B", 2 * 2 * 8),
        ("D", 2 * 2 * 8),
        ("D-pairs", 2 * 3 * 4),
        ("hello", 2 * 2),
        ("chain", 2 * 2),
        ("sizes", 2 * 3 * 8),
        ("scale-topics", 2 * 2 * 2),
        ("scale-subscribers", 2 * 2 * 2),
    ] {
        assert_eq!(whole(&progress, exchange), runs, "{exchange}: {progress}");
    }
}

#[test]
fn a_master_that_fails_is_named_and_costs_only_those_who_ask_it() {
    let folder = tempfile::tempdir().unwrap();
    let master = folder.path().join("rosmaster");
    fs::write(&master, "#!/bin/sh\necho no luck >&2\nexit 3\n").unwrap();
    fs::set_permissions(&master, fs::Permissions::from_mode(0o755)).unwrap();
    let progress = bench(&["param", "--quick", "--only", "roscpp", "roscpp-at-runnel"], folder.path());
    assert_eq!(figures(&progress, "param-get", "roscpp-at-runnel"), 8, "{progress}");
    let failed =
        |line: &&str| line.contains(" roscpp: no figures: rosmaster: ended early (exit status: 3): no luck");
    assert_eq!(progress.lines().filter(failed).count(), 16, "{progress}");
}
