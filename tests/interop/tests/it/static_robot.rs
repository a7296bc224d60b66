//! The robot's own program, linked statically, drives where there is nothing but itself, and on the processor of a Raspberry Pi.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use interop::{Master, Ros1Graph, Server, projects};
use runnel_testkit::process::{Peer, deadline_in};
use tempfile::TempDir;

/// Seconds that a lap and all before it may take on a busy host.
const LAP: u64 = 120;

/// `line_trace` for a target of Rust's. [docs/line-tracer.md](../../../../docs/line-tracer.md) builds it in this repository:
/// so does `./test --full`. Otherwise a project builds it of the crates that `docs` has had built for that target.
fn built_for(target: &str) -> PathBuf {
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--target", target]);
    let results = if interop::is_full() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        command.args(["-p", "line_trace"]).current_dir(&repository);
        repository.join("target")
    } else {
        projects::share_builds(command.current_dir(project()));
        projects::built()
    };
    let built = command.output().expect("cargo runs");
    assert!(built.status.success(), "run ./test: {}", String::from_utf8_lossy(&built.stderr));
    results.join(target).join("release/line_trace")
}

/// A project of the program's source. It reaches this repository's crates by the path by which all projects do.
fn project() -> PathBuf {
    let repository = projects::folder().join(projects::REPOSITORY);
    let repository = repository.display();
    let folder = projects::built().join("static_robot");
    let manifest = format!(
        "[workspace]\n[package]\nname = 'static_robot'\nedition = '2024'\n\
         [[bin]]\nname = 'line_trace'\npath = '{repository}/apps/line_trace/src/main.rs'\n\
         [dependencies]\nline_trace.path = '{repository}/apps/line_trace'\n\
         runnel.path = '{repository}/crates/runnel'\n"
    );
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("Cargo.toml"), manifest).expect("a file");
    folder
}

/// Has the robot drive a lap, seen by the same program; `run` starts it with arguments.
fn drives_a_lap(graph: &Ros1Graph, run: impl Fn(&Ros1Graph, &[&str]) -> Peer) {
    let _robot = run(graph, &["--simulate"]);
    let mut watch = run(graph, &["watch"]);
    watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap");
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
