//! `runnel bag info`

mod frequency;
mod key;
#[cfg(test)]
mod tests;
mod text;
pub mod times;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::ValueHint;
use runnel_bag::{BagReader, Channel, ChunkTotals, Compression, Encoding, Metadata, Summary};
use serde_json::{Value as Json, json};

use super::files;
use super::service_topics::ServiceTopic;
use super::subject::Subject;
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Show topics, types and times of bags
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, or folders of ros2 bag
    #[arg(required = true, value_name = "BAG", value_hint = ValueHint::AnyPath)]
    pub bags: Vec<PathBuf>,

    /// Print YAML with the keys of rosbag
    #[arg(short, long)]
    pub yaml: bool,

    /// Print only the value of this key in the YAML, such as duration or topics[0].messages
    #[arg(short, long, value_name = "KEY", requires = "yaml")]
    pub key: Option<String>,

    /// Also print the frequency of each topic: reads the whole bag
    #[arg(long)]
    pub freq: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    for (index, path) in args.bags.iter().enumerate() {
        if index > 0 && !cli.output.json {
            cli.output.line("---")?;
        }
        let bag = BagInfo::open(path, args.freq)?;
        match args.key.as_deref().filter(|_| !cli.output.json) {
            Some(key) => match bag.value_of(key) {
                Some(value) => cli.output.paragraph(&value)?,
                // As rosbag does, it goes on with the next bag.
                None => cli.output.note(&format!("Error getting key \"{key}\"")),
            },
            None if args.yaml => cli.output.answer(|| bag.yaml() + "\n", || bag.json())?,
            None => cli.output.answer(|| bag.text(), || bag.json())?,
        }
    }
    Ok(())
}

/// What is shown of a bag.
struct BagInfo {
    path: String,
    summary: Summary,
    damage: Option<String>,
    topics: BTreeMap<String, Topic>,
    /// Services whose calls are recorded, and actions whose goals are.
    services: BTreeMap<String, Calls>,
    actions: BTreeMap<String, Calls>,
    metadata: Vec<Metadata>,
}

/// Recorded calls of a service or an action.
#[derive(Debug, Default)]
struct Calls {
    /// Types; of an action they may be unknown.
    types: BTreeSet<String>,
    /// Events: up to four for each call.
    events: u64,
}

#[derive(Debug, Default)]
struct Topic {
    /// Types with their MD5 sum or hash.
    types: BTreeMap<String, String>,
    encodings: BTreeSet<String>,
    channels: usize,
    messages: u64,
    is_latched: bool,
    offered_qos: Option<String>,
    has_definition: bool,
    /// The median, in Hz, if it was requested.
    frequency: Option<f64>,
}

impl BagInfo {
    /// Describes a bag, with the frequencies of its topics if they are requested.
    fn open(path: &Path, has_frequencies: bool) -> Result<Self, CliError> {
        let mut reader = files::open(path)?;
        let mut bag = Self::of(path.display().to_string(), &mut *reader);
        if has_frequencies {
            for (name, frequency) in frequency::medians(path, &mut *reader) {
                bag.topics.entry(name).or_default().frequency = Some(frequency);
            }
        }
        Ok(bag)
    }

    fn of(path: String, reader: &mut dyn BagReader) -> Self {
        let summary = reader.summary().clone();
        let mut topics: BTreeMap<String, Topic> = BTreeMap::new();
        let (mut services, mut actions) = (BTreeMap::new(), BTreeMap::new());
        for (position, channel) in reader.channels().iter().enumerate() {
            let messages = summary.counts.get(position).copied().unwrap_or_default();
            topics.entry(channel.topic.clone()).or_default().add(channel, messages);
            Calls::add(&mut services, &mut actions, channel, messages);
        }
        let damage = reader.damage().map(ToString::to_string);
        // Damaged metadata are shown with the other damage by `check`.
        let metadata = reader.metadata().unwrap_or_default();
        Self { path, summary, damage, topics, services, actions, metadata }
    }

    fn messages(&self) -> u64 {
        self.summary.counts.iter().copied().fold(0, u64::saturating_add)
    }

    fn json(&self) -> Json {
        let chunk = |(compression, totals): &(Compression, ChunkTotals)| {
            let ChunkTotals { count, stored, decompressed } = totals;
            json!({ "compression": compression.name(), "count": count, "stored": stored, "decompressed": decompressed })
        };
        json!({
            "path": self.path,
            "format": self.summary.format.to_string(),
            "finished": self.summary.is_finished,
            "damage": self.damage,
            "start": self.summary.start,
            "end": self.summary.end,
            "size": self.summary.len,
            "messages": self.messages(),
            "chunks": self.summary.chunks.iter().map(chunk).collect::<Vec<_>>(),
            "topics": self.topics.iter().map(|(name, topic)| topic.json(name)).collect::<Vec<_>>(),
            "services": self.services.iter().map(|(name, calls)| calls.json("service", name)).collect::<Vec<_>>(),
            "actions": self.actions.iter().map(|(name, calls)| calls.json("action", name)).collect::<Vec<_>>(),
            "metadata": self.metadata.iter().map(|one| json!({ "name": one.name, "values": one.values })).collect::<Vec<_>>(),
        })
    }
}

impl Calls {
    /// Adds the events of a channel to its service or its action, if it has calls of one.
    fn add(
        services: &mut BTreeMap<String, Self>,
        actions: &mut BTreeMap<String, Self>,
        channel: &Channel,
        events: u64,
    ) {
        let (calls, type_name) = match Subject::of(channel) {
            Subject::Service(ServiceTopic { service, type_name }) => {
                (services.entry(service).or_default(), Some(type_name))
            }
            Subject::Action { action, type_name, part } if part.is_service() => {
                (actions.entry(action).or_default(), type_name)
            }
            Subject::Topic | Subject::Action { .. } => return,
        };
        calls.types.extend(type_name);
        calls.events = calls.events.saturating_add(events);
    }

    fn json(&self, kind: &str, name: &str) -> Json {
        json!({ kind: name, "types": self.types, "events": self.events })
    }
}

impl Topic {
    fn add(&mut self, channel: &Channel, messages: u64) {
        let sum = channel.md5.as_ref().or(channel.type_hash.as_ref()).cloned().unwrap_or_default();
        self.types.entry(channel.type_name.clone()).or_insert(sum);
        self.encodings.insert(channel.encoding.name().to_owned());
        self.channels += 1;
        self.messages = self.messages.saturating_add(messages);
        self.is_latched |= channel.latching;
        self.offered_qos = self.offered_qos.take().or_else(|| channel.offered_qos.clone());
        self.has_definition |= !channel.schema.data.is_empty() || channel.encoding != Encoding::Cdr;
    }

    fn json(&self, name: &str) -> Json {
        json!({
            "topic": name,
            "types": self.types,
            "encodings": self.encodings,
            "messages": self.messages,
            "connections": self.channels,
            "latched": self.is_latched,
            "offered_qos": self.offered_qos,
            "definition": self.has_definition,
            "frequency": self.frequency,
        })
    }
}
