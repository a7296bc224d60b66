//! Standard output and standard error: text for people, JSON for programs.
//!
//! All output of commands passes through here, where text from peers is sanitized: names, types, values and errors
//! may hold characters that control a terminal. Text for people shows such characters as escapes, JSON as JSON
//! escapes. Output of one line, such as a row, stays on one line. Output of several lines, such as a message in YAML,
//! is written with [`Output::text`] or [`Output::paragraph`], and single values in it pass through [`shown`].

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use runnel::core::sanitize;
use serde_json::Value as Json;

use runnel::diagnostics::painted;
use runnel::logging::Level;

use crate::error::CliError;

/// Set by an empty answer for people.
static EMPTY: AtomicBool = AtomicBool::new(false);

/// Set when the object of the command exists, even if the result is empty.
static FOUND: AtomicBool = AtomicBool::new(false);

/// The progress of a command on the terminal of standard error.
static STATUS: StatusLine = StatusLine(AtomicBool::new(false));

/// A line that is shown until another one replaces it. True while it is shown. The output is locked for each change.
struct StatusLine(AtomicBool);

impl StatusLine {
    /// Shows a line in place of the one before; an empty one removes it.
    #[cfg(feature = "bag")]
    fn show(&self, output: &mut impl Write, line: &str) -> io::Result<()> {
        self.0.store(!line.is_empty(), Ordering::Relaxed);
        write!(output, "\r{}{CLEAR_LINE}", shown(line))
    }

    /// Ends the line, if it is shown.
    #[cfg(feature = "bag")]
    fn end(&self, output: &mut impl Write) -> io::Result<()> {
        if self.0.swap(false, Ordering::Relaxed) { writeln!(output) } else { Ok(()) }
    }

    /// Prints text that stays, in place of the line.
    fn replace(&self, output: &mut impl Write, text: &str) -> io::Result<()> {
        if self.0.swap(false, Ordering::Relaxed) {
            write!(output, "\r{CLEAR_LINE}")?;
        }
        writeln!(output, "{text}")
    }
}

/// The form of a command's output.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// As JSON, one value a line.
    pub json: bool,
}

impl Output {
    /// Prints the result of a command in the requested form. Empty text prints nothing.
    ///
    /// # Errors
    /// When standard output cannot be written; the same holds for all methods.
    pub fn answer(self, text: impl FnOnce() -> String, json: impl FnOnce() -> Json) -> Result<(), CliError> {
        if self.json {
            return self.json(&json());
        }
        let text = text();
        EMPTY.fetch_or(text.is_empty(), Ordering::Relaxed);
        self.text(&text)
    }

    /// Prints text, with a newline if it lacks one.
    pub fn text(self, text: &str) -> Result<(), CliError> {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.unended(&format!("{text}{end}"))
    }

    /// Prints text for people or JSON, with each line of the text that begins with one of these words in the colour of
    /// its level, if standard output is a terminal.
    pub fn answer_with_levels(
        self,
        levels: &[(&str, Level)],
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> Json,
    ) -> Result<(), CliError> {
        if self.json || !is_stdout_coloured() {
            return self.answer(text, json);
        }
        write(&with_levels(&sanitize::block(&text()), levels))
    }

    /// Prints text of several lines, and always a newline.
    pub fn paragraph(self, text: &str) -> Result<(), CliError> {
        self.unended(&format!("{text}\n"))
    }

    /// The same after clearing the screen.
    pub fn paragraph_alone(self, text: &str) -> Result<(), CliError> {
        write(&format!("{CLEAR}{}\n", sanitize::block(text)))
    }

    /// Clears the screen before further output.
    pub fn clear(self) -> Result<(), CliError> {
        write(&format!("{CLEAR}\n"))
    }

    /// Prints text without a newline: a prompt, behind which the user types.
    pub fn unended(self, text: &str) -> Result<(), CliError> {
        write(&sanitize::block(text))
    }

    /// Prints a line, which may be empty.
    pub fn line(self, line: &str) -> Result<(), CliError> {
        write(&format!("{}\n", shown(line)))
    }

    /// Prints a log line, in the colour of its level if there is one. Continuation lines are marked.
    pub fn log_line(self, line: &str, colour: Option<Level>) -> Result<(), CliError> {
        let line = sanitize::log_text(line).into_owned();
        write(&(colour.map_or_else(|| line.clone(), |level| painted(level, line.clone())) + "\n"))
    }

