//! What is shown of a recording: a line while it runs, and the result.

use std::time::Duration;

use runnel_io::clock;
use serde_json::{Map, Value as Json, json};

use super::output;
use super::recorder::Progress;
use super::sink::Counts;
use crate::bag::files::folder;
use crate::bag::quantity::size;
use crate::output::{counted, lines, listed};

/// One of the numbers.
type Count = fn(&Counts) -> u64;

/// Most topics with losses that are named.
const MOST_NAMED: usize = 3;

/// The speed of a recording, from one look to the next.
#[derive(Debug, Default)]
pub struct Speed {
    last: Option<(Duration, u64)>,
}

impl Speed {
    /// Bytes per second since the last look, for a length at this time after the start.
    pub fn update(&mut self, at: Duration, len: u64) -> f64 {
        let (before, last) = self.last.replace((at, len)).unwrap_or_default();
        let seconds = at.saturating_sub(before).as_secs_f64();
        if seconds > 0.0 { len.saturating_sub(last) as f64 / seconds } else { 0.0 }
    }
}

impl Progress {
    /// The sums of all topics.
    pub fn total(&self) -> Counts {
        self.topics.values().fold(Counts::default(), |sum, counts| sum.plus(*counts))
    }

    /// Bytes that are free on the disk of the bag.
    fn free(&self) -> Option<u64> {
        output::space(folder(self.files.last()?)).map(|space| space.free)
    }

    /// The line while it runs.
    pub fn line(&self, elapsed: Duration, speed: f64, is_paused: bool) -> String {
        let total = self.total();
        let mut parts = vec![
            format!("{:.1} s", elapsed.as_secs_f64()),
            counted(total.messages, "message"),
            format!("{} ({}/s)", size(self.len), size(speed as u64)),
            format!("lost {}", total.absent()),
        ];
        parts.extend(self.free().map(|free| format!("free {}", size(free))));
        let state = if is_paused { "paused" } else { "recording" };
        format!("{state} {}", parts.join(", "))
    }

    /// The same for programs.
    pub fn json(&self, elapsed: Duration) -> Json {
        json!({
            "seconds": elapsed.as_secs_f64(),
            "time": clock::realtime().as_secs_f64(),
            "messages": self.total().messages,
            "bytes": self.len,
            "lost": self.total().absent(),
            "free": self.free(),
        })
    }

    /// The result.
    pub fn result(&self, elapsed: Duration) -> String {
        let messages = counted(self.total().messages, "message");
        let topics = counted(self.topics.len() as u64, "topic");
        let head =
            format!("recorded {messages} of {topics} in {:.1} s: {}", elapsed.as_secs_f64(), size(self.len));
        let files = self.files.iter().map(|file| format!("  {}", file.display()));
        let losses: [(&str, Count); 3] = [
            ("lost before they arrived", Counts::lost),
            ("dropped, since the disk was too slow", |counts| counts.dropped),
            ("not stored", |counts| counts.refused),
        ];
        let losses = losses.iter().filter_map(|(what, of)| self.loss(what, *of));
        lines([head].into_iter().chain(files).chain(losses))
    }

    /// A line about lost messages, if there are any.
    fn loss(&self, what: &str, of: Count) -> Option<String> {
        let lost = self.topics.iter().map(|(topic, counts)| (topic, of(counts)));
        let mut lost: Vec<(&String, u64)> = lost.filter(|(_, count)| *count > 0).collect();
        lost.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let sum = lost.iter().map(|(_, count)| count).sum::<u64>();
        let named: Vec<String> = lost.iter().map(|(topic, count)| format!("{topic} {count}")).collect();
        (sum > 0).then(|| format!("{} {what}: {}", counted(sum, "message"), listed(&named, MOST_NAMED)))
    }

    /// The result for programs.
    pub fn result_json(&self, elapsed: Duration) -> Json {
        let topics = self.topics.iter().map(|(topic, counts)| (topic.clone(), counts.to_json()));
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        json!({
            "files": files,
            "seconds": elapsed.as_secs_f64(),
            "messages": self.total().messages,
            "bytes": self.len,
            "topics": topics.collect::<Map<_, _>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        let counts = |messages, missing, dropped, refused| Counts {
            messages,
            missing,
            dropped,
            refused,
            ..Counts::default()
        };
        let topics = [("/a", counts(1, 0, 0, 0)), ("/b", counts(2, 5, 3, 0)), ("/c", counts(0, 0, 0, 4))];
        Progress {
            topics: topics.into_iter().map(|(name, counts)| (name.to_owned(), counts)).collect(),
            len: 3 << 20,
            files: vec!["/x.mcap".into()],
        }
    }

    #[test]
    fn result_names_losses_by_reason() {
        let expected = "recorded 3 messages of 3 topics in 1.5 s: 3.0 MiB\n  /x.mcap\n2 messages lost before they \
                        arrived: /b 2\n3 messages dropped, since the disk was too slow: /b 3\n4 messages not stored: /c 4\n";
        assert_eq!(progress().result(Duration::from_millis(1500)), expected);
        let json = progress().result_json(Duration::from_millis(1500));
        assert_eq!(
            json["topics"]["/b"],
            json!({"messages": 2, "bytes": 0, "lost": 2, "dropped": 3, "refused": 0})
        );
    }

    #[test]
    fn line_has_rate_loss_and_free_disk() {
        let line = progress().line(Duration::from_millis(1500), 2048.0, false);
        assert!(
            line.starts_with("recording 1.5 s, 3 messages, 3.0 MiB (2.0 KiB/s), lost 9, free "),
            "{line}"
        );
    }

    #[test]
    fn speed_is_that_since_the_last_look() {
        let mut speed = Speed::default();
        let at = Duration::from_secs;
        assert_eq!(
            [speed.update(at(1), 10), speed.update(at(3), 50), speed.update(at(3), 50)],
            [10.0, 20.0, 0.0]
        );
    }
}
