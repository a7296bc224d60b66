//! Graphs for tests of `runnel bag`: its commands, and nodes of this process.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use runnel::{Context, ContextOptions, Graphs};
use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, deadline_in};
use tempfile::TempDir;

/// Seconds that a step may take on a busy host.
pub const STEP: u64 = 60;

/// Waits until something is true.
pub fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let deadline = deadline_in(STEP);
    while !is_true() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A ROS 2 domain, with a master if one was started, and a folder for bags.
pub struct Scene {
    folder: TempDir,
    domain: u16,
    master: Option<(Peer, String)>,
}

impl Scene {
    /// Without a master.
    pub fn ros2(domain: u16) -> Self {
        require_private_network();
        Self { folder: tempfile::tempdir().expect("a folder"), domain, master: None }
    }

    /// With a master.
    pub fn both(domain: u16) -> Self {
        let scene = Self::ros2(domain);
        let mut master = scene.peer(scene.path(), "master --no-rosout --port 0");
        let line = master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(STEP));
        let uri = line.expect("the master prints its URI").replace("ROS_MASTER_URI=", "");
        Self { master: Some((master, uri)), ..scene }
    }

    /// The folder for bags, which is removed at the end.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A command with the words of a line, in a folder.
    pub fn runnel(&self, folder: &Path, line: &str) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_runnel"), folder);
        command.args(line.split(' '));
        command
    }

    /// A program in this graph.
    pub fn command(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir(folder);
        for variable in ["ROS_MASTER_URI", "ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG"] {
            command.env_remove(variable);
        }
        command.envs(self.master.as_ref().map(|(_, uri)| ("ROS_MASTER_URI", uri)));
        // A subscriber on a busy host may need longer than the default of one second.
        command.env("ROS_DOMAIN_ID", self.domain.to_string()).env("RUNNEL_LINGER", "10");
        command
    }

    /// Runs a command to its end.
    pub fn output(&self, folder: &Path, line: &str) -> Output {
        self.runnel(folder, line).output().expect("it starts")
    }

    /// Starts a command.
    pub fn peer(&self, folder: &Path, line: &str) -> Peer {
        Peer::spawn(line, self.runnel(folder, line)).expect("it starts")
    }

    /// Calls a service. Returns the response.
    pub fn call(&self, words: &[&str]) -> String {
        let mut command = self.runnel(self.path(), &format!("service call --wait --timeout {STEP}"));
        let output = command.args(words).output().expect("it starts");
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What `bag info --json` says of a bag.
    pub fn info(&self, bag: &str) -> serde_json::Value {
        let output = self.output(self.path(), &format!("--json bag info {bag}"));
        assert!(output.status.success(), "{bag}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Nodes of this process.
    pub fn nodes(&self, graphs: Graphs, arguments: &[&str]) -> Spinning {
        let master = self.master.iter().map(|(_, uri)| format!("__master:={uri}"));
        let arguments: Vec<String> = master.chain(arguments.iter().map(|word| (*word).to_owned())).collect();
        let options = ContextOptions::default().signals(false).arguments(arguments);
        let context =
            Context::with_options(options.graphs(graphs).domain_id(self.domain)).expect("a context");
        let spins = context.clone();
        Spinning { context, thread: Some(thread::spawn(move || drop(spins.spin()))) }
    }
}

/// A context that spins until it is dropped.
pub struct Spinning {
    pub context: Context,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.context.shutdown();
        self.thread.take().map(JoinHandle::join);
    }
}
