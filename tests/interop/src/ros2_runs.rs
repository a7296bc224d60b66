//! Runnel's commands in a ROS 2 graph.

use std::process::Stdio;

use runnel_testkit::process::Peer;

use crate::commands::Printed;
use crate::programs::built;
use crate::ros2::Ros2Graph;
use crate::{Ros1Graph, TIMEOUT};

impl Ros2Graph {
    /// Runs a command of Runnel to its end.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn ran(&self, words: &[&str]) -> Printed {
        let mut command = self.command("timeout");
        command.args(["--kill-after=5", &TIMEOUT.to_string()]).arg(built("runnel")).args(words);
        let output = command.stdin(Stdio::null()).output().expect("it starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Printed { code: output.status.code(), output: text(&output.stdout), error: text(&output.stderr) }
    }

    /// Standard output of a command that succeeds without errors.
    ///
    /// # Panics
    /// If it does not.
    pub fn answer(&self, words: &[&str]) -> String {
        let printed = self.ran(words);
        assert_eq!((printed.code, printed.error.as_str()), (Some(0), ""), "{words:?}: {}", printed.output);
        printed.output
    }

    /// Starts a command that keeps running.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn running(&self, words: &[&str]) -> Peer {
        let mut command = self.command(built("runnel"));
        command.args(words);
        Peer::spawn("runnel", command).expect("it starts")
    }

    /// The same graph for commands that also use the master of a ROS 1 graph.
    #[must_use]
    pub fn with_master(self, ros1: &Ros1Graph) -> Self {
        let uri = ros1.master_uri().to_owned();
        self.with("ROS_MASTER_URI", uri)
    }
}
