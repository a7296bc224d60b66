//! Description of a bag: the file `metadata.yaml`.

use std::collections::BTreeMap;

use runnel_core::yaml::{YamlNode, YamlValue, parse_documents};

use super::offered_qos;
use super::yaml::{elements, member, member_int, member_text, text};
use crate::{Channel, Error};

/// What `metadata.yaml` says. Versions 1 to 9 are read, and version 9 is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BagMetadata {
    /// Version of the format.
    pub version: u32,
    /// Kind of the files: `mcap` or `sqlite3`.
    pub storage: String,
    /// Log time of the first message, in nanoseconds since 1970.
    pub start: u64,
    /// Time from the first to the last message, in nanoseconds.
    pub duration: u64,
    /// Number of messages.
    pub message_count: u64,
    /// The topics.
    pub topics: Vec<TopicInfo>,
    /// Name of the compression, such as `zstd`; empty without one.
    pub compression_format: String,
    /// What is compressed.
    pub compression_mode: CompressionMode,
    /// The files in their order. Before version 5 only their paths are known.
    pub files: Vec<FileInfo>,
    /// Texts of the user, by key.
    pub custom_data: BTreeMap<String, String>,
    /// Distribution of the recorder, such as `jazzy`; empty if unknown.
    pub ros_distro: String,
}

/// A topic of a bag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicInfo {
    /// Name of the topic.
    pub name: String,
    /// Its type, such as `std_msgs/msg/String`.
    pub type_name: String,
    /// Encoding of the messages, such as `cdr`.
    pub serialization_format: String,
    /// QoS of the publishers, as YAML in the spelling of the version.
    pub offered_qos: Option<String>,
    /// Hash of the type.
    pub type_hash: Option<String>,
    /// Number of messages.
    pub message_count: u64,
}

/// A file of a bag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileInfo {
    /// Its path in the folder.
    pub path: String,
    /// Log time of its first message, in nanoseconds since 1970.
    pub start: u64,
    /// Time from its first to its last message, in nanoseconds.
    pub duration: u64,
    /// Number of its messages.
    pub message_count: u64,
}

/// What a bag's compression applies to. MCAP's chunks may be compressed too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompressionMode {
    /// Nothing.
    #[default]
    None,
    /// Each file as a whole.
    File,
    /// Each message.
    Message,
}

/// Key of the description in `metadata.yaml`. The record in an MCAP file has only what is behind it.
const ROOT: &str = "rosbag2_bagfile_information";

impl BagMetadata {
    /// Parses the text of `metadata.yaml`, or of the record in an MCAP file.
    ///
    /// # Errors
    /// [`Error::Metadata`] when it is no YAML or lacks a value.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let documents = parse_documents(text).map_err(|error| Error::Metadata(error.to_string()))?;
        let root = documents.first().and_then(|root| member(root, ROOT).or_else(|| described(root)));
        let root = root.ok_or_else(|| lacks(ROOT))?;
        let compression_mode = match &*member_text(root, "compression_mode").to_uppercase() {
            "" | "NONE" => CompressionMode::None,
            "FILE" => CompressionMode::File,
            "MESSAGE" => CompressionMode::Message,
            other => return Err(Error::Metadata(format!("compression mode {other:?} is not supported"))),
        };
        let topics = elements(member(root, "topics_with_message_count")).iter().map(topic);
        Ok(Self {
            version: number(Some(root), "version")?,
            storage: required_text(root, "storage_identifier")?,
            start: time(root, "starting_time")?,
            duration: time(root, "duration")?,
            message_count: number(Some(root), "message_count")?,
            topics: topics.collect::<Result<_, _>>()?,
            compression_format: member_text(root, "compression_format"),
            compression_mode,
            files: files(root)?,
            custom_data: custom_data(root),
            ros_distro: member_text(root, "ros_distro"),
        })
    }
}

