//! Where the lines of one node go.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use runnel_core::message::Service;
use runnel_core::names;
use runnel_io::{clock, host};
use runnel_msgs::roscpp::{
    self, GetLoggers, GetLoggersResponse, SetLoggerLevel, SetLoggerLevelRequest, SetLoggerLevelResponse,
};

use super::file::{self, LogFile};
use super::format::{Line, USUAL};
use super::loggers::{Loggers, ROOT};
use super::rosout::Rosout;
use super::{Level, Logger, Place, UnknownLevel, console};
use crate::context::Context;
use crate::data::{ServiceCore, ServiceTypes, When};
use crate::error::Error;
use crate::node::NodeInner;
use crate::ros_clock::RosClock;
use crate::service::answering;
use crate::sync::lock;

/// The topic that nodes log to.
pub(crate) const ROSOUT: &str = "/rosout";

/// The logger of what the library itself says of a node.
const LIBRARY: &str = "ros.runnel";

/// Names of the services by which levels are asked for and set.
const SERVICES: [&str; 2] = ["~get_loggers", "~set_logger_level"];

/// What a node logs with.
pub(crate) struct NodeLog {
    node: String,
    clock: Arc<RosClock>,
    loggers: Loggers,
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
    /// The log of a node, as the context's arguments and options have it.
    ///
    /// # Errors
    /// When an argument names a level that is none.
    pub(crate) fn of(context: &Context, node: &str) -> Result<Arc<Self>, Error> {
        let (shared, node) = (&context.shared, node.to_owned());
        let rosout = shared.rosout.then(|| Rosout::of(context, &node));
        let file = file::path(shared.arguments.log_file.as_deref(), &node, host::pid());
        let file = file.and_then(|path| open(&node, path));
        let (clock, topics) = (Arc::clone(&shared.clock), Mutex::default());
        let loggers = Loggers::new(Level::Info);
        let library = loggers.handle(LIBRARY);
        let log = Self { node, clock, library, loggers, rosout, file, topics, unwritten: AtomicU64::new(0) };
        if let Some(level) = &shared.arguments.log_level {
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

    /// The logger of the node itself.
    pub(crate) fn root(self: &Arc<Self>) -> Logger {
        self.logger(ROOT)
    }

    pub(super) fn logger(self: &Arc<Self>, name: &str) -> Logger {
        Logger { log: Arc::clone(self), name: Arc::from(name), level: self.loggers.handle(name) }
    }

    pub(super) fn set_level(&self, logger: &str, level: Level) -> Result<(), String> {
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
    pub(super) fn log(&self, level: Level, logger: &str, place: Place<'_>, text: &str) {
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

    /// The services by which levels are asked for and set, by the names that they have in the node. They are answered by
    /// whoever turns the driver, so that also a node which never spins answers.
    pub(crate) fn services(self: &Arc<Self>) -> [(&'static str, MakeService); 2] {
        let (get, set) = (Arc::clone(self), Arc::clone(self));
        let get: MakeService =
            Box::new(move |name| service::<GetLoggers, Infallible>(name, move |_| Ok(get.tell_loggers())));
        let set: MakeService =
            Box::new(move |name| service::<SetLoggerLevel, String>(name, move |request| set.follow(request)));
        [(SERVICES[0], get), (SERVICES[1], set)]
    }

    fn tell_loggers(&self) -> GetLoggersResponse {
        let row =
            |(name, level): (String, Level)| roscpp::Logger { name, level: level.name().to_lowercase() };
        GetLoggersResponse { loggers: self.loggers.all().into_iter().map(row).collect() }
    }

    fn follow(&self, request: &SetLoggerLevelRequest) -> Result<SetLoggerLevelResponse, String> {
        let level = request.level.parse().map_err(|error: UnknownLevel| error.to_string())?;
        // An empty name is roscpp's for the logger of all.
        let logger = if request.logger.is_empty() { ROOT } else { &request.logger };
        self.set_level(logger, level)?;
        Ok(SetLoggerLevelResponse::default())
    }
}

impl NodeInner {
    /// Has the node publish what it logs, and provide the services by which levels are set. The master hears of it in
    /// its turn.
    pub(crate) fn advertise_log(&self, log: &Arc<NodeLog>) -> Result<(), Error> {
        if let Some(slot) = self.driver().node_slot(self.key) {
            slot.log = Some(Arc::clone(log));
        }
        let Some(rosout) = log.rosout() else { return Ok(()) };
        self.driver().add_publication(self.key, &rosout.topic, &rosout.offer, &rosout.publication)?;
        log.add_topic(ROSOUT);
        if self.context.shared.settings.ros1.is_none() {
            return Ok(());
        }
        for (name, make) in log.services() {
            self.add_service(&make(names::resolve(&self.namespace, &self.name, name)?))?;
        }
        Ok(())
    }
}

fn open(node: &str, path: PathBuf) -> Option<LogFile> {
    let name = path.display().to_string();
    let opened = LogFile::open(path);
    opened.inspect_err(|error| console::warning!("[{node}] cannot log to {name}: {error}")).ok()
}

/// Makes a service of an absolute name.
pub(crate) type MakeService = Box<dyn FnOnce(String) -> Arc<ServiceCore>>;

fn service<S: Service, E: fmt::Display>(
    name: String,
    callback: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
) -> Arc<ServiceCore> {
    ServiceCore::new(name, ServiceTypes::of::<S>(), When::AtOnce, Box::new(answering::<S, E>(callback)))
}
