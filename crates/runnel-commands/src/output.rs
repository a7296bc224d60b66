//! Standard output: text for people, JSON for programs.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value as Json;

use crate::error::CliError;

/// Set by an answer to people that says nothing.
static EMPTY: AtomicBool = AtomicBool::new(false);

/// Set once what the user asked for has been found, whatever comes of it.
static FOUND: AtomicBool = AtomicBool::new(false);

/// How a command answers.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// As JSON, one value a line.
    pub json: bool,
}

impl Output {
    /// Prints what a command has found in the form that is wanted. Text that is empty prints nothing.
    ///
    /// # Errors
    /// When standard output cannot be written, as all of these.
    pub fn answer(self, text: impl FnOnce() -> String, json: impl FnOnce() -> Json) -> Result<(), CliError> {
        if self.json {
            return self.json(&json());
        }
        let text = text();
        EMPTY.fetch_or(text.is_empty(), Ordering::Relaxed);
        self.text(&text)
    }

    /// Prints text, and a line end if it lacks one.
    pub fn text(self, text: &str) -> Result<(), CliError> {
        match text {
            "" => Ok(()),
            text if text.ends_with('\n') => write(text),
            text => write(&format!("{text}\n")),
        }
    }

    /// Prints text as it is.
    pub fn raw(self, text: &str) -> Result<(), CliError> {
        write(text)
    }

    /// Prints a line, which may be empty.
    pub fn line(self, line: &str) -> Result<(), CliError> {
        write(&format!("{line}\n"))
    }

    /// Prints one JSON value on a line of its own.
    pub fn json(self, value: &Json) -> Result<(), CliError> {
        write(&format!("{value}\n"))
    }

    /// Tells people what goes on, on standard error; programs are not told.
    pub fn note(self, text: &str) {
        if !self.json {
            // Nobody to tell is no reason to end.
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }
}

/// What the user asked for has been found: that an answer says nothing, or that something fails, has another reason.
pub fn note_found() {
    FOUND.store(true, Ordering::Relaxed);
}

/// True if it has.
pub fn was_found() -> bool {
    FOUND.load(Ordering::Relaxed)
}

/// True if people have got an answer of this process that says nothing: what they asked for was not found.
pub fn was_empty() -> bool {
    EMPTY.load(Ordering::Relaxed) && !was_found()
}

/// Writes all at once, so that lines of several threads do not mix, and lets go of it.
fn write(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Lines joined by line ends.
pub fn lines<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.as_ref());
        text.push('\n');
    }
    text
}

/// `1 error`, `2 errors`.
pub fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, word: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {word}{ending}")
}

/// How wide a table is at most, in columns, for the sake of one long row.
const TERMINAL: usize = 80;

/// Two columns, the second two spaces behind the longest of the first; where it is empty, the first stands alone. A row that
/// is wider than a terminal does not push the others out of it.
pub fn columns(rows: impl IntoIterator<Item = [String; 2]>) -> String {
    let rows: Vec<[String; 2]> = rows.into_iter().collect();
    let widths = |[first, second]: &[String; 2]| (first.chars().count(), second.chars().count());
    let fitting = rows.iter().map(widths).filter(|(first, second)| first + 2 + second <= TERMINAL);
    let width = fitting.map(|(first, _)| first).max().unwrap_or_default();
    lines(rows.iter().map(|[first, second]| format!("{first:<width$}  {second}").trim_end().to_owned()))
}

/// A table: columns as wide as their widest cell, two spaces between them. Numbers stand to the right: all columns
/// but the first.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(head.get(column).map(|name| name.len())).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    lines([&head].into_iter().chain(rows).map(|row| table_row(row, &widths)))
}

fn table_row(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).enumerate();
    let padded = cells.map(|(column, (cell, width))| match column {
        0 => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    });
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_there_is_no_plural() {
        let texts = [counted(0_usize, "warning"), counted(1_u64, "error"), counted(2_usize, "error")];
        assert_eq!(texts, ["0 warnings", "1 error", "2 errors"]);
    }

    #[test]
    fn a_row_that_is_too_long_does_not_push_the_others_aside() {
        let rows = |long: usize| [["a".repeat(long), "ROS 1, ROS 2".into()], ["b".into(), "ROS 2".into()]];
        assert_eq!(columns(rows(66)).lines().nth(1), Some(&*format!("{:66}  ROS 2", "b")));
        assert_eq!(columns(rows(67)), format!("{}  ROS 1, ROS 2\nb  ROS 2\n", "a".repeat(67)));
    }

    #[test]
    fn a_table_is_as_wide_as_its_cells() {
        let rows = [vec!["/a".to_owned(), "10.000".to_owned()], vec!["/longer".to_owned(), "9".to_owned()]];
        assert_eq!(table(&["topic", "rate"], &rows), "topic      rate\n/a       10.000\n/longer       9\n");
        assert_eq!(table(&["topic", "rate"], &[]), "topic  rate\n");
    }
}
