//! `runnel bag info`

mod text;
mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::ValueHint;
use runnel_bag::{BagReader, Channel, ChunkTotals, Compression, Encoding, Metadata, Summary};
use serde_json::{Value as Json, json};

use super::files;
use super::service_topics::{ActionTopic, ServiceTopic};
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
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    for (index, path) in args.bags.iter().enumerate() {
        let bag = BagInfo::of(path.display().to_string(), &mut *files::open(path)?);
        if index > 0 && !cli.output.json {
            cli.output.line(if args.yaml { "---" } else { "" })?;
        }
        cli.output.answer(|| if args.yaml { bag.yaml() } else { bag.text() }, || bag.json())?;
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
}

impl BagInfo {
    fn of(path: String, reader: &mut dyn BagReader) -> Self {
        let summary = reader.summary().clone();
        let mut topics: BTreeMap<String, Topic> = BTreeMap::new();
        let (mut services, mut actions) = (BTreeMap::new(), BTreeMap::new());
        for (position, channel) in reader.channels().iter().enumerate() {
            let messages = summary.counts.get(position).copied().unwrap_or_default();
            topics.entry(channel.topic.clone()).or_default().add(channel, messages);
            if let Some(topic) = ServiceTopic::of(channel) {
                Calls::add(&mut services, &mut actions, topic, messages);
            }
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
    /// Adds the events of a service, which may belong to an action.
    fn add(
        services: &mut BTreeMap<String, Self>,
        actions: &mut BTreeMap<String, Self>,
        topic: ServiceTopic,
        events: u64,
    ) {
        let (calls, type_name) = match topic.action() {
            Some(ActionTopic { action, type_name }) => (actions.entry(action).or_default(), type_name),
            None => (services.entry(topic.service).or_default(), Some(topic.type_name)),
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
        self.types.insert(channel.type_name.clone(), sum);
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
        })
    }
}

#[cfg(test)]
mod tests {
    use runnel_bag::Format;

    use super::times::duration;
    use super::*;

    fn bag() -> BagInfo {
        let mut topics: BTreeMap<String, Topic> = BTreeMap::new();
        let channel = Channel {
            topic: "/chatter".into(),
            type_name: "std_msgs/String".into(),
            md5: Some("992c".into()),
            ..Channel::default()
        };
        for messages in [60, 6] {
            topics.entry("/chatter".into()).or_default().add(&channel, messages);
        }
        let unknown = Channel { type_name: "a/msg/B".into(), encoding: Encoding::Cdr, ..channel };
        topics.entry("/b".into()).or_default().add(&Channel { type_hash: None, md5: None, ..unknown }, 1);
        let totals = ChunkTotals { count: 2, stored: 25, decompressed: 100 };
        let summary = Summary {
            format: Format::Mcap,
            len: 2048,
            is_finished: false,
            start: Some(1_000_000_000),
            end: Some(62_500_000_000),
            counts: vec![60, 6, 1],
            chunks: vec![(Compression::None, totals), (Compression::Lz4, totals)],
        };
        BagInfo {
            path: "x.mcap".into(),
            summary,
            damage: Some("byte 5: bad".into()),
            topics,
            services: BTreeMap::new(),
            actions: BTreeMap::new(),
            metadata: Vec::new(),
        }
    }

    #[test]
    fn recorded_calls_are_shown_by_service_and_action() {
        let mut bag = bag();
        for (topic, type_name, events) in [
            ("/power", "std_srvs/srv/SetBool", 8),
            ("/fib/_action/send_goal", "a/action/Fibonacci_SendGoal", 4),
            ("/fib/_action/cancel_goal", "action_msgs/srv/CancelGoal", 2),
        ] {
            let (topic, type_name) = (format!("{topic}/_service_event"), format!("{type_name}_Event"));
            let channel = Channel { topic, type_name, ..Channel::default() };
            let topic = ServiceTopic::of(&channel).expect("events");
            Calls::add(&mut bag.services, &mut bag.actions, topic, events);
        }
        let text = bag.text();
        for row in [
            "services:    /power   8 events    : std_srvs/srv/SetBool",
            "actions:     /fib   6 events    : a/action/Fibonacci",
        ] {
            assert!(text.lines().any(|line| line == row), "{row}: {text}");
        }
        assert_eq!(bag.json()["services"][0]["service"], "/power");
        assert_eq!(bag.json()["actions"][0]["events"], 6);
    }

    #[test]
    fn text_is_that_of_rosbag_info() {
        let text = bag().text();
        let rows: Vec<&str> = text.lines().filter(|row| !row.contains("1970")).collect();
        let expected = [
            "path:        x.mcap",
            "format:      MCAP",
            "duration:    1:01s (61s)",
            "size:        2.0 KiB",
            "messages:    67",
            "compression: none [2/4 chunks]",
            "             lz4 [2/4 chunks; 25.00%]",
            "types:       a/msg/B         []",
            "             std_msgs/String [992c]",
            "topics:      /b          1 msg     : a/msg/B (definition unknown)",
            "             /chatter   66 msgs    : std_msgs/String (2 connections)",
            "unfinished:  it has no index. Try: runnel bag reindex x.mcap",
            "damage:      byte 5: bad",
        ];
        assert_eq!(rows, expected);
        assert!(text.contains("start:       ") && text.contains(".50 (62.50)"), "{text}");
    }

    #[test]
    fn yaml_has_the_keys_of_rosbag() {
        let yaml = bag().yaml();
        let expected = "path: x.mcap\nformat: MCAP\nduration: 61.500000\nstart: 1.000000\nend: 62.500000\nsize: 2048\n\
                        messages: 67\nindexed: False\n";
        assert!(yaml.starts_with(expected), "{yaml}");
        assert!(yaml.ends_with("      messages: 66\n      connections: 2\n"), "{yaml}");
    }

    #[test]
    fn durations_have_the_form_of_rosbag() {
        let texts = [1_500_000_000, 61_000_000_000, 3_661_000_000_000].map(duration);
        assert_eq!(texts, ["1.5s", "1:01s (61s)", "1hr 1:01s (3661s)"]);
    }
}
