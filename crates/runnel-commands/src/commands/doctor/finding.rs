//! Findings, and their text for the user.

use std::io::{self, IsTerminal};

use rustix::termios::tcgetwinsize;
use serde_json::{Value as Json, json};

use crate::output::shown;

/// Width of the text where no terminal has another, in columns.
pub const WIDTH: usize = 80;

/// Limits of the width on a terminal: longer lines are hard to read.
const NARROWEST: usize = 40;
const WIDEST: usize = 200;

/// Longest text of a finding, in characters: parts of it come from peers.
const LONGEST: usize = 1000;

/// How severe a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Messages or calls do not arrive.
    Error,
    /// Messages or calls may not arrive, or not as intended.
    Warning,
    /// This may be intended.
    Info,
}

/// The subject area of a finding, in the order of printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// This process and the master.
    Here,
    /// The ROS 2 network.
    Network,
    Node,
    Topic,
    Link,
    /// What joins both graphs.
    Bridge,
    Service,
    Clock,
}

/// One finding. The order is that of printing: the most severe first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub severity: Severity,
    pub area: Area,
    /// The subject: a variable, a node, a topic, a service.
    pub subject: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub advice: String,
    /// The graph that it is about, if it is one.
    pub graph: Option<&'static str>,
}

impl Severity {
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl Area {
    fn name(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Network => "network",
            Self::Node => "node",
            Self::Topic => "topic",
            Self::Link => "link",
            Self::Bridge => "bridge",
            Self::Service => "service",
            Self::Clock => "clock",
        }
    }
}

impl Finding {
    pub fn error(area: Area, subject: impl Into<String>, what: impl Into<String>, advice: &str) -> Self {
        Self::new(Severity::Error, area, subject, what, advice)
    }

    pub fn warning(area: Area, subject: impl Into<String>, what: impl Into<String>, advice: &str) -> Self {
        Self::new(Severity::Warning, area, subject, what, advice)
    }

    pub fn info(area: Area, subject: impl Into<String>, what: impl Into<String>, advice: &str) -> Self {
        Self::new(Severity::Info, area, subject, what, advice)
    }

    pub fn new(
        severity: Severity,
        area: Area,
        subject: impl Into<String>,
        what: impl Into<String>,
        advice: &str,
    ) -> Self {
        Self {
            severity,
            area,
            subject: clean(&subject.into()),
            what: clean(&what.into()),
            advice: clean(advice),
            graph: None,
        }
    }

    /// The same finding about the ROS 1 graph.
    #[must_use]
    pub fn in_ros1(self) -> Self {
        Self { graph: Some("ROS 1"), ..self }
    }

    /// The same finding about the ROS 2 graph.
    #[must_use]
    pub fn in_ros2(self) -> Self {
        Self { graph: Some("ROS 2"), ..self }
    }

    /// The finding in lines of at most `width` columns, with the advice on lines of its own. `names_graph`: also which
    /// graph it is about.
    pub fn text(&self, width: usize, names_graph: bool) -> String {
        let Self { severity, subject, what, advice, .. } = self;
        let graph =
            self.graph.filter(|_| names_graph).map_or_else(String::new, |graph| format!(" ({graph})"));
        let mut text =
            wrapped(&format!("{}: {subject}{graph}: {what}", severity.name()), width, ["", "    "]);
        if !advice.is_empty() {
            text += &wrapped(advice, width, ["  -> ", "     "]);
        }
        text
    }

    pub fn json(&self) -> Json {
        let Self { severity, area, subject, what, advice, graph } = self;
        let (severity, area) = (severity.name(), area.name());
        json!({
            "severity": severity, "area": area, "who": subject, "what": what, "advice": advice, "graph": graph,
        })
    }
}

/// A name as a word of a shell: quoted if it has characters that no name in ROS has.
pub fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_~.-:=".contains(c);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

/// Text that is safe on a terminal, with a limited length.
fn clean(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => shown(text.get(..end).unwrap_or_default()).into_owned() + " ..",
        None => shown(text).into_owned(),
    }
}

