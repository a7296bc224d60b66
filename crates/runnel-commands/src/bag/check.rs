//! `runnel bag check`

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use runnel_bag::{BagReader, Format, Selection, Summary};
use serde_json::json;

use super::files;
use super::reading_progress::ReadingProgress;
use crate::cli_context::CliContext;
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
    /// What helps.
    remedy: Remedy,
    /// Damages, of which the first is described.
    damages: u64,
    first: Option<String>,
}

/// What a user can do about a bag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Remedy {
    /// Write it again with an index.
    #[default]
    Reindex,
    /// The same for a file that has an index, but damaged chunks.
    ForcedReindex,
    /// For a folder whose files have an index.
    Convert,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let mut are_good = true;
    let mut progress = ReadingProgress::new("checking", cli, false);
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
        verdict.remedy = match (is_finished && reader.damage().is_none(), format) {
            (false, _) => Remedy::Reindex,
            (true, Format::Rosbag2Mcap | Format::Rosbag2Sqlite) => Remedy::Convert,
            (true, _) => Remedy::ForcedReindex,
        };
        if let Some(damage) = reader.damage() {
            verdict.note(damage.to_string());
        }
        progress.begin(start.zip(end));
        for read in reader.messages(&Selection::default()) {
            match read {
                Ok(message) => {
                    verdict.messages += 1;
                    progress.count(message.log_time);
                }
                Err(error) => verdict.note(error.to_string()),
            }
        }
        progress.end();
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
        let path = path.display();
        let messages = counted(self.messages, "message");
        if self.is_good() {
            return format!("{path}: good, {messages}");
        }
        let first = self.first.as_ref().map(|first| format!("  first damage: {first}"));
        let more = (self.damages > 1).then(|| format!("  damaged parts: {}", self.damages));
        let lost = (self.lost > 0).then(|| format!("  lost: {}", counted(self.lost, "message")));
        let unfinished =
            (!self.is_finished && self.messages > 0).then(|| format!("  not finished: {}", self.unfinished));
        let advice = (self.messages > 0).then(|| format!("  Try: runnel bag {}", self.remedy.command(&path)));
        let head = format!("{path}: {messages} can be read");
        lines([Some(head), unfinished, first, more, lost, advice].into_iter().flatten())
    }
}

impl Remedy {
    /// Words of a command line for a bag.
    fn command(self, path: &impl Display) -> String {
        match self {
            Self::Reindex => format!("reindex {path}"),
            Self::ForcedReindex => format!("reindex --force {path}"),
            Self::Convert => format!("convert {path} NEW -s rosbag2"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use runnel_bag::mcap::Profile;
    use runnel_bag::{BagWriter, Encoding, NewMessage, rosbag2};
    use tempfile::TempDir;

    use super::*;
    use crate::bag::files::NewFile;
    use crate::bag::storage::Storage;
    use crate::bag::transfer_tests::{bag, begin, channel, content, folder};

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

    /// A bag with two chunks, of which the second is damaged.
    fn write_damaged(folder: &TempDir, name: &str, storage: Storage) {
        let path = folder.path().join(name);
        let mut writer = begin(path.clone(), storage, &[("/a", Encoding::Ros1, 1)]);
        writer.flush().expect("it is written");
        let id = writer.add_channel(&channel("/b", Encoding::Ros1)).expect("a channel");
        let data = b"to be damaged"[..].into();
        let message = NewMessage { channel: id, log_time: 2, publish_time: 2, sequence: 0, data };
        writer.write(&message).expect("it is written");
        writer.finish().expect("it is written");
        NewFile::of_recording(path.clone(), storage).complete().expect("it is free");
        damage(&path);
    }

    fn damage(path: &Path) {
        let mut bytes = fs::read(path).expect("a file");
        let place = bytes.windows(13).position(|bytes| bytes == b"to be damaged").expect("it is there");
        bytes[place] ^= 1;
        fs::write(path, bytes).expect("a file");
    }

    #[test]
    fn advice_mends_damaged_chunk() {
        let folder = folder();
        for (storage, name) in [(Storage::Mcap, "x.mcap"), (Storage::Rosbag, "x.bag")] {
            write_damaged(&folder, name, storage);
            let path = folder.path().join(name);
            let mut reader = files::open(&path).expect("a bag");
            let verdict = Verdict::of(&mut *reader, &mut ReadingProgress::hidden(""));
            assert_eq!((verdict.messages, verdict.lost, verdict.damages), (1, 1, 1), "{name}");
            let advice = format!("  Try: runnel bag reindex --force {}\n", path.display());
            assert!(verdict.text(&path).ends_with(&advice), "{}", verdict.text(&path));
            bag(&folder, &format!("reindex --force @{name}")).expect("it is mended");
            bag(&folder, &format!("check @{name}")).expect("it is good");
            assert_eq!(content(&folder, name).0, "/a1");
        }
    }

    #[test]
    fn advice_mends_damaged_folder() {
        let folder = folder();
        let path = folder.path().join("run");
        let disk = runnel_bag::files::Folder::create(&path).expect("a folder");
        let mut writer = rosbag2::Writer::new(disk, "run", Profile::Ros2, "").expect("a bag");
        for text in ["good", "to be damaged"] {
            let id = writer.add_channel(&channel("/a", Encoding::Cdr)).expect("a channel");
            let data = text.as_bytes().into();
            let message = NewMessage { channel: id, log_time: 1, publish_time: 1, sequence: 0, data };
            writer.write(&message).expect("it is written");
            writer.flush().expect("it is written");
        }
        writer.finish().expect("it is written");
        damage(&path.join("run_0.mcap"));
        let mut reader = files::open(&path).expect("a bag");
        let text = Verdict::of(&mut *reader, &mut ReadingProgress::hidden("")).text(&path);
        let advice = format!("  Try: runnel bag convert {} NEW -s rosbag2\n", path.display());
        assert!(text.ends_with(&advice), "{text}");
        bag(&folder, "convert @run @new -s rosbag2").expect("it is mended");
        bag(&folder, "check @new").expect("it is good");
        assert_eq!(content(&folder, "new").0, "good");
    }
}
