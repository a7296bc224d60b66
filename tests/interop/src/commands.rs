//! Commands that run to their end, and their exact output on both streams.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::TIMEOUT;
use crate::graph::Ros1Graph;
use crate::programs::built;

/// How a command ended, and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub error: String,
}

impl Ros1Graph {
    /// Runs a shell command line that begins with an original command.
    pub fn original(&self, line: &str) -> Printed {
        self.run(PathBuf::from("/usr/bin"), line)
    }

    /// Runs the same command line with a link to `runnel` by the name of that command.
    pub fn linked(&self, line: &str) -> Printed {
        self.run(self.links(), line)
    }

    /// A folder with links to `runnel` by the names of the commands.
    ///
    /// # Panics
    /// If they cannot be created.
    pub fn links(&self) -> PathBuf {
        let folder = self.home().join("links");
        if fs::symlink_metadata(&folder).is_err() {
            fs::create_dir(&folder).expect("a folder of its own");
            let mut command = self.command(built("runnel"));
            let made = command.args(["ros1", "link"]).arg(&folder).output().expect("it starts");
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        }
        folder
    }

    /// Runs a line in a shell that searches this folder first, with a time limit.
    fn run(&self, folder: PathBuf, line: &str) -> Printed {
        let path = format!("{}:/usr/bin:/bin", folder.display());
        let mut command = self.command("timeout");
        command.args(["--kill-after=5", &TIMEOUT.to_string(), "bash", "-c", line]);
        let output = command.env("PATH", path).stdin(Stdio::null()).output().expect("it starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Printed { code: output.status.code(), output: text(&output.stdout), error: text(&output.stderr) }
    }
}
