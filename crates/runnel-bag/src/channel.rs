//! Channels: what a bag of any format says about the messages of one topic.

use std::collections::BTreeMap;

/// Topic, type and encoding of messages.
///
/// A bag of ROS 1 has one for each publisher of a topic, a bag of ROS 2 one for each topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// The topic's absolute name.
    pub topic: String,
    /// The type as its generation spells it: `std_msgs/String` or `std_msgs/msg/String`.
    pub type_name: String,
    /// Encoding of the messages.
    pub encoding: Encoding,
    /// Definition of the type.
    pub schema: Schema,
    /// ROS 1: MD5 sum of the type, in hexadecimal.
    pub md5: Option<String>,
    /// ROS 2: hash of the type, such as `RIHS01_df66...`.
    pub type_hash: Option<String>,
    /// Name of the publisher's node. Few formats have it.
    pub publisher: Option<String>,
    /// ROS 1: whether the topic is latched.
    pub latching: bool,
    /// ROS 2: the QoS that the publishers offered, as YAML in the spelling of rosbag2.
    pub offered_qos: Option<String>,
    /// Metadata that this crate does not know, kept when a bag is converted.
    pub metadata: BTreeMap<String, String>,
}

/// Encoding of the messages of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// ROS 1's serialization.
    #[default]
    Ros1,
    /// CDR with an encapsulation header, as in ROS 2.
    Cdr,
    /// Another encoding, by the name that MCAP gives it, such as `json`.
    Other(String),
}

/// Definition of a channel's type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Language of the definition.
    pub language: SchemaLanguage,
    /// The definition with all its dependencies; empty if it is unknown.
    pub data: Vec<u8>,
}

/// Language of a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SchemaLanguage {
    /// The type is unknown, or described nowhere.
    #[default]
    None,
    /// `.msg` of ROS 1, as `rosmsg show` and connection headers have it.
    Ros1Msg,
    /// `.msg` of ROS 2.
    Ros2Msg,
    /// `.idl` of ROS 2.
    Ros2Idl,
    /// Another language, by the name that MCAP gives it, such as `protobuf`.
    Other(String),
}

/// A channel of one bag: its position in the bag's list of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(pub(crate) u32);

impl ChannelId {
    /// The channel at a position in the bag's list of channels.
    pub fn new(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Position in the bag's list of channels.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Encoding {
    /// The name in MCAP.
    pub fn name(&self) -> &str {
        match self {
            Self::Ros1 => "ros1",
            Self::Cdr => "cdr",
            Self::Other(name) => name,
        }
    }

    /// The encoding that MCAP gives this name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "ros1" => Self::Ros1,
            "cdr" => Self::Cdr,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl SchemaLanguage {
    /// The name in MCAP.
    pub fn name(&self) -> &str {
        match self {
            Self::None => "",
            Self::Ros1Msg => "ros1msg",
            Self::Ros2Msg => "ros2msg",
            Self::Ros2Idl => "ros2idl",
            Self::Other(name) => name,
        }
    }

    /// The language that MCAP gives this name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "" => Self::None,
            "ros1msg" => Self::Ros1Msg,
            "ros2msg" => Self::Ros2Msg,
            "ros2idl" => Self::Ros2Idl,
            other => Self::Other(other.to_owned()),
        }
    }
}
