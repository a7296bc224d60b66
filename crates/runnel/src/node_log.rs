//! Log of one node: its loggers, its file and `/rosout`.

mod logger;
mod rosout;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use runnel_core::names::Arguments;
use runnel_io::{clock, host};

use crate::error::Error;
use crate::log_output::destinations::Destinations;
use crate::log_output::file::{self, LogFile};
use crate::log_output::format::{DEFAULT_TEMPLATE, Line};
use crate::log_output::loggers::{Loggers, ROOT, Refused, name_of_ros2};
use crate::log_output::{Level, Place, UnknownLevel, console};
use crate::sync::{Class, Mutex, lock};
use crate::time::ros_clock::RosClock;
pub use logger::Logger;
pub(crate) use rosout::{ROSOUT, Rosout};

/// The logger of the library's own lines about a node.
const LIBRARY: &str = "ros.runnel";

/// The log of a node.
pub(crate) struct NodeLog {
    node: String,
    clock: Arc<RosClock>,
    pub(crate) loggers: Loggers,
    /// The lowest level of the library's own lines that is stored and published.
    library: Arc<AtomicU8>,
    rosout: Option<Rosout>,
    destinations: Arc<Destinations>,
    /// A file of its own.
    file: Option<LogFile>,
    /// Lines that the file has refused since it last accepted one.
    unwritten: AtomicU64,
    /// The topics that the node publishes. Each line has them, so that viewers can filter by them.
    topics: Mutex<Vec<String>>,
    /// A request to the logger services over their limit has been logged.
    pub(crate) is_over_limit_logged: AtomicBool,
}

impl NodeLog {
    /// The log of a node, with the settings in the arguments.
    ///
    /// # Errors
    /// If an argument names an unknown level.
    pub(crate) fn new(
        node: &str,
        clock: Arc<RosClock>,
        rosout: Option<Rosout>,
        destinations: Arc<Destinations>,
        arguments: &Arguments,
    ) -> Result<Arc<Self>, Error> {
        let node = node.to_owned();
        let folder = destinations.folder.as_deref();
        let in_folder = || folder.map(|folder| file::path_in(folder, &node, host::pid()));
        let file = arguments.log_file.clone().map(PathBuf::from).or_else(in_folder);
        let file = file.and_then(|path| open(&node, path));
        let loggers = Loggers::new(Level::Info);
        let library = loggers.handle(LIBRARY);
        let topics = Mutex::new(Class::RosoutTopics, Vec::new());
        let unwritten = AtomicU64::new(0);
        let is_over_limit_logged = AtomicBool::new(false);
        let log = Self {
            node,
            clock,
            loggers,
            library,
            rosout,
            destinations,
            file,
            unwritten,
            topics,
            is_over_limit_logged,
        };
        arguments.log_levels.iter().try_for_each(|level| log.set_given_level(level))?;
        Ok(Arc::new(log))
    }

    /// Applies an argument `--log-level LEVEL` or `--log-level LOGGER:=LEVEL`. The logger has its ROS 2 name, or its name
    /// within the node.
    fn set_given_level(&self, text: &str) -> Result<(), Error> {
        let (logger, level) = match text.split_once(":=") {
            Some((logger, level)) => {
                (name_of_ros2(&self.node, logger).unwrap_or_else(|| format!("{ROOT}.{logger}")), level)
            }
            None => (ROOT.to_owned(), text),
        };
        let bad = |why| Error::Environment { variable: "--log-level", why };
        let level = level.parse().map_err(|error: UnknownLevel| bad(error.to_string()))?;
        self.set_level(&logger, level).map_err(bad)
    }

    pub(crate) fn set_level(&self, logger: &str, level: Level) -> Result<(), String> {
        self.loggers.set(logger, Some(level)).map_err(|why| self.refusal(&why))
    }

    /// Sets the own levels of loggers by their ROS 2 names, each on its own. `None` removes one.
    pub(crate) fn set_levels_of_ros2_loggers(
        &self,
        levels: &[(&str, Option<Level>)],
    ) -> Vec<Result<(), String>> {
        let levels: Vec<_> = levels.iter().map(|(name, level)| (self.own_name(name), *level)).collect();
        let set = self.loggers.set_each(levels.iter().map(|(name, level)| (name.as_str(), *level)));
        set.into_iter().map(|set| set.map_err(|why| self.refusal(&why))).collect()
    }

