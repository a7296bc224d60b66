//! Records of channels, which rosbag calls connections.

use std::collections::BTreeMap;

use runnel_core::schema::{Schema, TypeName};

use super::records::{Fields, Op, ReadFields, put};
use crate::{Channel, ChannelId, Encoding, Error, SchemaLanguage};

/// Names of the fields that have a place in [`Channel`].
const KNOWN: [&str; 6] = ["topic", "type", "md5sum", "message_definition", "callerid", "latching"];

/// The record of a channel under this id.
///
/// # Errors
/// [`Error::UnsupportedChannel`] for a channel that is not of ROS 1.
pub(super) fn record(channel: &Channel, id: ChannelId) -> Result<Vec<u8>, Error> {
    let unsupported = |reason| Error::UnsupportedChannel { topic: channel.topic.clone(), reason };
    if channel.encoding != Encoding::Ros1 {
        return Err(unsupported("a bag of rosbag has only messages in ROS 1's serialization"));
    }
    let definition: &[u8] = match channel.schema.language {
        SchemaLanguage::Ros1Msg => &channel.schema.data,
        SchemaLanguage::None => b"",
        _ => return Err(unsupported("a bag of rosbag has only definitions of ROS 1")),
    };
    let mut data = Fields::none()
        .with("topic", channel.topic.as_bytes())
        .with("type", channel.type_name.as_bytes())
        .with("md5sum", channel.md5.clone().unwrap_or_else(|| md5(channel, definition)).as_bytes())
        .with("message_definition", definition);
    if let Some(publisher) = &channel.publisher {
        data = data.with("callerid", publisher.as_bytes());
    }
    data = data.with("latching", if channel.latching { b"1" } else { b"0" });
    for (name, value) in &channel.metadata {
        if !name.contains('=') {
            data = data.with(name, value.as_bytes());
        }
    }
    let fields =
        Fields::of(Op::Connection).with("conn", &id.0.to_le_bytes()).with("topic", channel.topic.as_bytes());
    let mut record = Vec::new();
    put(&mut record, fields, &data.into_bytes());
    Ok(record)
}

/// MD5 sum of the type by its definition; `*`, which stands for any, if that does not say.
fn md5(channel: &Channel, definition: &[u8]) -> String {
    let schema = TypeName::parse(&channel.type_name)
        .filter(|_| !definition.is_empty())
        .and_then(|name| Schema::from_full_text(&name, str::from_utf8(definition).ok()?).ok());
    schema.map_or_else(|| "*".to_owned(), |schema| schema.md5.clone())
}

/// Id and channel of a record; `None` if a field is missing.
pub(super) fn parse(header: ReadFields<'_>, data: &[u8]) -> Option<(u32, Channel)> {
    let data = ReadFields::parse(data)?;
    let channel = Channel {
        topic: header.text("topic")?,
        type_name: data.text("type")?,
        encoding: Encoding::Ros1,
        schema: crate::Schema {
            language: SchemaLanguage::Ros1Msg,
            data: data.value("message_definition")?.to_vec(),
        },
        md5: Some(data.text("md5sum")?),
        type_hash: None,
        publisher: data.text("callerid"),
        latching: data.value("latching") == Some(b"1"),
        offered_qos: None,
        metadata: other_fields(data),
    };
    Some((header.u32("conn")?, channel))
}

fn other_fields(data: ReadFields<'_>) -> BTreeMap<String, String> {
    data.texts().filter(|(name, _)| !KNOWN.contains(&name.as_str())).collect()
}
