//! `runnel wasm certificate` and `runnel wasm trust`.

use std::process::{Command, Output};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// Runs a command as a user of one host.
fn run(host: &TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.arg("wasm").args(words).env_clear().env("XDG_CONFIG_HOME", host.path());
    command.output().expect("it starts")
}

fn answer(host: &TempDir, words: &[&str]) -> String {
    let output = run(host, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn failure(host: &TempDir, words: &[&str], code: i32) -> String {
    let output = run(host, words);
    assert_eq!(output.status.code(), Some(code), "{words:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

fn host() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

#[test]
fn printed_command_makes_a_host_trusted() {
    let (robot, station) = (host(), host());
    let certificate: Json = serde_json::from_str(&answer(&robot, &["certificate", "--json"])).expect("JSON");
    let fingerprint = certificate["fingerprint"].as_str().expect("a text");
    let text = answer(&robot, &["certificate"]);
    assert!(text.starts_with(&format!("{fingerprint}\n")), "{text}");
    let command = certificate["command"].as_str().expect("a text");
    assert!(text.contains(command), "{text}");
    let words: Vec<&str> = command.split(' ').skip(2).collect();
    let name = words.last().expect("a name");
    assert_eq!(answer(&station, &words), format!("trusted: {name}, {fingerprint}\n"));
    assert_eq!(
        answer(&station, &["trust", "--list"]).split_whitespace().collect::<Vec<_>>(),
        [*name, fingerprint]
    );
    let list: Json = serde_json::from_str(&answer(&station, &["trust", "--list", "--json"])).expect("JSON");
    assert_eq!(list, json!([{ "fingerprint": fingerprint, "name": name }]));
    answer(&station, &["trust", "--remove", name]);
    assert_eq!(answer(&station, &["trust", "--list"]), "");
}

#[test]
fn hosts_that_cannot_be_meant_are_refused() {
    let station = host();
    let fingerprint = "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0";
    let error = failure(&station, &["trust", &fingerprint[..30]], 2);
    assert!(error.contains("is no fingerprint: that is SHA256: and 43 characters"), "{error}");
    answer(&station, &["trust", fingerprint, "--name", "robot"]);
    let error = failure(&station, &["trust", "--remove", "robt"], 1);
    assert!(error.contains("robt: this host trusts no such host (did you mean robot?)"), "{error}");
    let error = failure(&station, &["trust", "--remove", "station"], 1);
    assert!(error.contains("(see 'runnel wasm trust --list')"), "{error}");
    failure(&station, &["trust"], 2);
    failure(&station, &["trust", fingerprint, "--list"], 2);
}