    /// Prints one JSON value on a line of its own.
    pub fn json(self, value: &Json) -> Result<(), CliError> {
        write(&(json_text(value) + "\n"))
    }

    /// Prints a note for people on standard error, not with `--json`.
    pub fn note(self, text: &str) {
        if !self.json {
            print_error(text);
        }
    }
}

/// True if standard output has colours.
pub fn is_stdout_coloured() -> bool {
    is_coloured(io::stdout().is_terminal())
}

/// True if output has colours: on a terminal that has them, unless `NO_COLOR` is set.
fn is_coloured(is_terminal: bool) -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    is_terminal && !is_dumb && std::env::var_os("NO_COLOR").is_none()
}

/// Colours the first word of lines that begin with one of these words and a colon.
fn with_levels(text: &str, levels: &[(&str, Level)]) -> String {
    let coloured = |line: &str| {
        let begun = levels.iter().find_map(|(word, level)| {
            let rest = line.strip_prefix(word).filter(|rest| rest.starts_with(':'))?;
            Some(painted(*level, (*word).to_owned()) + rest)
        });
        begun.unwrap_or_else(|| line.to_owned())
    };
    text.split_inclusive('\n').map(coloured).collect()
}

/// Clears the screen.
const CLEAR: &str = "\x1b[2J\x1b[;H";

/// Clears the line from the cursor on.
const CLEAR_LINE: &str = "\x1b[K";

/// A JSON value as text that is safe on a terminal.
pub fn json_text(value: &Json) -> String {
    sanitize::json(&value.to_string()).into_owned()
}

/// Text of a peer, on one line.
pub fn shown(text: &str) -> Cow<'_, str> {
    sanitize::one_line(text)
}

/// Prints a line on standard error. Continuation lines are marked.
pub fn print_error(text: &str) {
    // A closed standard error is no reason to end.
    let _ = STATUS.replace(&mut io::stderr().lock(), &sanitize::log_text(text));
}

/// The same for a log line, in the colour of its level on a terminal.
pub fn print_log(line: &str, level: Level) {
    let line = sanitize::log_text(line).into_owned();
    let line = if is_coloured(io::stderr().is_terminal()) { painted(level, line) } else { line };
    // As in `print_error`.
    let _ = STATUS.replace(&mut io::stderr().lock(), &line);
}

/// Replaces the line that shows the progress of a command on the terminal of standard error.
#[cfg(feature = "bag")]
pub fn print_status(line: &str) {
    // As in `print_error`.
    let _ = STATUS.show(&mut io::stderr().lock(), line);
}

/// Ends that line, if it is shown.
#[cfg(feature = "bag")]
pub fn end_status() {
    // As in `print_error`.
    let _ = STATUS.end(&mut io::stderr().lock());
}

/// Prints text of this program, such as help, on standard output.
pub fn print_own(text: &str) {
    // If the output is closed, nothing can be reported.
    let _ = write(text);
}

/// Records that the object of the command exists: an empty answer or a failure then has another reason.
pub fn mark_found() {
    FOUND.store(true, Ordering::Relaxed);
}

/// True if the object of the command exists.
pub fn was_found() -> bool {
    FOUND.load(Ordering::Relaxed)
}

/// True if an answer for people was empty, and the object of the command was not found.
pub fn was_empty() -> bool {
    EMPTY.load(Ordering::Relaxed) && !was_found()
}

/// Writes and flushes all text at once, so that lines of several threads do not mix.
fn write(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Columns of one row, separated by tabs, for [`Output::text`] or [`Output::paragraph`]: [`Output::line`] and
/// [`lines`] would escape the tabs.
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

/// Names as part of a sentence: `/a`, `/a and /b`, `/a, /b and 4 more`.
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

/// Maximum width of a table, in columns; longer rows do not widen it.
const TERMINAL: usize = 80;

/// Two columns, the second aligned two spaces after the longest first cell. Rows wider than a terminal do not shift
/// the others.
pub fn columns(rows: impl IntoIterator<Item = [String; 2]>) -> String {
    let rows = rows.into_iter().map(|row| row.map(|cell| shown(&cell).into_owned()));
    let rows: Vec<[String; 2]> = rows.collect();
    let widths = |[first, second]: &[String; 2]| (first.chars().count(), second.chars().count());
    let fitting = rows.iter().map(widths).filter(|(first, second)| first + 2 + second <= TERMINAL);
    let width = fitting.map(|(first, _)| first).max().unwrap_or_default();
    lines(rows.iter().map(|[first, second]| format!("{first:<width$}  {second}").trim_end().to_owned()))
}

/// A table: columns as wide as their widest cell, with two spaces between them. All columns but the first are
/// right-aligned.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    aligned_table(head, rows, |column| column == 0)
}

