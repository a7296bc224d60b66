//! Records of schemas and channels.

use std::collections::BTreeMap;

use super::records::{Content, Fields, op};
use crate::{Channel, Encoding, Schema, SchemaLanguage};

/// Keys of a channel's metadata that have a place in [`Channel`].
mod key {
    pub(super) const MD5: &str = "md5sum";
    pub(super) const PUBLISHER: &str = "callerid";
    pub(super) const LATCHING: &str = "latching";
    pub(super) const TYPE_HASH: &str = "topic_type_hash";
    pub(super) const OFFERED_QOS: &str = "offered_qos_profiles";
}

/// Offered QoS that are unknown: a list of none.
const NO_QOS: &str = "[]";

/// Name and definition of a type.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SchemaRecord {
    name: String,
    encoding: String,
    data: Vec<u8>,
}

/// What the file says about a channel besides its schema.
pub(super) struct ChannelRecord {
    pub(super) id: u16,
    /// 0 without one.
    pub(super) schema: u16,
    topic: String,
    encoding: String,
    metadata: BTreeMap<String, String>,
}

impl SchemaRecord {
    /// Id and schema of a record; `None` if it is malformed.
    pub(super) fn parse(content: &[u8]) -> Option<(u16, Self)> {
        let mut fields = Fields::new(content);
        let id = fields.u16()?;
        let schema = Self { name: fields.text()?, encoding: fields.text()?, data: fields.blob()?.to_vec() };
        Some((id, schema))
    }

    /// The schema of a channel; `None` if neither name nor definition of its type is known.
    pub(super) fn of(channel: &Channel) -> Option<Self> {
        let Schema { language, data } = &channel.schema;
        let is_known = !channel.type_name.is_empty() || !data.is_empty();
        is_known.then(|| Self {
            name: channel.type_name.clone(),
            encoding: language.name().to_owned(),
            data: if *language == SchemaLanguage::None { Vec::new() } else { data.clone() },
        })
    }

    pub(super) fn record(&self, id: u16) -> Vec<u8> {
        Content::default()
            .u16(id)
            .text(&self.name)
            .text(&self.encoding)
            .blob(&self.data)
            .into_record(op::SCHEMA)
    }
}

impl ChannelRecord {
    /// `None` if it is malformed.
    pub(super) fn parse(content: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(content);
        Some(Self {
            id: fields.u16()?,
            schema: fields.u16()?,
            topic: fields.text()?,
            encoding: fields.text()?,
            metadata: fields.texts()?,
        })
    }

    /// The channel with its schema.
    pub(super) fn into_channel(mut self, schema: Option<&SchemaRecord>) -> Channel {
        let schema = schema.cloned().unwrap_or_default();
        let mut known = |key| self.metadata.remove(key).filter(|value| !value.is_empty());
        Channel {
            topic: self.topic,
            type_name: schema.name,
            encoding: Encoding::from_name(&self.encoding),
            schema: Schema { language: SchemaLanguage::from_name(&schema.encoding), data: schema.data },
            md5: known(key::MD5),
            type_hash: known(key::TYPE_HASH),
            publisher: known(key::PUBLISHER),
            latching: known(key::LATCHING).is_some_and(|value| value == "1" || value == "true"),
            offered_qos: known(key::OFFERED_QOS).filter(|offered| offered.trim() != NO_QOS),
            metadata: self.metadata,
        }
    }
}

/// The record of a channel under these ids.
pub(super) fn record(channel: &Channel, id: u16, schema: u16) -> Vec<u8> {
    let mut metadata = channel.metadata.clone();
    let latching = channel.latching.then(|| "true".to_owned());
    // The profile of ROS 2 demands the key.
    let no_qos = (channel.encoding == Encoding::Cdr).then(|| NO_QOS.to_owned());
    let offered_qos = channel.offered_qos.clone().or(no_qos);
    for (key, value) in [
        (key::MD5, &channel.md5),
        (key::PUBLISHER, &channel.publisher),
        (key::LATCHING, &latching),
        (key::TYPE_HASH, &channel.type_hash),
        (key::OFFERED_QOS, &offered_qos),
    ] {
        if let Some(value) = value {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    Content::default()
        .u16(id)
        .u16(schema)
        .text(&channel.topic)
        .text(channel.encoding.name())
        .texts(&metadata)
        .into_record(op::CHANNEL)
}
