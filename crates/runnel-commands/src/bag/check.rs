//! `runnel bag check`

use std::path::{Path, PathBuf};

use clap::ValueHint;
use runnel_bag::{BagReader, Selection, Summary};
use serde_json::json;

use super::files;
use crate::cli_context::CliContext;
use super::reading_progress::ReadingProgress;
use crate::error::CliError;
use crate::output::{counted, lines};

/// Read bags completely and name the first damage
///
/// Exit code 1 if a bag is damaged or was not finished.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, or folders of ros2 bag
    #[arg(required = true, value_name = "BAG", value_hint = ValueHint::AnyPath)]
    pub bags: Vec<PathBuf>,
}

/// What was found in a bag.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    is_finished: bool,
    /// Why it is not finished; empty if it cannot be opened.
    unfinished: &'static str,
    /// Messages that can be read.
    messages: u64,
    /// Messages that the index lists, but that cannot be read.
    lost: u64,
    /// Damages, of which the first is described.
    damages: u64,
    first: Option<String>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let mut are_good = true;
    for path in &args.bags {
        let verdict = match files::open(path) {
            Ok(mut reader) => Verdict::of(&mut *reader, &mut progress),
            Err(CliError::Failed(why)) => Verdict { damages: 1, first: Some(why), ..Verdict::default() },
            Err(error) => return Err(error),
        };
        are_good &= verdict.is_good();
        let json = || {
            json!({
                "path": path.display().to_string(),
                "good": verdict.is_good(),
                "finished": verdict.is_finished,
                "messages": verdict.messages,
                "lost": verdict.lost,
                "damages": verdict.damages,
    let mut progress = ReadingProgress::new("checking", cli, false);
                "first_damage": verdict.first,
            })
        };
        cli.output.answer(|| verdict.text(path), json)?;
    }
    if are_good { Ok(()) } else { Err(CliError::Answered) }
}

impl Verdict {
    fn of(reader: &mut dyn BagReader, progress: &mut ReadingProgress) -> Self {
        let &Summary { is_finished, format, start, end, .. } = reader.summary();
        let mut verdict = Self { is_finished, unfinished: files::unfinished(format), ..Self::default() };
        let listed = reader.summary().counts.iter().copied().fold(0, u64::saturating_add);
        if let Some(damage) = reader.damage() {
            verdict.note(damage.to_string());
        }
        for read in reader.messages(&Selection::default()) {
            match read {
                Ok(message) => {
                    verdict.messages += 1;
                    progress.count(message.log_time);
                }
                Err(error) => verdict.note(error.to_string()),
            }
        }
        verdict.lost = listed.saturating_sub(verdict.messages);
        verdict
    }

    fn note(&mut self, damage: String) {
        self.damages += 1;
        self.first.get_or_insert(damage);
    }

    fn is_good(&self) -> bool {
        self.is_finished && self.damages == 0 && self.lost == 0
    }

    fn text(&self, path: &Path) -> String {
        progress.begin(start.zip(end));
        let path = path.display();
        let messages = counted(self.messages, "message");
        if self.is_good() {
            return format!("{path}: good, {messages}");
        }
        let first = self.first.as_ref().map(|first| format!("  first damage: {first}"));
        progress.end();
        let more = (self.damages > 1).then(|| format!("  damaged parts: {}", self.damages));
        let lost = (self.lost > 0).then(|| format!("  lost: {}", counted(self.lost, "message")));
        let unfinished =
            (!self.is_finished && self.messages > 0).then(|| format!("  not finished: {}", self.unfinished));
        let advice = (self.messages > 0).then(|| format!("  Try: runnel bag reindex {path}"));
        let head = format!("{path}: {messages} can be read");
        lines([Some(head), unfinished, first, more, lost, advice].into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_names_damage_and_loss() {
        let good = Verdict { is_finished: true, messages: 3, ..Verdict::default() };
        assert_eq!(good.text(Path::new("a")), "a: good, 3 messages");
        let killed = Verdict { is_finished: false, unfinished: "it has no index", ..good };
        let expected =
            "a: 3 messages can be read\n  not finished: it has no index\n  Try: runnel bag reindex a\n";
        assert_eq!(killed.text(Path::new("a")), expected);
        let mut damaged = Verdict { lost: 4, is_finished: true, ..killed };
        ["byte 7: bad", "byte 9: bad"].into_iter().for_each(|damage| damaged.note(damage.to_owned()));
        let expected = "a: 3 messages can be read\n  first damage: byte 7: bad\n  damaged parts: 2\n  \
                        lost: 4 messages\n  Try: runnel bag reindex a\n";
        assert_eq!(damaged.text(Path::new("a")), expected);
        assert!(!damaged.is_good());
    }
}
