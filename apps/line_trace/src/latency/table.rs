//! Latency table for the terminal.

use super::join::Joined;
use super::statistics::Statistics;
use std::fmt::Write;

/// Widths of the label column and of each figure column: together 79.
const LABEL: usize = 25;
const FIGURE: usize = 9;

/// A published average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// What was measured.
    pub label: &'static str,
    /// Average latency of `/light_sensors`, microseconds.
    pub average: f64,
}

/// Averages for `/light_sensors` from the 2024 thesis on mROS 2-POSIX and mROS 2-Wasm, whose application this robot
/// is. They were measured on the thesis's own computers.
pub const PUBLISHED: [Published; 3] = [
    Published { label: "mROS 2-POSIX", average: 657.0 },
    Published { label: "mROS 2-Wasm", average: 2102.0 },
    Published { label: "ROS 2", average: 733.0 },
];

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured, such as the transport; shown up to 24 characters.
    pub label: String,
    /// The measured messages.
    pub joined: Joined,
}

/// The topic that [`PUBLISHED`] refers to.
pub const PUBLISHED_TOPIC: &str = "/light_sensors";

/// The table of these rows for `topic`, with the median first; lines of at most 80 columns.
pub fn table(topic: &str, rows: &[Row]) -> String {
    let mut text = format!("One-way latency of {}, microseconds\n", cut(topic, 45));
    let heads = ["median", "p99", "min", "max", "average", "std dev"].map(str::to_owned);
    push_line(&mut text, "", &heads);
    for row in rows {
        push_line(&mut text, &row.label, &figures(&row.joined));
    }
    for row in rows {
        push_counts(&mut text, row);
    }
    text
}

fn figures(joined: &Joined) -> [String; 6] {
    match Statistics::of(&joined.latencies_ns) {
        Some(of) => [of.median, of.p99, of.min, of.max, of.average, of.deviation].map(figure),
        None => std::array::from_fn(|_| dash()),
    }
}

fn push_line(text: &mut String, label: &str, figures: &[String; 6]) {
    let mut line = format!("{:<LABEL$}", cut(label, LABEL - 1));
    for figure in figures {
        line.push_str(&format!("{figure:>FIGURE$}"));
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Appends how many messages the figures cover, and how many they leave out.
fn push_counts(text: &mut String, row: &Row) {
    let Joined { latencies_ns, unmatched, missing } = &row.joined;
    let counts = format!("{} messages, {missing} lost, {unmatched} unmatched", latencies_ns.len());
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}: {}", cut(&row.label, LABEL - 1), cut(&counts, 53));
}

/// Microseconds in at most eight characters.
fn figure(microseconds: f64) -> String {
    match microseconds {
        few if few < 999.95 => format!("{few:.1}"),
        many if many < 9_999_999.5 => format!("{many:.0}"),
        excessive => format!("{excessive:.1e}"),
    }
}

fn dash() -> String {
    "-".to_owned()
}

fn cut(text: &str, columns: usize) -> String {
    text.chars().take(columns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str, latencies_ns: Vec<u64>) -> Row {
        Row { label: label.to_owned(), joined: Joined { latencies_ns, unmatched: 1, missing: 2 } }
    }

    #[test]
    fn median_comes_first_and_unmeasured_is_omitted() {
        let text = table("/light_sensors", &[row("Runnel, ROS 2", vec![10_000, 20_000, 60_000])]);
        let line = |number: usize| text.lines().nth(number).unwrap()[LABEL..].split_whitespace();
        assert_eq!(line(1).collect::<Vec<_>>()[..5], ["median", "p99", "min", "max", "average"]);
        assert_eq!(line(2).collect::<Vec<_>>(), ["20.0", "60.0", "10.0", "60.0", "30.0", "21.6"]);
        assert_eq!(text.lines().nth(3), Some("Runnel, ROS 2: 3 messages, 2 lost, 1 unmatched"));
        assert_eq!(text.lines().count(), 4, "{text}");
    }

    #[test]
    fn columns_are_right_aligned_under_headings() {
        let text = table("/leds", &[row("a", vec![1_234_567; 2])]);
        let ends = |line: &str, heading: &str| line.find(heading).unwrap() + heading.len();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(ends(lines[1], "median"), ends(lines[2], "1235"));
        assert_eq!(ends(lines[1], "std dev"), lines[2].len());
    }

    #[test]
    fn no_line_is_wider_than_80_columns() {
        let rows = [row(&"long ".repeat(20), vec![u64::MAX, 0]), row("nothing", Vec::new())];
        let text = table(&"/very".repeat(30), &rows);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn row_without_messages_has_no_figures() {
        let text = table("/leds", &[row("nothing", Vec::new())]);
        let figures = text.lines().nth(2).unwrap()[LABEL..].split_whitespace().collect::<Vec<_>>();
        assert_eq!(figures, ["-"; 6]);
    }
}
