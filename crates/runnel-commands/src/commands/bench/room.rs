//! What all measurements share: the programs' folder, the master, the way programs are started, and the results.

use std::collections::HashSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Args;
use super::compile;
use super::failure::Failure;
use super::leftovers::{self, SHARED_MEMORY};
use super::masters::Kind;
use super::process::{Process, Stop};
use super::results::Report;
use crate::error::CliError;
use crate::output::Output;

/// How long the master may take to start.
const MASTER: Duration = Duration::from_secs(20);

/// Where a program runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The CPU; any if `None`.
    pub cpu: Option<usize>,
    /// The real-time priority; the ordinary scheduling if `None`.
    pub priority: Option<i32>,
    /// Programs with the same number see each other's topics, and no others.
    pub namespace: usize,
    /// The URI of its master; that of the master that runs all the time if `None`.
    pub master: Option<&'a str>,
}

/// What all measurements of one run share: programs, master, results.
pub struct Room {
    /// What was found so far.
    pub report: Report,
    output: Output,
    only: HashSet<String>,
    program: String,
    folder: PathBuf,
    results: PathBuf,
    stop: Arc<Stop>,
    /// Before the folder that its output goes to.
    master: Option<(Process, String)>,
    scratch: TempDir,
    /// Programs started and namespaces given out so far.
    count: usize,
}

impl Room {
    /// Makes everything ready.
    ///
    /// # Errors
    /// When folders cannot be made.
    pub fn open(args: &Args, output: Output) -> Result<Self, CliError> {
        let program = env::current_exe()?.to_str().map(str::to_owned);
        let folder = compile::folder().map_err(CliError::failed)?;
        let results = args.out.clone().unwrap_or_else(|| folder.join("results"));
        std::fs::create_dir_all(&results)
            .map_err(|error| CliError::failed(format_args!("cannot make {}: {error}", results.display())))?;
        Ok(Self {
            report: Report::new(args.quick),
            output,
            only: args.only.iter().cloned().collect(),
            program: program.ok_or_else(|| CliError::failed("this program's path is not UTF-8"))?,
            folder,
            results,
            stop: Arc::new(Stop::notice().map_err(CliError::failed)?),
            master: None,
            scratch: TempDir::with_prefix("runnel-bench-")?,
            count: 0,
        })
    }

    /// This program.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The folder that programs are built in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a contestant or an idle program is to be measured.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.contains(name)
    }

    /// A file for what a program leaves; it goes when everything is measured.
    pub fn file(&mut self, name: &str) -> PathBuf {
        self.count += 1;
        self.scratch.path().join(format!("{}-{name}", self.count))
    }

    /// A namespace that nobody has used.
    pub fn namespace(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// Tells the user how far it is.
    pub fn progress(&self, line: &str) {
        self.output.note(line);
    }

    /// Tells the user what cannot be measured or how, and keeps that with the results; each once.
    pub fn note(&mut self, line: String) {
        if !self.report.notes.contains(&line) {
            self.output.note(&line);
            self.report.notes.push(line);
        }
    }

    /// Starts the master that runs all the time, for contestants that need one.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_master(&mut self) -> Result<(), Failure> {
        self.master = Some(Kind::Runnel.start(Place::default(), Instant::now() + MASTER, self)?);
        Ok(())
    }

    /// Starts a program, called `name` in errors, at a place.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn launch(&mut self, name: &str, program: &[String], place: Place<'_>) -> Result<Process, Failure> {
        let mut command = Command::new(&self.program);
        command.args(["bench-peer", "launch"]);
        if let Some(cpu) = place.cpu {
            command.args(["--cpu", &cpu.to_string()]);
        }
        if let Some(priority) = place.priority {
            command.args(["--priority", &priority.to_string()]);
        }
        command.arg("--").args(program);
        command.env("ROS_IP", "127.0.0.1").env_remove("ROS_HOSTNAME");
        command.env("ROS_NAMESPACE", format!("/bench_{}", place.namespace));
        command.env("ROS_HOME", self.scratch.path()).env("ROS_LOG_DIR", self.scratch.path());
        if let Some(uri) = place.master.or(self.master.as_ref().map(|(_, uri)| uri.as_str())) {
            command.env("ROS_MASTER_URI", uri);
        }
        Process::start(name, command, self.file("errors"), &self.stop)
    }

    /// Removes what programs that have ended left in shared memory, if it is named as the folder that is their `ROS_HOME`.
    pub fn remove_leftovers(&mut self) {
        let Some(run) = self.scratch.path().file_name().and_then(|name| name.to_str()) else { return };
        if let Err(error) = leftovers::remove(Path::new(SHARED_MEMORY), run) {
            self.note(format!("something was left in {SHARED_MEMORY}: {error}"));
        }
    }

    /// Saves what was found so far.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self) -> Result<(), Failure> {
        let path = self.results.join("results.json");
        self.report.save(&path).map_err(Failure::missing(format_args!("cannot save {}", path.display())))
    }

    /// Ends what still runs and gives the results.
    ///
    /// # Errors
    /// When they cannot be saved.
    pub fn finish(self) -> Result<Report, CliError> {
        self.save().map_err(CliError::failed)?;
        self.progress(&format!("results: {}", self.results.join("results.json").display()));
        Ok(self.report)
    }
}
