//! Text and YAML as `rosbag info` prints them.

use std::collections::BTreeMap;

use runnel_bag::{ChunkTotals, Compression, Format};

use super::times::{date, duration, seconds};
use super::{BagInfo, Calls, Topic};
use crate::bag::files::unfinished;
use crate::bag::quantity::size;
use crate::output::{lines, shown};

/// Columns before the values.
const INDENT: usize = 13;

impl BagInfo {
    /// As `rosbag info` prints it.
    pub(super) fn text(&self) -> String {
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
            let why = unfinished(self.summary.format);
            let why = format!("{why}. Try: runnel bag reindex {}", self.path);
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

    /// As `rosbag info --yaml` prints it.
    pub(super) fn yaml(&self) -> String {
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
}

impl Topic {
    /// What stands behind the type.
    fn notes(&self) -> String {
        let connections = (self.channels > 1).then(|| format!(" ({} connections)", self.channels));
        let unknown = (!self.has_definition).then(|| " (definition unknown)".to_owned());
        connections.into_iter().chain(unknown).collect()
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
