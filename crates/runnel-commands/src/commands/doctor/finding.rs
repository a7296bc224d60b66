//! What is wrong, as the user is told.

use serde_json::{Value as Json, json};

use crate::output::shown;

/// How wide the text is, in columns.
const WIDTH: usize = 80;

/// The longest text of a finding, in characters: parts of it are what peers say.
const LONGEST: usize = 1000;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Messages or calls do not arrive.
    Error,
    /// They may not, or not as they should.
    Warning,
    /// What may be as it should.
    Info,
}

/// What a finding is about, in the order in which findings are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// This process and the master.
    Here,
    Node,
    Topic,
    Link,
    Service,
    Clock,
}

/// One thing that is wrong. The order is that in which findings are told: the gravest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub severity: Severity,
    pub area: Area,
    /// Who it is about: a variable, a node, a topic, a service.
    pub who: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub advice: String,
}

impl Severity {
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl Area {
    fn word(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Node => "node",
            Self::Topic => "topic",
            Self::Link => "link",
            Self::Service => "service",
            Self::Clock => "clock",
        }
    }
}

impl Finding {
    pub fn error(area: Area, who: impl Into<String>, what: impl Into<String>, advice: &str) -> Self {
        Self::new(Severity::Error, area, who, what, advice)
    }

    pub fn warning(area: Area, who: impl Into<String>, what: impl Into<String>, advice: &str) -> Self {
        Self::new(Severity::Warning, area, who, what, advice)
    }

    pub fn info(area: Area, who: impl Into<String>, what: impl Into<String>, advice: &str) -> Self {
        Self::new(Severity::Info, area, who, what, advice)
    }

    pub fn new(
        severity: Severity,
        area: Area,
        who: impl Into<String>,
        what: impl Into<String>,
        advice: &str,
    ) -> Self {
        Self { severity, area, who: clean(&who.into()), what: clean(&what.into()), advice: advice.to_owned() }
    }

    /// What is wrong and, on lines of its own, what to do.
    pub fn text(&self) -> String {
        let Self { severity, who, what, advice, .. } = self;
        let mut text = wrapped(&format!("{}: {who}: {what}", severity.word()), "", "    ");
        if !advice.is_empty() {
            text += &wrapped(advice, "  -> ", "     ");
        }
        text
    }

    pub fn json(&self) -> Json {
        let Self { severity, area, who, what, advice } = self;
        let (severity, area) = (severity.word(), area.word());
        json!({ "severity": severity, "area": area, "who": who, "what": what, "advice": advice })
    }
}

/// What may be printed on a terminal, of a bounded length.
fn clean(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => shown(text.get(..end).unwrap_or_default()).into_owned() + " ..",
        None => shown(text).into_owned(),
    }
}

/// The words on lines of at most [`WIDTH`] columns. A word that is longer has a line of its own.
pub fn wrapped(words: &str, first: &str, indent: &str) -> String {
    let (mut text, mut line) = (String::new(), first.to_owned());
    let mut begins = true;
    for word in words.split_whitespace() {
        if !begins && line.chars().count() + 1 + word.chars().count() > WIDTH {
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
    fn a_finding_is_told_in_80_columns_with_what_to_do_below() {
        let what =
            "http://127.0.0.1:40001/ takes no connection any more: its process ended without unregistering";
        let text = Finding::error(Area::Node, "/talker", what, "runnel node cleanup").text();
        let expected = "error: /talker: http://127.0.0.1:40001/ takes no connection any more: its\n    \
                        process ended without unregistering\n  -> runnel node cleanup\n";
        assert_eq!(text, expected);
        let long = Finding::info(Area::Topic, "/t", "x".repeat(100), "").text();
        assert_eq!(long.lines().count(), 2);
    }

    #[test]
    fn what_a_peer_says_is_bounded_and_cannot_paint_the_terminal() {
        let said = format!("\u{1b}[2Jno\n{}", "x".repeat(1_000_000));
        let finding = Finding::error(Area::Topic, "/t", said, "");
        assert!(
            finding.what.starts_with("\\x1b[2Jno\\nx") && finding.what.ends_with("x .."),
            "{}",
            finding.what
        );
        assert_eq!(finding.what.chars().count(), LONGEST + 3 + 3 + 1, "two characters are escaped");
    }

    #[test]
    fn the_gravest_comes_first_and_of_one_kind_the_nearest() {
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
