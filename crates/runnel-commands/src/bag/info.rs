//! `runnel bag info`

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::ValueHint;
use runnel::core::time::Time;
use runnel_bag::{BagReader, Channel, ChunkTotals, Compression, Encoding, Format, Metadata, Summary};
use runnel_io::clock;
use serde_json::{Value as Json, json};

use super::files;
use super::quantity::size;
use super::service_topics::{ActionTopic, ServiceTopic};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::{lines, shown};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Columns before the values.
const INDENT: usize = 13;

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

    /// As `rosbag info` prints it.
    fn text(&self) -> String {
        let mut rows = vec![("path", vec![self.path.clone()]), self.format_row()];
        if let (Some(start), Some(end)) = (self.summary.start, self.summary.end) {
            rows.push(("duration", vec![duration(end.saturating_sub(start))]));
            rows.push(("start", vec![date(start)]));
            rows.push(("end", vec![date(end)]));
        }
        rows.push(("size", vec![size(self.summary.len)]));
        rows.push(("messages", vec![self.messages().to_string()]));
        let chunks: Vec<String> = self.chunks().collect();
        rows.extend((!chunks.is_empty()).then_some(("compression", chunks)));
        rows.extend((!self.topics.is_empty()).then(|| ("types", self.type_lines())));
        rows.extend((!self.topics.is_empty()).then(|| ("topics", self.topic_lines())));
        for (name, calls) in [("services", &self.services), ("actions", &self.actions)] {
            rows.extend((!calls.is_empty()).then(|| (name, call_lines(calls))));
        }
        if !self.summary.is_finished {
            let why = format!("the bag has no index. Try: runnel bag reindex {}", self.path);
            rows.push(("unfinished", vec![why]));
        }
        rows.extend(self.damage.iter().map(|damage| ("damage", vec![damage.clone()])));
        lines(rows.iter().flat_map(|(name, values)| {
            values.iter().enumerate().map(move |(index, value)| {
                let name = if index == 0 { format!("{name}:") } else { String::new() };
                format!("{name:<INDENT$}{}", shown(value))
            })
        }))
    }

    fn format_row(&self) -> (&'static str, Vec<String>) {
        match self.summary.format {
            Format::Rosbag => ("version", vec!["2.0".to_owned()]),
            format => ("format", vec![format.to_string()]),
        }
    }

    fn chunks(&self) -> impl Iterator<Item = String> {
        let all = self.summary.chunks.iter().map(|(_, totals)| totals.count).fold(0, u64::saturating_add);
        self.summary.chunks.iter().map(move |(compression, totals)| {
            let ChunkTotals { count, stored, decompressed } = *totals;
            let ratio = match compression {
                Compression::None => String::new(),
                _ => format!("; {:.2}%", 100.0 * stored as f64 / decompressed.max(1) as f64),
            };
            format!("{} [{count}/{all} chunks{ratio}]", compression.name())
        })
    }

    /// All types with their sums, in order.
    fn types(&self) -> BTreeMap<&str, &str> {
        let types = self.topics.values().flat_map(|topic| &topic.types);
        types.map(|(name, sum)| (name.as_str(), sum.as_str())).collect()
    }

    fn type_lines(&self) -> Vec<String> {
        let types = self.types();
        let width = types.keys().map(|name| name.chars().count()).max().unwrap_or_default();
        types.iter().map(|(name, sum)| format!("{name:<width$} [{sum}]")).collect()
    }

    fn topic_lines(&self) -> Vec<String> {
        let row = |(name, topic): (&String, &Topic)| {
            let types: Vec<&str> = topic.types.keys().map(String::as_str).collect();
            (name.clone(), topic.messages, types.join(", ") + &topic.notes())
        };
        counted_lines(&self.topics.iter().map(row).collect::<Vec<_>>(), "msg")
    }

    /// As `rosbag info --yaml` prints it.
    fn yaml(&self) -> String {
        let mut text = format!("path: {}\n", self.path);
        let (key, value) = self.format_row();
        text += &format!("{key}: {}\n", value.concat());
        if let (Some(start), Some(end)) = (self.summary.start, self.summary.end) {
            let duration = seconds(end.saturating_sub(start));
            text += &format!("duration: {duration}\nstart: {}\nend: {}\n", seconds(start), seconds(end));
        }
        text += &format!("size: {}\nmessages: {}\n", self.summary.len, self.messages());
        text += &format!("indexed: {}\n", if self.summary.is_finished { "True" } else { "False" });
        let usual = self.summary.chunks.iter().max_by_key(|(_, totals)| totals.count);
        text += &format!("compression: {}\n", usual.map_or("none", |(compression, _)| compression.name()));
        text += "types:\n";
        for (name, sum) in self.types() {
            text += &format!("    - type: {}\n      md5: {}\n", shown(name), shown(sum));
        }
        text += "topics:\n";
        for (name, topic) in &self.topics {
            let types: Vec<&str> = topic.types.keys().map(String::as_str).collect();
            let (name, types) = (shown(name).into_owned(), types.join(", "));
            text += &format!("    - topic: {name}\n      type: {}\n", shown(&types));
            text += &format!("      messages: {}\n", topic.messages);
            if topic.channels > 1 {
                text += &format!("      connections: {}\n", topic.channels);
            }
        }
        text
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

fn call_lines(calls: &BTreeMap<String, Calls>) -> Vec<String> {
    let row = |(name, calls): (&String, &Calls)| {
        let types: Vec<&str> = calls.types.iter().map(String::as_str).collect();
        (name.clone(), calls.events, types.join(", "))
    };
    counted_lines(&calls.iter().map(row).collect::<Vec<_>>(), "event")
}

/// A line for each name, with a number of things and a text, in columns as `rosbag info` has them.
fn counted_lines(rows: &[(String, u64, String)], unit: &str) -> Vec<String> {
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or_default();
    let digits = rows.iter().map(|(_, count, _)| count.to_string().len()).max().unwrap_or_default();
    let line = |(name, count, text): &(String, u64, String)| {
        let plural = if *count == 1 { " " } else { "s" };
        format!("{name:<width$}   {count:>digits$} {unit}{plural}    : {text}")
    };
    rows.iter().map(line).collect()
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

    /// What stands behind the type.
    fn notes(&self) -> String {
        let connections = (self.channels > 1).then(|| format!(" ({} connections)", self.channels));
        let unknown = (!self.has_definition).then(|| " (definition unknown)".to_owned());
        connections.into_iter().chain(unknown).collect()
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

/// Seconds with six decimals, as rosbag prints them in YAML.
fn seconds(nanos: u64) -> String {
    format!("{}.{:06}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
}

/// A duration as `rosbag info` prints it.
fn duration(nanos: u64) -> String {
    let whole = nanos / 1_000_000_000;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{:.1}s", nanos as f64 / 1e9),
        (0, _) => format!("{minutes}:{rest:02}s ({whole}s)"),
        _ => format!("{hours}hr {minutes}:{rest:02}s ({whole}s)"),
    }
}

/// A time as `rosbag info` prints it, in the local time zone.
fn date(nanos: u64) -> String {
    let time = Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
    let [year, month, day, hour, minute, second] = clock::local_date(time);
    let month = usize::try_from(month - 1).ok().and_then(|month| MONTHS.get(month)).unwrap_or(&"");
    let hundredths = nanos % 1_000_000_000 / 10_000_000;
    let seconds = nanos as f64 / 1e9;
    format!("{month} {day:02} {year} {hour:02}:{minute:02}:{second:02}.{hundredths:02} ({seconds:.2})")
}

#[cfg(test)]
mod tests {
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
            "unfinished:  the bag has no index. Try: runnel bag reindex x.mcap",
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
