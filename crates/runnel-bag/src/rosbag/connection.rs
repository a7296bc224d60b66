//! Connections: the messages of one publisher on one topic.

use super::records::{Fields, Op, ReadFields, put};

/// Topic and type of the messages of one publisher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The topic's absolute name.
    pub topic: String,
    /// The type, such as `std_msgs/String`.
    pub type_name: String,
    /// MD5 sum of the type, in hexadecimal.
    pub md5: String,
    /// Definition of the type with all its dependencies.
    pub definition: String,
    /// The publisher's node name. Not every recorder writes it.
    pub publisher: Option<String>,
    /// Whether the topic is latched.
    pub latching: bool,
}

/// A connection of one bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u32);

impl ConnectionId {
    /// Position in the bag's list of connections.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Connection {
    /// The record of this connection under this id.
    pub(super) fn record(&self, id: ConnectionId) -> Vec<u8> {
        let mut data = Fields::none()
            .with("topic", self.topic.as_bytes())
            .with("type", self.type_name.as_bytes())
            .with("md5sum", self.md5.as_bytes())
            .with("message_definition", self.definition.as_bytes());
        if let Some(publisher) = &self.publisher {
            data = data.with("callerid", publisher.as_bytes());
        }
        data = data.with("latching", if self.latching { b"1" } else { b"0" });
        let fields =
            Fields::of(Op::Connection).with("conn", &id.0.to_le_bytes()).with("topic", self.topic.as_bytes());
        let mut record = Vec::new();
        put(&mut record, fields, &data.into_bytes());
        record
    }

    /// Id and connection of a record; `None` if a field is missing.
    pub(super) fn parse(header: ReadFields<'_>, data: &[u8]) -> Option<(u32, Self)> {
        let data = ReadFields::parse(data)?;
        let connection = Self {
            topic: header.text("topic")?,
            type_name: data.text("type")?,
            md5: data.text("md5sum")?,
            definition: data.text("message_definition")?,
            publisher: data.text("callerid"),
            latching: data.value("latching") == Some(b"1"),
        };
        Some((header.u32("conn")?, connection))
    }
}
