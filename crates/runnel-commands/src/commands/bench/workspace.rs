//! What all measurements share: the folder of programs, the master, starting programs, the results.

use std::collections::HashSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Args;
use super::compile;
use super::failure::Failure;
use super::leftovers::{RunFolder, SHARED_MEMORY};
use super::masters::Kind;
use super::process::{Process, Stop};
use super::results::Report;
use crate::error::CliError;
use crate::output::Output;

/// How long the master may take to start.
const MASTER: Duration = Duration::from_secs(20);

/// Where a program runs, and with which master.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The CPU; any if `None`.
    pub cpu: Option<usize>,
    /// The real-time priority; the ordinary scheduling if `None`.
    pub priority: Option<i32>,
    /// Programs with the same number see only each other's topics.
    pub namespace: usize,
    /// The URI of its master; the one that always runs if `None`.
    pub master: Option<&'a str>,
}

/// What all measurements of one run share: programs, master, results.
pub struct Workspace {
    /// Results up to now.
    pub report: Report,
    output: Output,
    only: HashSet<String>,
    program: String,
    folder: PathBuf,
    results: PathBuf,
    stop: Arc<Stop>,
    /// Stands before the folder of its output, so that it is dropped first.
    master: Option<(Process, String)>,
    scratch: RunFolder,
    /// Number of started programs and used namespaces.
    count: usize,
}

impl Workspace {
    /// Prepares all that measurements need.
    ///
    /// # Errors
    /// When folders cannot be created.
    pub fn open(args: &Args, output: Output) -> Result<Self, CliError> {
        let program = env::current_exe()?.to_str().map(str::to_owned);
        let folder = compile::folder().map_err(CliError::failed)?;
        let results = args.out.clone().unwrap_or_else(|| folder.join("results"));
        std::fs::create_dir_all(&results).map_err(|error| {
            CliError::failed(format_args!("cannot create {}: {error}", results.display()))
        })?;
        Ok(Self {
            report: Report::new(args.quick),
            output,
            only: args.only.iter().cloned().collect(),
            program: program.ok_or_else(|| CliError::failed("this program's path is not UTF-8"))?,
            folder,
            results,
            stop: Arc::new(Stop::notice().map_err(CliError::failed)?),
            master: None,
            scratch: RunFolder::create()?,
            count: 0,
        })
    }

    /// This program.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The folder of built programs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a contestant or an idle program is to be measured.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.contains(name)
    }

    /// A file for a program's output, removed at the end.
    pub fn file(&mut self, name: &str) -> PathBuf {
        self.count += 1;
        self.scratch.path().join(format!("{}-{name}", self.count))
    }

    /// A namespace that is not in use.
    pub fn namespace(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// Prints a line of progress.
    pub fn progress(&self, line: &str) {
        self.output.note(line);
    }

    /// Prints a note about a measurement that is missing or limited, and keeps it with the results; each note once.
    pub fn note(&mut self, line: String) {
        if !self.report.notes.contains(&line) {
            self.output.note(&line);
            self.report.notes.push(line);
        }
    }

    /// Starts the master that always runs, for contestants that need one.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_master(&mut self) -> Result<(), Failure> {
        self.master = Some(Kind::Runnel.start(Place::default(), Instant::now() + MASTER, self)?);
        Ok(())
    }

    /// Starts a program at a place. `name` is its name in errors.
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

    /// Removes files of ended programs in shared memory whose names begin with the name of their `ROS_HOME`.
    pub fn remove_leftovers(&mut self) {
        if let Err(error) = self.scratch.remove_leftovers() {
            self.note(format!("cannot remove leftovers in {SHARED_MEMORY}: {error}"));
        }
    }

    /// Saves the results up to now.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self) -> Result<(), Failure> {
        let path = self.results.join("results.json");
        self.report.save(&path).map_err(Failure::missing(format_args!("cannot save {}", path.display())))
    }

    /// Ends what still runs and returns the results.
    ///
    /// # Errors
    /// When they cannot be saved.
    pub fn finish(self) -> Result<Report, CliError> {
        self.save().map_err(CliError::failed)?;
        self.progress(&format!("results: {}", self.results.join("results.json").display()));
        Ok(self.report)
    }
}