impl TopicInfo {
    /// The topic of a channel with this many messages.
    pub(super) fn of(channel: &Channel, message_count: u64) -> Self {
        Self {
            name: channel.topic.clone(),
            type_name: channel.type_name.clone(),
            serialization_format: channel.encoding.name().to_owned(),
            offered_qos: channel.offered_qos.clone(),
            type_hash: channel.type_hash.clone(),
            message_count,
        }
    }

    /// The topics, each once.
    pub(super) fn each_once(topics: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let (mut all, mut known) = (Vec::<Self>::new(), BTreeMap::new());
        for topic in topics {
            let place = *known.entry(topic.name.clone()).or_insert(all.len());
            match all.get_mut(place) {
                Some(total) => total.message_count = total.message_count.saturating_add(topic.message_count),
                None => all.push(topic),
            }
        }
        all
    }
}

/// The document of a record without the root key.
fn described(root: &YamlNode) -> Option<&YamlNode> {
    member(root, "version").map(|_| root)
}

fn topic(node: &YamlNode) -> Result<TopicInfo, Error> {
    let topic = member(node, "topic_metadata").ok_or_else(|| lacks("topic_metadata"))?;
    Ok(TopicInfo {
        name: required_text(topic, "name")?,
        type_name: required_text(topic, "type")?,
        serialization_format: required_text(topic, "serialization_format")?,
        offered_qos: member(topic, "offered_qos_profiles").and_then(offered_qos::offered_qos),
        type_hash: Some(member_text(topic, "type_description_hash")).filter(|hash| !hash.is_empty()),
        message_count: number(Some(node), "message_count")?,
    })
}

/// From version 5 on `files` has times; each version has `relative_file_paths`, which compression renames.
fn files(root: &YamlNode) -> Result<Vec<FileInfo>, Error> {
    let known = elements(member(root, "files"));
    let paths = elements(member(root, "relative_file_paths"));
    let path = |node| text(node).map(str::to_owned).ok_or_else(|| lacks("the path of a file"));
    if known.len() != paths.len() && !paths.is_empty() {
        return paths.iter().map(|node| Ok(FileInfo { path: path(node)?, ..FileInfo::default() })).collect();
    }
    let file = |(index, node)| {
        Ok(FileInfo {
            path: paths.get(index).map_or_else(|| required_text(node, "path"), path)?,
            start: time(node, "starting_time")?,
            duration: time(node, "duration")?,
            message_count: number(Some(node), "message_count")?,
        })
    };
    known.iter().enumerate().map(file).collect()
}

fn custom_data(root: &YamlNode) -> BTreeMap<String, String> {
    match member(root, "custom_data").map(|data| &data.value) {
        Some(YamlValue::Mapping(members)) => {
            let pair = |(key, value): &(YamlNode, YamlNode)| Some((text(key)?.into(), text(value)?.into()));
            members.iter().filter_map(pair).collect()
        }
        _ => BTreeMap::new(),
    }
}

/// A time or duration, which is a mapping with one number.
fn time(node: &YamlNode, key: &str) -> Result<u64, Error> {
    let node = member(node, key).ok_or_else(|| lacks(key))?;
    let unit = if key == "duration" { "nanoseconds" } else { "nanoseconds_since_epoch" };
    let nanos = member_int(node, unit).ok_or_else(|| lacks(key))?;
    // rosbag2 writes the latest or earliest time for a bag without messages.
    Ok(u64::try_from(nanos).unwrap_or(0))
}

fn number<T: TryFrom<i128>>(node: Option<&YamlNode>, key: &str) -> Result<T, Error> {
    let number = node.and_then(|node| member_int(node, key));
    number.and_then(|number| number.try_into().ok()).ok_or_else(|| lacks(key))
}

fn required_text(node: &YamlNode, key: &str) -> Result<String, Error> {
    Some(member_text(node, key)).filter(|text| !text.is_empty()).ok_or_else(|| lacks(key))
}

fn lacks(key: &str) -> Error {
    Error::Metadata(format!("{key} is missing or malformed"))
}
