//! Where the lines of one node go.

mod logger;
mod rosout;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use runnel_core::names::Arguments;
use runnel_io::{clock, host};

use crate::error::Error;
use crate::log_output::file::{self, LogFile};
use crate::log_output::format::{Line, USUAL};
use crate::log_output::loggers::{Loggers, ROOT};
use crate::log_output::{Level, Place, UnknownLevel, console};
use crate::ros_clock::RosClock;
use crate::sync::{Class, Mutex, lock};
pub use logger::Logger;
pub(crate) use rosout::{ROSOUT, Rosout};

/// The logger of what the library itself says of a node.
const LIBRARY: &str = "ros.runnel";

/// What a node logs with.
pub(crate) struct NodeLog {
    node: String,
    clock: Arc<RosClock>,
    pub(crate) loggers: Loggers,
    /// The least level of the library's own lines that is kept and published.
    library: Arc<AtomicU8>,
    rosout: Option<Rosout>,
    file: Option<LogFile>,
    /// Lines that the file has not taken since it last took one.
    unwritten: AtomicU64,
    /// What the node publishes: each line tells, so that viewers can filter by it.
    topics: Mutex<Vec<String>>,
}

impl NodeLog {
    /// The log of a node, as the arguments have it.
    ///
    /// # Errors
    /// When an argument names a level that is none.
    pub(crate) fn new(
        node: &str,
        clock: Arc<RosClock>,
        rosout: Option<Rosout>,
        arguments: &Arguments,
    ) -> Result<Arc<Self>, Error> {
        let node = node.to_owned();
        let file = file::path(arguments.log_file.as_deref(), &node, host::pid());
        let file = file.and_then(|path| open(&node, path));
        let loggers = Loggers::new(Level::Info);
        let library = loggers.handle(LIBRARY);
        let topics = Mutex::new(Class::RosoutTopics, Vec::new());
        let log = Self { node, clock, library, loggers, rosout, file, topics, unwritten: AtomicU64::new(0) };
        if let Some(level) = &arguments.log_level {
            log.set_given_level(level)?;
        }
        Ok(Arc::new(log))
    }

    /// An argument `--log-level LEVEL` or `--log-level LOGGER:=LEVEL`.
    fn set_given_level(&self, text: &str) -> Result<(), Error> {
        let (logger, level) = match text.split_once(":=") {
            Some((logger, level)) => (format!("{ROOT}.{logger}"), level),
            None => (ROOT.to_owned(), text),
        };
        let bad = |why| Error::Environment { variable: "--log-level", why };
        let level = level.parse().map_err(|error: UnknownLevel| bad(error.to_string()))?;
        self.set_level(&logger, level).map_err(bad)
    }

    pub(crate) fn set_level(&self, logger: &str, level: Level) -> Result<(), String> {
        self.loggers.set(logger, level).map_err(|why| format!("[{}]: {why}", self.node))
    }

    /// How the node publishes `/rosout`, if it does.
    pub(crate) fn rosout(&self) -> Option<&Rosout> {
        self.rosout.as_ref()
    }

    /// The node publishes a topic from now on.
    pub(crate) fn add_topic(&self, topic: &str) {
        lock(&self.topics).push(topic.to_owned());
    }

    /// It does no longer.
    pub(crate) fn remove_topic(&self, topic: &str) {
        lock(&self.topics).retain(|other| other != topic);
    }

    /// A line of the user's.
    pub(crate) fn log(&self, level: Level, logger: &str, place: Place<'_>, text: &str) {
        let line = self.line(level, logger, place, text);
        console::write_line(&line);
        self.keep_and_publish(&line);
    }

    fn line<'a>(&'a self, level: Level, logger: &'a str, place: Place<'a>, text: &'a str) -> Line<'a> {
        let simulated = self.clock.is_simulated().then(|| self.clock.now());
        Line { level, wall: clock::realtime(), simulated, node: &self.node, logger, place, text }
    }

    /// A line that the library has to say of the node. To be called with no publication or subscription locked.
    pub(crate) fn say(&self, level: log::Level, text: fmt::Arguments<'_>) {
        console::say(level, format_args!("[{}] {text}", self.node));
        let level = Level::from(level);
        if level as u8 >= self.library.load(Ordering::Relaxed) {
            let text = text.to_string();
            self.keep_and_publish(&self.line(level, LIBRARY, Place::default(), &text));
        }
    }

    fn keep_and_publish(&self, line: &Line<'_>) {
        if let Some(file) = &self.file {
            self.write_to(file, line);
        }
        self.publish(line);
    }

    fn publish(&self, line: &Line<'_>) {
        if let Some(rosout) = &self.rosout {
            rosout.publish(line, &lock(&self.topics));
        }
    }

    /// Writes a line to the node's file. A disk that is full is no reason to end: that is reported where lines go beside the
    /// file, and once it takes lines again, how many it lacks.
    fn write_to(&self, file: &LogFile, line: &Line<'_>) {
        let (level, report) = match file.line(&line.render(USUAL)) {
            Ok(()) => match self.unwritten.swap(0, Ordering::Relaxed) {
                0 => return,
                lost => (Level::Warn, format!("log file {} lacks {lost} lines", file.path().display())),
            },
            Err(_) if self.unwritten.fetch_add(1, Ordering::Relaxed) > 0 => return,
            Err(error) => {
                let path = file.path();
                let path = path.display();
                (
                    Level::Error,
                    format!("log file {path} takes no lines: {error}; what follows is not written there"),
                )
            }
        };
        let report = self.line(level, LIBRARY, Place::default(), &report);
        console::write_line(&report);
        self.publish(&report);
    }
}

fn open(node: &str, path: PathBuf) -> Option<LogFile> {
    let name = path.display().to_string();
    let opened = LogFile::open(path);
    opened.inspect_err(|error| console::warning!("[{node}] cannot log to {name}: {error}")).ok()
}