/// The width of standard output, in columns.
pub fn width() -> usize {
    let output = io::stdout();
    let columns = || Some(usize::from(tcgetwinsize(&output).ok()?.ws_col)).filter(|columns| *columns > 0);
    let columns = if output.is_terminal() { columns() } else { None };
    columns.map_or(WIDTH, |columns| columns.clamp(NARROWEST, WIDEST))
}

/// Words wrapped into lines of at most `width` columns, which begin with these indents. A longer word has a line of its
/// own.
pub fn wrapped(words: &str, width: usize, [first, indent]: [&str; 2]) -> String {
    let (mut text, mut line) = (String::new(), first.to_owned());
    let mut begins = true;
    for word in words.split_whitespace() {
        if !begins && line.chars().count() + 1 + word.chars().count() > width {
            text += &line;
            text.push('\n');
            (line, begins) = (indent.to_owned(), true);
        }
        if !begins {
            line.push(' ');
        }
        line.push_str(word);
        begins = false;
    }
    text + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_fits_the_width_with_advice_below() {
        let what =
            "http://127.0.0.1:40001/ takes no connection any more: its process ended without unregistering";
        let text = Finding::error(Area::Node, "/talker", what, "runnel node cleanup").text(WIDTH, true);
        let expected = "error: /talker: http://127.0.0.1:40001/ takes no connection any more: its\n    \
                        process ended without unregistering\n  -> runnel node cleanup\n";
        assert_eq!(text, expected);
        let long = Finding::info(Area::Topic, "/t", "x".repeat(100), "").text(WIDTH, true);
        assert_eq!(long.lines().count(), 2);
        let wide = Finding::error(Area::Node, "/talker", what, "runnel node cleanup").text(200, true);
        assert_eq!(wide.lines().count(), 2, "{wide}");
    }

    #[test]
    fn graph_is_named_if_there_are_two() {
        let finding = Finding::warning(Area::Node, "/a", "twice", "").in_ros2();
        assert_eq!(finding.text(WIDTH, false), "warning: /a: twice\n");
        assert_eq!(finding.text(WIDTH, true), "warning: /a (ROS 2): twice\n");
        assert_eq!(finding.json()["graph"], "ROS 2");
        let both = Finding::warning(Area::Topic, "/t", "nothing joins the graphs", "");
        assert_eq!(both.text(WIDTH, true), "warning: /t: nothing joins the graphs\n");
        assert_eq!(both.json()["graph"], Json::Null);
    }

    #[test]
    fn peer_text_is_bounded_and_sanitized() {
        let text = format!("\u{1b}[2Jno\n{}", "x".repeat(1_000_000));
        let finding = Finding::error(Area::Topic, "/t", text, "");
        assert!(
            finding.what.starts_with("\\x1b[2Jno\\nx") && finding.what.ends_with("x .."),
            "{}",
            finding.what
        );
        assert_eq!(finding.what.chars().count(), LONGEST + 3 + 3 + 1, "two characters are escaped");
    }

    #[test]
    fn odd_names_are_quoted_for_the_shell() {
        assert_eq!(shell_word("/a_b/c-1.x"), "/a_b/c-1.x");
        assert_eq!(shell_word("/a;rm 'x"), r"'/a;rm '\''x'");
        let finding = Finding::error(Area::Node, "", "", "\u{1b}[2J");
        assert_eq!(finding.advice, "\\x1b[2J");
    }

    #[test]
    fn findings_are_sorted_by_severity_and_area() {
        let finding = |severity, area| Finding::new(severity, area, "", "", "");
        let mut all = [
            finding(Severity::Info, Area::Here),
            finding(Severity::Error, Area::Clock),
            finding(Severity::Error, Area::Node),
            finding(Severity::Warning, Area::Topic),
        ];
        all.sort();
        let order: Vec<_> = all.iter().map(|finding| (finding.severity, finding.area)).collect();
        let expected = [
            (Severity::Error, Area::Node),
            (Severity::Error, Area::Clock),
            (Severity::Warning, Area::Topic),
            (Severity::Info, Area::Here),
        ];
        assert_eq!(order, expected);
    }
}