    fn refusal(&self, why: &Refused) -> String {
        format!("[{}]: {why}", self.node)
    }

    /// The own level of a logger by its ROS 2 name.
    pub(crate) fn own_level(&self, logger: &str) -> Option<Level> {
        self.loggers.own(&self.own_name(logger))
    }

    /// The name of a ROS 2 logger here. One that is not of this node keeps its name.
    fn own_name(&self, logger: &str) -> String {
        name_of_ros2(&self.node, logger).unwrap_or_else(|| logger.to_owned())
    }

    /// The publisher of `/rosout`, if the node has one.
    pub(crate) fn rosout(&self) -> Option<&Rosout> {
        self.rosout.as_ref()
    }

    /// Adds a topic that the node publishes.
    pub(crate) fn add_topic(&self, topic: &str) {
        lock(&self.topics).push(topic.to_owned());
    }

    /// Removes a topic that the node does not publish any more.
    pub(crate) fn remove_topic(&self, topic: &str) {
        lock(&self.topics).retain(|other| other != topic);
    }

    /// Logs a line of the user.
    pub(crate) fn log(&self, level: Level, logger: &str, place: Place<'_>, text: &str) {
        let line = self.line(level, logger, place, text);
        self.destinations.write_to_console(&line);
        self.keep_and_publish(&line);
    }

    fn line<'a>(&'a self, level: Level, logger: &'a str, place: Place<'a>, text: &'a str) -> Line<'a> {
        let simulated = self.clock.is_simulated().then(|| self.clock.now());
        Line { level, wall: clock::realtime(), simulated, node: &self.node, logger, place, text }
    }

    /// Logs a line of the library about the node. The caller has no publication or subscription locked.
    pub(crate) fn log_library(&self, level: log::Level, text: fmt::Arguments<'_>) {
        let line = format_args!("[{}] {text}", self.node);
        match self.destinations.console {
            Some(_) => console::log_line(level, line),
            None => {
                console::forward(level, line);
            }
        }
        let level = Level::from(level);
        if level as u8 >= self.library.load(Ordering::Relaxed) {
            let text = text.to_string();
            self.keep_and_publish(&self.line(level, LIBRARY, Place::default(), &text));
        }
    }

    fn keep_and_publish(&self, line: &Line<'_>) {
        if let Some(file) = &self.file {
            self.write_to(file, &line.render(DEFAULT_TEMPLATE));
        } else if let Some(file) = self.destinations.process_file() {
            self.write_to(file, &self.destinations.template.render(line));
        }
        self.publish(line);
    }

    fn publish(&self, line: &Line<'_>) {
        if let Some(rosout) = &self.rosout {
            rosout.publish(line, &lock(&self.topics));
        }
    }

    /// Writes a line to the node's file. A full disk does not end the program: it is reported to the other
    /// destinations, and once the file accepts lines again, the number of missing lines is reported.
    fn write_to(&self, file: &LogFile, line: &str) {
        let (level, report) = match file.line(line) {
            Ok(()) => match self.unwritten.swap(0, Ordering::Relaxed) {
                0 => return,
                lost => {
                    (Level::Warn, format!("log file {}: {lost} lines are missing", file.path().display()))
                }
            },
            Err(_) if self.unwritten.fetch_add(1, Ordering::Relaxed) > 0 => return,
            Err(error) => {
                let path = file.path();
                let path = path.display();
                (
                    Level::Error,
                    format!("log file {path}: cannot write: {error}; lines are missing from here on"),
                )
            }
        };
        let report = self.line(level, LIBRARY, Place::default(), &report);
        self.destinations.write_to_console(&report);
        self.publish(&report);
    }
}

fn open(node: &str, path: PathBuf) -> Option<LogFile> {
    let name = path.display().to_string();
    let opened = LogFile::open(path);
    opened.inspect_err(|error| console::warning!("[{node}] cannot log to {name}: {error}")).ok()
}

/// The log of a node without destinations, for tests.
#[cfg(test)]
pub(crate) fn test_log(node: &str) -> Arc<NodeLog> {
    use crate::log_output::destinations::Template;
    let template = Template::Ros1(DEFAULT_TEMPLATE.to_owned());
    let destinations = Destinations { console: None, template, process_file: None, folder: None };
    NodeLog::new(node, Arc::default(), None, Arc::new(destinations), &Arguments::default()).expect("a log")
}
