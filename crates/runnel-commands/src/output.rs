//! Standard output and standard error: text for people, JSON for programs.
//!
//! All that commands write goes through here, where text from peers is sanitized: names, types, values and errors may hold
//! what a terminal would obey. Text for people shows such characters as escapes, JSON as its own escapes. What has one line,
//! such as a row, keeps it; what may have several, such as a message in YAML, is written with [`Output::text`] or
//! [`Output::paragraph`], and single values in it are put through [`shown`].

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use runnel::core::sanitize;
use serde_json::Value as Json;

use runnel::logging::Level;

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
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.unended(&format!("{text}{end}"))
    }

    /// Prints text of several lines, whatever it ends with, and a line end.
    pub fn paragraph(self, text: &str) -> Result<(), CliError> {
        self.unended(&format!("{text}\n"))
    }

    /// The same on a screen that is cleared first.
    pub fn paragraph_alone(self, text: &str) -> Result<(), CliError> {
        write(&format!("{CLEAR}{}\n", sanitize::block(text)))
    }

    /// Prints text of several lines, and no line end: a question, behind which the answer is typed.
    pub fn unended(self, text: &str) -> Result<(), CliError> {
        write(&sanitize::block(text))
    }

    /// Prints a line, which may be empty.
    pub fn line(self, line: &str) -> Result<(), CliError> {
        write(&format!("{}\n", shown(line)))
    }

    /// Prints a line of a log, whose later lines are marked as such, in the colour of its level if there is to be one.
    pub fn log_line(self, line: &str, colour: Option<Level>) -> Result<(), CliError> {
        let line = sanitize::log_text(line).into_owned();
        write(&(colour.map_or_else(|| line.clone(), |level| level.painted(line.clone())) + "\n"))
    }

    /// Prints one JSON value on a line of its own.
    pub fn json(self, value: &Json) -> Result<(), CliError> {
        write(&(json_text(value) + "\n"))
    }

    /// Tells people what goes on, on standard error; programs are not told.
    pub fn note(self, text: &str) {
        if !self.json {
            tell(text);
        }
    }
}

/// Clears the screen.
const CLEAR: &str = "\x1b[2J\x1b[;H";

/// A JSON value in text that is fit to be shown.
pub fn json_text(value: &Json) -> String {
    sanitize::json(&value.to_string()).into_owned()
}

/// What a peer says, on one line.
pub fn shown(text: &str) -> Cow<'_, str> {
    sanitize::one_line(text)
}

/// Tells the user on standard error. Later lines are marked as such.
pub fn tell(text: &str) {
    // Nobody to tell is no reason to end.
    let _ = writeln!(io::stderr().lock(), "{}", sanitize::log_text(text));
}

/// The same for a line of the log, in the colour of its level on a terminal.
pub fn tell_log(line: &str, level: Level) {
    let line = sanitize::log_text(line).into_owned();
    let coloured = std::env::var_os("NO_COLOR").is_none() && io::stderr().is_terminal();
    let line = if coloured { level.painted(line) } else { line };
    // As for tell.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints on standard output what comes from this program alone, such as help.
pub fn tell_own(text: &str) {
    // If nobody reads, there is nobody to tell.
    let _ = write(text);
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

/// Columns of one row with a tab between them, for [`Output::text`] or [`Output::paragraph`]: [`Output::line`] and [`lines`]
/// would show the tabs as escapes.
pub fn tabbed<const N: usize>(columns: [&str; N]) -> String {
    columns.map(shown).join("\t")
}

/// Rows, each on a line of its own.
pub fn lines<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&shown(line.as_ref()));
        text.push('\n');
    }
    text
}

/// `1 error`, `2 errors`.
pub fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, word: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {word}{ending}")
}

/// Several names in a sentence: `/a`, `/a and /b`, `/a, /b and 4 more`.
pub fn listed<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_at_checked(most) {
        Some((shown, rest)) if !rest.is_empty() => format!("{} and {} more", shown.join(", "), rest.len()),
        _ => match names.split_last() {
            Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
            _ => names.concat(),
        },
    }
}

/// How wide a table is at most, in columns, for the sake of one long row.
const TERMINAL: usize = 80;

/// Two columns, the second two spaces behind the longest of the first; where it is empty, the first stands alone. A row that
/// is wider than a terminal does not push the others out of it.
pub fn columns(rows: impl IntoIterator<Item = [String; 2]>) -> String {
    let rows = rows.into_iter().map(|row| row.map(|cell| shown(&cell).into_owned()));
    let rows: Vec<[String; 2]> = rows.collect();
    let widths = |[first, second]: &[String; 2]| (first.chars().count(), second.chars().count());
    let fitting = rows.iter().map(widths).filter(|(first, second)| first + 2 + second <= TERMINAL);
    let width = fitting.map(|(first, _)| first).max().unwrap_or_default();
    lines(rows.iter().map(|[first, second]| format!("{first:<width$}  {second}").trim_end().to_owned()))
}

/// A table: columns as wide as their widest cell, two spaces between them. Numbers stand to the right: all columns
/// but the first.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| shown(cell).into_owned()).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(head.get(column).map(|name| name.len())).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    lines([&head].into_iter().chain(&rows).map(|row| table_row(row, &widths)))
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
    fn names_read_as_a_sentence() {
        assert_eq!(listed(&["/a"], 3), "/a");
        assert_eq!(listed(&["/a", "/b", "/c"], 3), "/a, /b and /c");
        assert_eq!(listed(&["/a", "/b", "/c"], 1), "/a and 2 more");
    }

    #[test]
    fn only_tabs_between_columns_stay() {
        assert_eq!(tabbed(["a\tb\n", "c"]), "a\\tb\\n\tc");
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
