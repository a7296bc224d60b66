//! Format of log lines in ROS 2: that of `RCUTILS_CONSOLE_OUTPUT_FORMAT`.

use runnel_core::sanitize;
use runnel_core::time::Time;
use runnel_io::clock;

use super::format::Line;
use super::loggers::name_in_ros2;

/// The default template.
pub(crate) const DEFAULT_TEMPLATE: &str = "[{severity}] [{time}] [{name}]: {message}";

impl Line<'_> {
    /// The line in the format of a ROS 2 template: `{severity}`, `{time}`, `{time_as_nanoseconds}`,
    /// `{date_time_with_ms}`, `{name}`, `{message}`, `{function_name}`, `{file_name}` and `{line_number}` are replaced.
    /// Times are wall-clock times, also while time is simulated, as in rcutils. The values are sanitized.
    pub(crate) fn render_ros2(&self, template: &str) -> String {
        let mut out = String::with_capacity(template.len() + self.text.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let token = after.split_once('}').and_then(|(token, behind)| Some((self.value(token)?, behind)));
            match token {
                Some((value, behind)) => {
                    out.push_str(&value);
                    rest = behind;
                }
                // What is in an unknown pair of braces may contain a known one.
                None => {
                    out.push('{');
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        out
    }

    /// The value of a token; `None` if it is unknown.
    fn value(&self, token: &str) -> Option<String> {
        Some(match token {
            "severity" => self.level.name().to_owned(),
            "time" => self.wall.to_string(),
            "time_as_nanoseconds" => self.wall.as_nanos().to_string(),
            "date_time_with_ms" => date_time(self.wall),
            "name" => sanitize::one_line(&name_in_ros2(self.node, self.logger)).into_owned(),
            "message" => sanitize::log_text(self.text).into_owned(),
            "function_name" => self.place.function.to_owned(),
            "file_name" => self.place.file.to_owned(),
            "line_number" => self.place.line.to_string(),
            _ => return None,
        })
    }
}

/// A time in the local time zone, such as `2026-05-01 12:00:00.042`.
fn date_time(time: Time) -> String {
    let [year, month, day, hour, minute, second] = clock::local_date(time);
    let millis = time.nanosec / 1_000_000;
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03}")
}

#[cfg(test)]
mod tests {
    use super::super::{Level, Place};
    use super::*;

    fn line(text: &str) -> Line<'_> {
        let place = Place { file: "src/main.rs", line: 7, function: "talker" };
        let wall = Time::from_nanos(1_700_000_000_000_000_042);
        let node = "/robot/talker";
        Line { level: Level::Warn, wall, simulated: None, node, logger: "ros.driver", place, text }
    }

    #[test]
    fn tokens_of_ros2_template_are_replaced() {
        let default = line("low battery").render_ros2(DEFAULT_TEMPLATE);
        assert_eq!(default, "[WARN] [1700000000.000000042] [robot.talker.driver]: low battery");
        let all =
            line("x").render_ros2("{file_name}:{line_number} {function_name} {time_as_nanoseconds}{message}");
        assert_eq!(all, "src/main.rs:7 talker 1700000000000000042x");
    }

    #[test]
    fn simulated_time_does_not_change_line() {
        let simulated = Line { simulated: Some(Time::from_nanos(7)), ..line("x") };
        assert_eq!(simulated.render_ros2("{time}"), "1700000000.000000042");
    }

    #[test]
    fn unknown_tokens_stay_unchanged() {
        for template in ["", "{", "}", "{}", "a {message", "{what}", "100 %", "${}"] {
            assert_eq!(line("x").render_ros2(template), template);
        }
        assert_eq!(line("x").render_ros2("{what {message}}"), "{what x}");
        assert_eq!(line("{name}").render_ros2("{message}"), "{name}", "a text is no template");
    }

    #[test]
    fn message_cannot_steer_terminal() {
        let forged = line("a\x1b[2J\n[ERROR] [1.0] [other]: b").render_ros2("{name}: {message}");
        assert_eq!(forged, "robot.talker.driver: a\\x1b[2J\n    [ERROR] [1.0] [other]: b");
    }

    #[test]
    fn date_has_fixed_width() {
        let date = date_time(Time::from_nanos(1_700_000_000_042_000_000));
        assert_eq!(date.len(), "2023-11-14 22:13:20.042".len(), "{date}");
        assert!(date.starts_with("2023-11-1") && date.ends_with(":20.042"), "{date}");
    }
}
