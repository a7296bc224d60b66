//! The robot's own program, linked statically, drives where there is nothing but itself, and on the processor of a Raspberry Pi.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use interop::{Master, Ros1Graph, Server};
use runnel_testkit::process::{Peer, within};
use tempfile::TempDir;

/// Seconds that a lap and all before it may take on a busy host.
const LAP: u64 = 120;

/// `line_trace` for a target of Rust's, built as [docs/line-tracer.md](../../../docs/line-tracer.md) says.
fn built_for(target: &str) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments = ["build", "--release", "--target", target, "-p", "line_trace"];
    let built = Command::new("cargo").args(arguments).current_dir(&repository).output().expect("cargo runs");
    assert!(built.status.success(), "run ./test: {}", String::from_utf8_lossy(&built.stderr));
    repository.join("target").join(target).join("release/line_trace")
}

/// Has the robot drive a lap, seen by the same program; `run` starts it with arguments.
fn drives_a_lap(graph: &Ros1Graph, run: impl Fn(&Ros1Graph, &[&str]) -> Peer) {
    let _robot = run(graph, &["--simulate"]);
    let mut watch = run(graph, &["watch"]);
    watch.wait_for_line(|line| line.starts_with("lap 1:"), within(LAP)).expect("a lap");
}

#[test]
#[ignore = "in ./test --full"]
fn it_drives_in_a_folder_that_holds_nothing_else() {
    let folder = TempDir::with_prefix("runnel-static-").expect("a temporary folder");
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    fs::copy(built_for(&target), folder.path().join("line_trace")).expect("a copy");
    let root = format!("--root={}", folder.path().display());
    let master = Master::start(Server::Runnel);
    drives_a_lap(master.graph(), |graph, arguments| {
        graph.tool("unshare", &[&[root.as_str(), "/line_trace"], arguments].concat())
    });
}

#[test]
fn it_drives_on_the_processor_of_a_raspberry_pi() {
    let program = built_for("aarch64-unknown-linux-musl");
    let program = program.to_str().expect("a name in UTF-8");
    let master = Master::start(Server::Runnel);
    drives_a_lap(master.graph(), |graph, arguments| {
        graph.tool("qemu-aarch64", &[&[program], arguments].concat())
    });
}
