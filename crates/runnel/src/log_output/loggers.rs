//! Loggers of a node by name, and their levels.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::Level;
use crate::sync::{Class, Mutex, lock};
use runnel_core::sorted::SortedMap;

/// The name of a node's root logger, as in roscpp.
pub(crate) const ROOT: &str = "ros";

/// The ROS 2 name of a logger: the node's name with points instead of slashes, as in `robot.camera.driver` for a part.
pub(crate) fn name_in_ros2(node: &str, logger: &str) -> String {
    let part = logger.strip_prefix(ROOT).unwrap_or_default();
    format!("{}{part}", node.trim_start_matches('/').replace('/', "."))
}

/// The name of a node's logger that ROS 2 calls `logger`; `None` if it is no logger of this node.
pub(crate) fn name_of_ros2(node: &str, logger: &str) -> Option<String> {
    let part = logger.strip_prefix(&name_in_ros2(node, ROOT))?;
    (part.is_empty() || part.starts_with('.')).then(|| format!("{ROOT}{part}"))
}

/// Limits of the number of names and of their length: a service sets the level of any name.
pub(crate) const MOST: usize = 1000;
const LONGEST: usize = 256;

/// The loggers of a node.
pub(crate) struct Loggers {
    /// The level of the root logger while it has none of its own.
    default: Level,
    by_name: Mutex<SortedMap<Arc<str>, Entry>>,
}

struct Entry {
    /// Its own level; `None` inherits that of the parent.
    own: Option<Level>,
    /// The level that its handles read.
    effective: Arc<AtomicU8>,
}

/// Why a logger cannot be added.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    TooMany,
    TooLong,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "there are {MOST} loggers already"),
            Self::TooLong => write!(f, "the name of a logger is limited to {LONGEST} bytes"),
        }
    }
}

impl Loggers {
    pub(crate) fn new(level: Level) -> Self {
        let root = Entry { own: None, effective: Arc::new(AtomicU8::new(level as u8)) };
        let by_name = SortedMap::from_iter([(Arc::from(ROOT), root)]);
        Self { default: level, by_name: Mutex::new(Class::LoggerLevels, by_name) }
    }

    /// The level that handles of a logger read. Beyond the limit of names, that of an ancestor.
    pub(crate) fn handle(&self, name: &str) -> Arc<AtomicU8> {
        let mut by_name = lock(&self.by_name);
        if let Some(entry) = by_name.get(name) {
            return Arc::clone(&entry.effective);
        }
        if refusal(&by_name, name).is_some() {
            let above = upwards(name).find_map(|above| by_name.get(above));
            return above.map_or_else(Arc::default, |entry| Arc::clone(&entry.effective));
        }
        Arc::clone(&self.entry(&mut by_name, name).effective)
    }

    /// The logger's own level.
    pub(crate) fn own(&self, name: &str) -> Option<Level> {
        lock(&self.by_name).get(name).and_then(|entry| entry.own)
    }

    /// Sets a logger's own level. `None` has it inherit the level of its parent.
    pub(crate) fn set(&self, name: &str, level: Option<Level>) -> Result<(), Refused> {
        self.set_each([(name, level)]).pop().unwrap_or(Ok(()))
    }

    /// Sets the own levels of several loggers, each on its own.
    pub(crate) fn set_each<'a>(
        &self,
        levels: impl IntoIterator<Item = (&'a str, Option<Level>)>,
    ) -> Vec<Result<(), Refused>> {
        let mut by_name = lock(&self.by_name);
        let set = |(name, level)| match refusal(&by_name, name) {
            Some(refusal) => Err(refusal),
            None => {
                self.entry(&mut by_name, name).own = level;
                Ok(())
            }
        };
        let results = levels.into_iter().map(set).collect();
        // Once for all of them: each logger looks through those above it.
        for (name, entry) in by_name.iter() {
            entry.effective.store(self.level_of(&by_name, name) as u8, Ordering::Relaxed);
        }
        results
    }

    /// All names with their effective levels.
    pub(crate) fn all(&self) -> Vec<(String, Level)> {
        let by_name = lock(&self.by_name);
        by_name.keys().map(|name| (name.to_string(), self.level_of(&by_name, name))).collect()
    }

