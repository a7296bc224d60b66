//! The text of `ros2 bag info`. Actions have the layout of Kilted; a bag without them has that of Jazzy, too.

use super::description::{Action, Description, Entry};
use crate::bag::info::times::{Date, date};
use crate::bag::quantity::size;
use crate::output::shown;

/// Columns before the values.
const INDENT: usize = 19;

/// The services of an action, in their order.
const ACTION_SERVICES: [&str; 3] = ["send_goal", "cancel_goal", "get_result"];

impl Description {
    /// The whole text.
    pub(super) fn text(&self) -> String {
        let (start, end) = self.times;
        let messages = self.topics.iter().map(|topic| topic.count).fold(0, u64::saturating_add);
        let distro = if self.ros_distro.is_empty() { "unknown" } else { &self.ros_distro };
        let topics = self.topics.iter().map(|topic| self.topic_line(topic)).collect();
        let files: Vec<String> = self.files.iter().map(|file| shown(file).into_owned()).collect();
        let mut text = "\n".to_owned();
        text += &rows("Files:", INDENT, &files);
        text += &rows("Bag size:", INDENT, &[size(self.len)]);
        text += &rows("Storage id:", INDENT, &[self.storage.to_owned()]);
        text += &rows("ROS Distro:", INDENT, &[shown(distro).into_owned()]);
        text += &rows("Duration:", INDENT, &[format!("{}s", seconds(end.saturating_sub(start)))]);
        text += &rows("Start:", INDENT, &[time(start)]);
        text += &rows("End:", INDENT, &[time(end)]);
        text += &rows("Messages:", INDENT, &[messages.to_string()]);
        text += &rows("Topic information:", INDENT, &or_empty_line(topics));
        text + &self.services_text() + &self.actions_text()
    }

    fn services_text(&self) -> String {
        let services: Vec<String> = self.services.iter().map(|service| self.service_line(service)).collect();
        let count = rows("Service:", INDENT, &[services.len().to_string()]);
        let end = if services.is_empty() { "" } else { "\n" };
        count + &rows("Service information:", INDENT + 2, &or_empty_line(services)) + end
    }

    /// Only if there are actions: releases before Kilted do not know them.
    fn actions_text(&self) -> String {
        if self.actions.is_empty() {
            return String::new();
        }
        let actions: String = self.actions.iter().map(|action| self.action_lines(action)).collect();
        rows("Actions:", INDENT, &[self.actions.len().to_string()])
            + "Action information: \n"
            + &actions
            + "\n"
    }

    fn topic_line(&self, topic: &Entry) -> String {
        let count = format!("Count: {}", topic.count);
        self.line("Topic", topic, &[count])
    }

    fn service_line(&self, service: &Entry) -> String {
        self.line("Service", service, &[self.events(service)])
    }

    /// An action, and below it its topics and services.
    fn action_lines(&self, action: &Action) -> String {
        let parts = ["Topics: 2".to_owned(), "Service: 3".to_owned()];
        let mut text = format!("  {}\n", self.line("Action", &action.all, &parts));
        text += &format!("    Topic: feedback | Count: {}\n", action.feedback);
        text += &format!("    Topic: status | Count: {}\n", action.status);
        for name in ACTION_SERVICES {
            let events = self.events(action.services.get(name).unwrap_or(&Entry::default()));
            text += &format!("    Service: {name} | {events}\n");
        }
        text
    }

    /// The fields of a line.
    fn line(&self, kind: &str, entry: &Entry, counts: &[String]) -> String {
        let Entry { name, type_name, serialization, len, .. } = entry;
        let mut fields = vec![format!("{kind}: {}", shown(name)), format!("Type: {}", shown(type_name))];
        fields.extend_from_slice(counts);
        fields.extend(self.is_read.then(|| format!("Size Contribution: {}", size(*len))));
        fields.push(format!("Serialization Format: {}", shown(serialization)));
        fields.join(" | ")
    }

    /// Events of a service: each call has up to four.
    fn events(&self, service: &Entry) -> String {
        let Entry { calls, count, .. } = service;
        match self.is_read {
            true => format!("Request Count: {} | Response Count: {}", calls.requests, calls.responses),
            false => format!("Event Count: {count}"),
        }
    }
}

/// The lines, or an empty one without any.
fn or_empty_line(lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() { vec![String::new()] } else { lines }
}

/// A line for each value, the first behind the name.
fn rows(name: &str, indent: usize, values: &[String]) -> String {
    let row = |(index, value): (usize, &String)| {
        let name = if index == 0 { name } else { "" };
        // A name may be as long as the columns before the values: one space is behind it.
        let name = format!("{name} ");
        format!("{name:<indent$}{value}\n")
    };
    values.iter().enumerate().map(row).collect()
}

fn seconds(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

fn time(nanos: u64) -> String {
    let Date { month, day, year, time } = date(nanos);
    let fraction = nanos % 1_000_000_000;
    format!("{month} {day:>2} {year} {time}.{fraction:09} ({})", seconds(nanos))
}
