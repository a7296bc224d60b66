//! The line on a terminal that shows how far a command has read its bags.

use std::fs::File;
use std::process::{Command, Stdio};

use runnel_bag::disk::Plain;
use runnel_bag::mcap::{Profile, Writer};
use runnel_bag::{BagWriter, Channel, Encoding, NewMessage};
use tempfile::TempDir;

const SECOND: u64 = 1_000_000_000;

/// A folder with `run.mcap`, which has messages at the seconds 0, 5 and 10.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let file = Plain::new(File::create(folder.path().join("run.mcap")).expect("a file"));
    let mut writer = Writer::on_disk(file, Profile::None).expect("a bag");
    let channel = Channel { topic: "/a".into(), encoding: Encoding::Cdr, ..Channel::default() };
    let channel = writer.add_channel(&channel).expect("a channel");
    for second in [100, 105, 110] {
        let (log_time, data) = (second * SECOND, b"data"[..].into());
        writer
            .write(&NewMessage { channel, log_time, publish_time: log_time, sequence: 0, data })
            .expect("written");
    }
    writer.finish().expect("complete");
    folder
}

/// All output of a command line, on a pseudo terminal.
fn on_terminal(folder: &TempDir, words: &str) -> String {
    let line = format!("{} {words}", env!("CARGO_BIN_EXE_runnel"));
    output(folder, Command::new("script").args(["-qec", &line, "/dev/null"]))
}

fn output(folder: &TempDir, command: &mut Command) -> String {
    let output = command.current_dir(folder.path()).stdin(Stdio::null()).output().expect("it starts");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn progress_is_shown_on_a_terminal() {
    let folder = folder();
    for (words, expected) in [
        ("bag check run.mcap", "\rchecking 0.0 s of 10.0 s, 1 message\x1b[K"),
        ("bag convert run.mcap new.mcap", "\rconverting 0.0 s of 10.0 s, 1 message\x1b[K"),
        ("bag cut run.mcap part.mcap --start 4", "\rcutting 1.0 s of 6.0 s, 1 message\x1b[K"),
    ] {
        let output = on_terminal(&folder, words);
        let (_, behind) = output.split_once(expected).unwrap_or_else(|| panic!("{words}: {output:?}"));
        assert!(behind.contains("\r\x1b[K"), "the line is removed: {output:?}");
    }
}

#[test]
fn programs_get_no_progress() {
    let folder = folder();
    let json = on_terminal(&folder, "--json bag check run.mcap");
    assert!(json.contains("\"good\":true") && !json.contains("checking"), "{json}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    let piped = output(&folder, command.args(["bag", "check", "run.mcap"]));
    assert_eq!(piped, "run.mcap: good, 3 messages\n");
}
