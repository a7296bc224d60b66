//! Text as `rosbag info` prints it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use runnel_bag::{ChunkTotals, Compression, Format};

use super::times::{duration_text, frequency_text, in_seconds, size_text, time_text};
use super::{BagInfo, Calls, Topic};
use crate::bag::files::unfinished;
use crate::output::shown;

/// Names of rows and their values, of which each has its own line.
type Rows = Vec<(&'static str, Vec<String>)>;

impl BagInfo {
    /// As `rosbag info` prints it.
    pub(super) fn text(&self) -> String {
        let mut rows = self.head_rows();
        if !self.is_empty() {
            rows.extend(self.content_rows());
        }
        if !self.summary.is_finished {
            let why = unfinished(self.summary.format);
            rows.push(("unfinished", vec![format!("{why}. Try: runnel bag reindex {}", self.path)]));
        }
        rows.extend(self.damage.iter().map(|damage| ("damage", vec![damage.clone()])));
        let width = rows.iter().map(|(name, _)| name.len() + 1).max().unwrap_or_default();
        let lines = rows.iter().flat_map(|(name, values)| {
            values.iter().enumerate().map(move |(index, value)| {
                let name = if index == 0 { format!("{name}:") } else { String::new() };
                format!("{name:<width$} {}\n", shown(value))
            })
        });
        lines.collect::<String>().trim_end().to_owned()
    }

    /// Whether there is nothing but a head: such a bag of rosbag has no times.
    pub(super) fn is_empty(&self) -> bool {
        self.summary.format == Format::Rosbag && self.summary.chunks.is_empty()
    }

    fn head_rows(&self) -> Rows {
        let (name, format) = self.format();
        let mut rows = vec![("path", vec![self.path.clone()]), (name, vec![format])];
        if !self.is_empty()
            && let (Some(start), Some(end)) = (self.summary.start, self.summary.end)
        {
            rows.push(("duration", vec![duration_text(in_seconds(end) - in_seconds(start))]));
            rows.push(("start", vec![time_text(start)]));
            rows.push(("end", vec![time_text(end)]));
        }
        rows.push(("size", vec![size_text(self.summary.len as f64)]));
        rows
    }

    fn content_rows(&self) -> Rows {
        let mut rows = vec![("messages", vec![self.messages().to_string()])];
        rows.extend(self.compression_rows());
        rows.extend((!self.topics.is_empty()).then(|| ("types", self.type_lines())));
        rows.extend((!self.topics.is_empty()).then(|| ("topics", self.topic_lines())));
        for (name, calls) in [("services", &self.services), ("actions", &self.actions)] {
            rows.extend((!calls.is_empty()).then(|| (name, call_lines(calls))));
        }
        rows
    }

    /// Name and value of the row about the format.
    pub(super) fn format(&self) -> (&'static str, String) {
        match self.summary.format {
            Format::Rosbag => ("version", "2.0".to_owned()),
            format => ("format", format.to_string()),
        }
    }

    /// Compressions, from that of most chunks on.
    pub(super) fn compressions(&self) -> Vec<(Compression, ChunkTotals)> {
        let mut compressions = self.summary.chunks.clone();
        compressions.sort_by_key(|(compression, totals)| Reverse((totals.count, compression.name())));
        compressions
    }

    /// Lengths of the data of all chunks as stored and decompressed, in bytes, if any of them is compressed.
    pub(super) fn compressed_lengths(&self) -> Option<(u64, u64)> {
        let chunks = &self.summary.chunks;
        let is_compressed = chunks.iter().any(|(compression, _)| *compression != Compression::None);
        let sum = |length: fn(&ChunkTotals) -> u64| {
            chunks.iter().map(|(_, totals)| length(totals)).fold(0, u64::saturating_add)
        };
        is_compressed.then(|| (sum(|totals| totals.stored), sum(|totals| totals.decompressed)))
    }

    fn compression_rows(&self) -> Rows {
        let compressions = self.compressions();
        if compressions.is_empty() {
            return Rows::new();
        }
        let all = compressions.iter().map(|(_, totals)| totals.count).fold(0, u64::saturating_add);
        let chunks = compressions.iter().map(|(compression, totals)| {
            let ratio = match compression {
                Compression::None => String::new(),
                _ => format!("; {}", percentage(totals.stored, totals.decompressed)),
            };
            format!("{} [{}/{all} chunks{ratio}]", compression.name(), totals.count)
        });
        let mut rows = vec![("compression", vec![chunks.collect::<Vec<_>>().join(", ")])];
        if let Some((stored, decompressed)) = self.compressed_lengths() {
            let [before, after] = self.size_and_rate([decompressed, stored]);
            let ratio = match self.seconds() > 0.0 {
                true => format!(" ({})", percentage(stored, decompressed)),
                false => String::new(),
            };
            rows.push(("uncompressed", vec![before]));
            rows.push(("compressed", vec![after + &ratio]));
        }
        rows
    }

    /// Lengths, aligned with each other, and for how many bytes of each second they are.
    fn size_and_rate(&self, lengths: [u64; 2]) -> [String; 2] {
        let sizes = right_aligned(lengths.map(|length| size_text(length as f64)));
        if self.seconds() <= 0.0 {
            return sizes;
        }
        let [before, after] = right_aligned(lengths.map(|length| size_text(length as f64 / self.seconds())));
        let [first, second] = sizes;
        [format!("{first} @ {before}/s"), format!("{second} @ {after}/s")]
    }

    fn seconds(&self) -> f64 {
        let [start, end] = [self.summary.start, self.summary.end].map(|time| in_seconds(time.unwrap_or(0)));
        end - start
    }

    /// All types with their sums, in order.
    pub(super) fn types(&self) -> BTreeMap<&str, &str> {
        let types = self.topics.values().flat_map(|topic| &topic.types);
        types.map(|(name, sum)| (name.as_str(), sum.as_str())).collect()
    }

    fn type_lines(&self) -> Vec<String> {
        let types = self.types();
        let width = types.keys().map(|name| name.chars().count()).max().unwrap_or_default();
        types.iter().map(|(name, sum)| format!("{name:<width$} [{sum}]")).collect()
    }

    fn topic_lines(&self) -> Vec<String> {
        let types_width = self.types().keys().map(|name| name.chars().count()).max().unwrap_or_default();
        let frequencies = self.topics.values().filter_map(|topic| topic.frequency);
        let width = frequencies.map(|frequency| frequency_text(frequency).len()).max().unwrap_or_default();
        let row = |(name, topic): (&String, &Topic)| {
            let frequency = match topic.frequency {
                Some(frequency) => format!(" @ {:>width$}", frequency_text(frequency)),
                None => format!("   {:width$}", ""),
            };
            let types = format!("{:<types_width$}{}", topic.type_names(), topic.notes());
            (name.clone(), topic.messages, format!("{frequency} : {types}"))
        };
        counted_lines(&self.topics.iter().map(row).collect::<Vec<_>>(), "msg")
    }
}

impl Topic {
    /// The types: in most bags there is one.
    pub(super) fn type_names(&self) -> String {
        self.types.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

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
        (name.clone(), calls.events, format!("    : {}", types.join(", ")))
    };
    counted_lines(&calls.iter().map(row).collect::<Vec<_>>(), "event")
}

/// A line for each name, with a number of things and a text behind it, in columns as `rosbag info` has them.
fn counted_lines(rows: &[(String, u64, String)], unit: &str) -> Vec<String> {
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or_default();
    let digits = rows.iter().map(|(_, count, _)| count.to_string().len()).max().unwrap_or_default();
    let line = |(name, count, text): &(String, u64, String)| {
        let plural = if *count > 1 { "s" } else { " " };
        format!("{name:<width$}   {count:>digits$} {unit}{plural}{text}")
    };
    rows.iter().map(line).collect()
}

fn percentage(part: u64, whole: u64) -> String {
    format!("{:.2}%", 100.0 * part as f64 / whole.max(1) as f64)
}

fn right_aligned(texts: [String; 2]) -> [String; 2] {
    let width = texts.iter().map(String::len).max().unwrap_or_default();
    texts.map(|text| format!("{text:>width$}"))
}