    fn entry<'a>(&self, by_name: &'a mut SortedMap<Arc<str>, Entry>, name: &str) -> &'a mut Entry {
        let effective = self.level_of(by_name, name) as u8;
        let new = || Entry { own: None, effective: Arc::new(AtomicU8::new(effective)) };
        by_name.entry(Arc::from(name)).or_insert_with(new)
    }

    /// The level of the nearest logger at or above a name that has one.
    fn level_of(&self, by_name: &SortedMap<Arc<str>, Entry>, name: &str) -> Level {
        let own = |name: &str| by_name.get(name).and_then(|entry| entry.own);
        upwards(name).find_map(own).or_else(|| own(ROOT)).unwrap_or(self.default)
    }
}

fn refusal(by_name: &SortedMap<Arc<str>, Entry>, name: &str) -> Option<Refused> {
    match name.len() {
        ..=LONGEST if by_name.len() < MOST || by_name.get(name).is_some() => None,
        ..=LONGEST => Some(Refused::TooMany),
        _ => Some(Refused::TooLong),
    }
}

/// A name and its ancestors: `a.b.c`, `a.b`, `a`.
fn upwards(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.rsplit_once('.').map(|(above, _)| above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logger_name_follows_ros2() {
        assert_eq!(name_in_ros2("/talker", "ros"), "talker");
        assert_eq!(name_in_ros2("/robot/camera", "ros.driver.usb"), "robot.camera.driver.usb");
        assert_eq!(name_of_ros2("/talker", "talker").as_deref(), Some("ros"));
        assert_eq!(
            name_of_ros2("/robot/camera", "robot.camera.driver.usb").as_deref(),
            Some("ros.driver.usb")
        );
        assert_eq!(name_of_ros2("/talker", "talker2"), None);
        assert_eq!(name_of_ros2("/talker", "driver"), None);
    }

    #[test]
    fn logger_inherits_level_until_set() {
        let loggers = Loggers::new(Level::Info);
        let read = |handle: &AtomicU8| Level::from_number(handle.load(Ordering::Relaxed));
        let (deep, other) = (loggers.handle("ros.a.b"), loggers.handle("another"));
        assert_eq!([read(&deep), read(&other)], [Level::Info; 2]);
        loggers.set("ros.a", Some(Level::Debug)).expect("within the limit");
        assert_eq!([read(&deep), read(&other)], [Level::Debug, Level::Info]);
        loggers.set(ROOT, Some(Level::Error)).expect("within the limit");
        assert_eq!([read(&deep), read(&other)], [Level::Debug, Level::Error]);
        loggers.set("ros.a.b", Some(Level::Fatal)).expect("within the limit");
        assert_eq!((read(&deep), loggers.own("ros.a.b")), (Level::Fatal, Some(Level::Fatal)));
        loggers.set("ros.a.b", None).expect("within the limit");
        assert_eq!((read(&deep), loggers.own("ros.a.b")), (Level::Debug, None));
        let names: Vec<_> = loggers.all().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["another", "ros", "ros.a", "ros.a.b"]);
    }

    #[test]
    fn logger_beyond_limit_inherits_level() {
        let loggers = Loggers::new(Level::Warn);
        (1..MOST).for_each(|number| {
            loggers.set(&format!("ros.{number}"), Some(Level::Info)).expect("within the limit")
        });
        assert_eq!(loggers.set("ros.more", Some(Level::Info)), Err(Refused::TooMany));
        assert_eq!(loggers.set(&"x".repeat(LONGEST + 1), Some(Level::Info)), Err(Refused::TooLong));
        assert_eq!(loggers.set("ros.5", Some(Level::Debug)), Ok(()), "a known one can be set");
        let beyond = loggers.handle("ros.5.beyond");
        assert_eq!(beyond.load(Ordering::Relaxed), Level::Debug as u8);
        assert_eq!(loggers.all().len(), MOST);
    }

    #[test]
    fn several_levels_are_set_each_on_its_own() {
        let loggers = Loggers::new(Level::Info);
        let deep = loggers.handle("ros.a.b");
        let long = "x".repeat(LONGEST + 1);
        let levels =
            [("ros.a", Some(Level::Error)), (&long, None), ("ros", Some(Level::Debug)), ("ros.a", None)];
        assert_eq!(loggers.set_each(levels), [Ok(()), Err(Refused::TooLong), Ok(()), Ok(())]);
        assert_eq!(deep.load(Ordering::Relaxed), Level::Debug as u8);
    }
}
