//! Trace of the last events, printed by a failed test.

use std::collections::VecDeque;
use std::fmt;

use runnel_core::time::Instant;

/// Lines kept.
const KEPT: usize = 120;

/// Bytes shown of each segment.
const SHOWN: usize = 60;

/// Bytes of a request that are searched for its method.
const SEARCHED: usize = 600;

/// The last lines, oldest first.
#[derive(Debug, Default)]
pub(super) struct Trace {
    lines: VecDeque<(Instant, String)>,
    gone: u64,
}

impl Trace {
    pub(super) fn note(&mut self, now: Instant, line: String) {
        if self.lines.len() == KEPT {
            self.lines.pop_front();
            self.gone += 1;
        }
        self.lines.push_back((now, line));
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the last of {} events:", self.gone + self.lines.len() as u64)?;
        for (at, line) in &self.lines {
            writeln!(f, "{:>12.6} s  {line}", at.0 as f64 / 1e9)?;
        }
        Ok(())
    }
}

/// Short form of a segment: a call by its method, other bytes by their beginning.
pub(super) fn brief(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(SEARCHED)];
    match method(head) {
        Some(method) => format!("{method} ({} B)", bytes.len()),
        None => format!("{} ({} B)", head[..head.len().min(SHOWN)].escape_ascii(), bytes.len()),
    }
}

fn method(request: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(request).ok()?;
    let (_, rest) = text.split_once("<methodName>")?;
    rest.split_once('<').map(|(method, _)| method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_shown_by_method() {
        assert_eq!(brief(b"POST / ..<methodName>getPid</methodName>"), "getPid (40 B)");
        assert_eq!(brief(&[0, b'a']), "\\x00a (2 B)");
        assert!(brief(&[b'x'; 1000]).ends_with("x (1000 B)") && brief(&[b'x'; 1000]).len() < 80);
    }

    #[test]
    fn last_lines_are_kept_and_all_counted() {
        let mut trace = Trace::default();
        (0..KEPT + 5).for_each(|number| trace.note(Instant(0), format!("line {number}")));
        let text = trace.to_string();
        assert!(
            text.contains("of 125 ") && !text.contains("line 4\n") && text.contains("line 5\n"),
            "{text}"
        );
    }
}