/// The same, with all columns left-aligned.
pub fn text_table(head: &[&str], rows: &[Vec<String>]) -> String {
    aligned_table(head, rows, |_| true)
}

fn aligned_table(head: &[&str], rows: &[Vec<String>], is_left: fn(usize) -> bool) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| shown(cell).into_owned()).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(head.get(column).map(|name| name.len())).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    lines([&head].into_iter().chain(&rows).map(|row| table_row(row, &widths, is_left)))
}

fn table_row(row: &[String], widths: &[usize], is_left: fn(usize) -> bool) -> String {
    let cells = row.iter().zip(widths).enumerate();
    let padded = cells.map(|(column, (cell, width))| match is_left(column) {
        true => format!("{cell:<width$}"),
        false => format!("{cell:>width$}"),
    });
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_item_has_no_plural() {
        let texts = [counted(0_usize, "warning"), counted(1_u64, "error"), counted(2_usize, "error")];
        assert_eq!(texts, ["0 warnings", "1 error", "2 errors"]);
    }

    #[cfg(feature = "bag")]
    #[test]
    fn log_line_replaces_the_status_line() {
        let (status, mut output) = (StatusLine(AtomicBool::new(false)), Vec::new());
        status.replace(&mut output, "a").expect("memory");
        status.show(&mut output, "1 message").expect("memory");
        status.replace(&mut output, "b").expect("memory");
        status.replace(&mut output, "c").expect("memory");
        status.end(&mut output).expect("memory");
        status.show(&mut output, "2 messages").expect("memory");
        status.end(&mut output).expect("memory");
        status.show(&mut output, "").expect("memory");
        status.replace(&mut output, "d").expect("memory");
        let expected = "a\n\r1 message\x1b[K\r\x1b[Kb\nc\n\r2 messages\x1b[K\n\r\x1b[Kd\n";
        assert_eq!(String::from_utf8(output).expect("text"), expected);
    }

    #[test]
    fn names_read_as_a_sentence() {
        assert_eq!(listed(&["/a"], 3), "/a");
        assert_eq!(listed(&["/a", "/b", "/c"], 3), "/a, /b and /c");
        assert_eq!(listed(&["/a", "/b", "/c"], 1), "/a and 2 more");
    }

    #[test]
    fn only_words_of_levels_are_coloured() {
        let levels = [("error", Level::Error), ("warning", Level::Warn)];
        let text = "error: /a: an error: it\n    warns\nwarning: b\ninfo: c\n1 error, 1 warning, 1 info\n";
        let expected = "\x1b[31merror\x1b[0m: /a: an error: it\n    warns\n\x1b[33mwarning\x1b[0m: b\ninfo: c\n\
                        1 error, 1 warning, 1 info\n";
        assert_eq!(with_levels(text, &levels), expected);
    }

    #[test]
    fn only_tabs_between_columns_stay() {
        assert_eq!(tabbed(["a\tb\n", "c"]), "a\\tb\\n\tc");
    }

    #[test]
    fn long_row_does_not_shift_the_others() {
        let rows = |long: usize| [["a".repeat(long), "ROS 1, ROS 2".into()], ["b".into(), "ROS 2".into()]];
        assert_eq!(columns(rows(66)).lines().nth(1), Some(&*format!("{:66}  ROS 2", "b")));
        assert_eq!(columns(rows(67)), format!("{}  ROS 1, ROS 2\nb  ROS 2\n", "a".repeat(67)));
    }

    #[test]
    fn table_is_as_wide_as_its_cells() {
        let rows = [vec!["/a".to_owned(), "10.000".to_owned()], vec!["/longer".to_owned(), "9".to_owned()]];
        assert_eq!(table(&["topic", "rate"], &rows), "topic      rate\n/a       10.000\n/longer       9\n");
        assert_eq!(table(&["topic", "rate"], &[]), "topic  rate\n");
        assert_eq!(text_table(&["topic", "rate"], &rows), "topic    rate\n/a       10.000\n/longer  9\n");
    }
}
