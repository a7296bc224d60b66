//! Format of log lines.

use runnel_core::sanitize;
use runnel_core::time::Time;

use super::{Level, Place};

/// The default template.
pub(crate) const DEFAULT_TEMPLATE: &str = "[${severity}] [${time}] [${node}]: ${message}";

/// One line of a node's log.
pub(crate) struct Line<'a> {
    pub(crate) level: Level,
    pub(crate) wall: Time,
    /// The simulated time, if the node uses it.
    pub(crate) simulated: Option<Time>,
    pub(crate) node: &'a str,
    pub(crate) logger: &'a str,
    pub(crate) place: Place<'a>,
    pub(crate) text: &'a str,
}

impl Line<'_> {
    /// The line in the format of a template: `${severity}`, `${time}`, `${node}`, `${logger}`, `${message}`,
    /// `${file}`, `${line}`, `${function}` and `${thread}` are replaced as in roscpp's `ROSCONSOLE_FORMAT`. The values
    /// are sanitized, since a program logs text of peers. The template is the user's own and may contain colours.
    pub(crate) fn render(&self, template: &str) -> String {
        let mut out = String::with_capacity(template.len() + self.text.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let Some((word, behind)) = after.split_once('}') else {
                rest = &rest[before.len()..];
                break;
            };
            self.append(word, &mut out);
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    /// Appends the value of a placeholder. Unknown ones stay unchanged.
    fn append(&self, word: &str, out: &mut String) {
        match word {
            "severity" => out.push_str(self.level.name()),
            "walltime" => out.push_str(&self.wall.to_string()),
            "time" => {
                out.push_str(&self.wall.to_string());
                if let Some(simulated) = self.simulated {
                    out.push_str(", ");
                    out.push_str(&simulated.to_string());
                }
            }
            "node" => out.push_str(&sanitize::one_line(self.node)),
            "logger" => out.push_str(&sanitize::one_line(self.logger)),
            "message" => out.push_str(&sanitize::log_text(self.text)),
            "file" => out.push_str(self.place.file),
            "line" => out.push_str(&self.place.line.to_string()),
            "function" => out.push_str(self.place.function),
            "thread" => out.push_str(std::thread::current().name().unwrap_or_default()),
            unknown => {
                out.push_str("${");
                out.push_str(unknown);
                out.push('}');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        let place = Place { file: "src/main.rs", line: 7, function: "talker" };
        let wall = Time::from_nanos(1_700_000_000_000_000_042);
        Line { level: Level::Warn, wall, simulated: None, node: "/talker", logger: "ros.driver", place, text }
    }

    #[test]
    fn placeholders_of_template_are_replaced() {
        let default = line("low battery").render(DEFAULT_TEMPLATE);
        assert_eq!(default, "[WARN] [1700000000.000000042] [/talker]: low battery");
        let simulated = Line { simulated: Some(Time::from_nanos(7)), ..line("x") };
        assert_eq!(
            simulated.render("${time}|${walltime}"),
            "1700000000.000000042, 0.000000007|1700000000.000000042"
        );
        let all = line("x").render("${file}:${line} ${function} ${logger}|${message}");
        assert_eq!(all, "src/main.rs:7 talker ros.driver|x");
    }

    #[test]
    fn message_cannot_steer_terminal_or_forge_line() {
        let forged = line("a\x1b[2J\u{202e}\n[ERROR] [1.0] [/other]: b").render(DEFAULT_TEMPLATE);
        let shown =
            "[WARN] [1700000000.000000042] [/talker]: a\\x1b[2J\\u{202e}\n    [ERROR] [1.0] [/other]: b";
        assert_eq!(forged, shown);
        assert_eq!(
            line("x").render("\x1b[1m${message}\x1b[0m"),
            "\x1b[1mx\x1b[0m",
            "the template is the user's"
        );
    }

    #[test]
    fn unknown_placeholders_stay_unchanged() {
        for template in ["", "$", "${", "a ${message", "${what}", "100 %"] {
            assert_eq!(line("x").render(template), template);
        }
        assert_eq!(line("${node}").render("${message}"), "${node}", "a text is no template");
    }
}
