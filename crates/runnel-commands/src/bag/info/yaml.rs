//! YAML as `rosbag info --yaml` prints it.

use super::BagInfo;
use super::times::in_seconds;
use crate::output::shown;

/// A value of the YAML.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Scalar(String),
    /// Mappings of scalars.
    List(Vec<Vec<Member>>),
}

/// A key and a scalar.
pub(super) type Member = (&'static str, String);

impl BagInfo {
    /// As `rosbag info --yaml` prints it.
    pub(super) fn yaml(&self) -> String {
        self.members().iter().map(|(key, value)| member_text(key, value)).collect()
    }

    /// The keys and values of the YAML, in its order.
    pub(super) fn members(&self) -> Vec<(&'static str, Value)> {
        let (key, format) = self.format();
        let mut members = vec![("path", self.path.clone()), (key, format)];
        if self.is_empty() {
            members.extend([("size", self.summary.len.to_string()), ("indexed", "False".to_owned())]);
            return members.into_iter().map(scalar).collect();
        }
        if let (Some(start), Some(end)) = (self.summary.start, self.summary.end) {
            let [start, end] = [start, end].map(in_seconds);
            let times = [("duration", end - start), ("start", start), ("end", end)];
            members.extend(times.map(|(key, seconds)| (key, format!("{seconds:.6}"))));
        }
        members.push(("size", self.summary.len.to_string()));
        members.push(("messages", self.messages().to_string()));
        members.push(("indexed", if self.summary.is_finished { "True" } else { "False" }.to_owned()));
        let usual = self.compressions().first().map_or("none", |(compression, _)| compression.name());
        members.push(("compression", usual.to_owned()));
        if let Some((stored, decompressed)) = self.compressed_lengths() {
            members.push(("uncompressed", decompressed.to_string()));
            members.push(("compressed", stored.to_string()));
        }
        let mut members: Vec<_> = members.into_iter().map(scalar).collect();
        members.push(("types", Value::List(self.type_members())));
        members.push(("topics", Value::List(self.topic_members())));
        members
    }

    fn type_members(&self) -> Vec<Vec<Member>> {
        let members = |(name, sum): (&str, &str)| vec![("type", name.to_owned()), ("md5", sum.to_owned())];
        self.types().into_iter().map(members).collect()
    }

    fn topic_members(&self) -> Vec<Vec<Member>> {
        let topics = self.topics.iter().map(|(name, topic)| {
            let messages = topic.messages.to_string();
            let mut members =
                vec![("topic", name.clone()), ("type", topic.type_names()), ("messages", messages)];
            members.extend((topic.channels > 1).then(|| ("connections", topic.channels.to_string())));
            members.extend(topic.frequency.map(|frequency| ("frequency", format!("{frequency:.4}"))));
            members
        });
        topics.collect()
    }
}

fn scalar((key, value): Member) -> (&'static str, Value) {
    (key, Value::Scalar(value))
}

fn member_text(key: &str, value: &Value) -> String {
    match value {
        Value::Scalar(text) => format!("{key}: {}\n", shown(text)),
        Value::List(mappings) => {
            let mapping = |members: &Vec<Member>| {
                let lines = members.iter().map(|(key, text)| format!("{key}: {}\n", shown(text)));
                format!("    - {}", lines.collect::<Vec<_>>().join("      "))
            };
            format!("{key}:\n{}", mappings.iter().map(mapping).collect::<String>())
        }
    }
}
