//! What `ros2 bag info` shows of a bag.

use std::collections::BTreeMap;
use std::path::Path;

use runnel_bag::rosbag2::{BagMetadata, recorded_metadata};
use runnel_bag::{BagReader, Channel, Format, open_folder};

use super::SortOrder;
use super::contents::{Calls, Contents};
use crate::bag::action_topics::ActionPart;
use crate::bag::files;
use crate::bag::service_topics::ServiceTopic;
use crate::bag::subject::Subject;
use crate::error::CliError;

/// A bag.
#[derive(Debug, Default)]
pub(super) struct Description {
    /// Its files, relative to its folder.
    pub(super) files: Vec<String>,
    /// Length of the files, in bytes.
    pub(super) len: u64,
    pub(super) storage: &'static str,
    /// Distribution of the recorder; empty if it is unknown.
    pub(super) ros_distro: String,
    /// Log times of the first and the last message, in nanoseconds since 1970.
    pub(super) times: (u64, u64),
    /// Whether the messages were read: sizes and calls are known then.
    pub(super) is_read: bool,
    /// Topics that are neither of services nor of actions.
    pub(super) topics: Vec<Entry>,
    pub(super) services: Vec<Entry>,
    pub(super) actions: Vec<Action>,
}

/// A topic or a service.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) type_name: String,
    pub(super) serialization: String,
    /// Number of messages.
    pub(super) count: u64,
    /// Length of the messages, in bytes.
    pub(super) len: u64,
    /// What the messages of a service are.
    pub(super) calls: Calls,
}

/// An action: two topics and three services.
#[derive(Debug, Default)]
pub(super) struct Action {
    /// Its type may be unknown.
    pub(super) all: Entry,
    pub(super) feedback: u64,
    pub(super) status: u64,
    /// By the names of the services.
    pub(super) services: BTreeMap<String, Entry>,
}

impl Description {
    /// Describes a bag, and reads its messages if that is requested.
    ///
    /// # Errors
    /// When it cannot be opened, or is no bag.
    pub(super) fn of(path: &Path, reads_messages: bool) -> Result<Self, CliError> {
        let (mut reader, files, recorded) = open(path)?;
        let contents = if reads_messages { Contents::read(path, &mut *reader) } else { Contents::default() };
        let mut bag = Self { files, is_read: reads_messages, ..Self::default() };
        bag.ros_distro = recorded.unwrap_or_default().ros_distro;
        bag.describe(&*reader, &contents);
        Ok(bag)
    }

    /// Adds what the reader knows.
    fn describe(&mut self, reader: &dyn BagReader, contents: &Contents) {
        let summary = reader.summary();
        self.len = summary.len;
        self.storage = storage_id(summary.format);
        self.times = (summary.start.unwrap_or(0), summary.end.unwrap_or(0));
        let (mut topics, mut services, mut actions) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (position, channel) in reader.channels().iter().enumerate() {
            let count = summary.counts.get(position).copied().unwrap_or_default();
            let entry = Entry { count, ..contents.entry(position) };
            let place: &mut Entry = match Subject::of(channel) {
                Subject::Topic => named(&mut topics, &channel.topic, Some(&channel.type_name), channel),
                Subject::Service(ServiceTopic { service, type_name }) => {
                    named(&mut services, &service, Some(&type_name), channel)
                }
                Subject::Action { action, type_name, part } => {
                    let place: &mut Action = actions.entry(action.clone()).or_default();
                    place.add(&action, type_name.as_deref(), part, channel, &entry);
                    continue;
                }
            };
            place.add(&entry);
        }
        self.topics = topics.into_values().collect();
        self.services = services.into_values().collect();
        self.actions = actions.into_values().collect();
    }

    /// Sorts topics, services and actions.
    pub(super) fn sort(&mut self, order: SortOrder) {
        for entries in [&mut self.topics, &mut self.services] {
            entries.sort_by(|one, other| order.compare(one, other));
        }
        self.actions.sort_by(|one, other| order.compare(&one.all, &other.all));
    }
}

impl SortOrder {
    fn compare(self, one: &Entry, other: &Entry) -> std::cmp::Ordering {
        match self {
            Self::Name => one.name.cmp(&other.name),
            Self::Type => one.type_name.cmp(&other.type_name),
            Self::Count => one.count.cmp(&other.count),
        }
    }
}

impl Entry {
    fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.len = self.len.saturating_add(other.len);
        self.calls.add(other.calls);
    }
}

impl Action {
    fn add(
        &mut self,
        name: &str,
        type_name: Option<&str>,
        part: ActionPart,
        channel: &Channel,
        entry: &Entry,
    ) {
        self.all.describe(name, type_name, channel);
        self.all.add(entry);
        match part {
            ActionPart::Feedback => self.feedback = self.feedback.saturating_add(entry.count),
            ActionPart::Status => self.status = self.status.saturating_add(entry.count),
            service => self.services.entry(service.name().to_owned()).or_default().add(entry),
        }
    }
}

impl Entry {
    fn describe(&mut self, name: &str, type_name: Option<&str>, channel: &Channel) {
        name.clone_into(&mut self.name);
        if let Some(type_name) = type_name {
            type_name.clone_into(&mut self.type_name);
        }
        channel.encoding.name().clone_into(&mut self.serialization);
    }
}

/// The entry of this name.
fn named<'a>(
    entries: &'a mut BTreeMap<String, Entry>,
    name: &str,
    type_name: Option<&str>,
    channel: &Channel,
) -> &'a mut Entry {
    let entry = entries.entry(name.to_owned()).or_default();
    entry.describe(name, type_name, channel);
    entry
}

type Opened = (Box<dyn BagReader + Send>, Vec<String>, Option<BagMetadata>);

/// Opens a bag: its reader, its files, and what its recorder said of it.
fn open(path: &Path) -> Result<Opened, CliError> {
    if path.is_dir() {
        // Its errors name the folder.
        let mut folder = open_folder(path).map_err(CliError::failed)?;
        let files = folder.files().iter().map(|file| file.path.clone()).collect();
        let recorded = folder.recorded_metadata();
        return Ok((Box::new(folder), files, recorded));
    }
    let mut reader = files::open(path)?;
    let recorded = recorded_metadata(&mut *reader);
    Ok((reader, vec![path.display().to_string()], recorded))
}

/// The name of a storage plug-in for this format.
fn storage_id(format: Format) -> &'static str {
    match format {
        Format::Rosbag => "rosbag_v2",
        Format::Rosbag2Sqlite => "sqlite3",
        _ => "mcap",
    }
}
