//! The files of a recording and their names.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;

use runnel::core::time::Time;
use runnel_bag::mcap::Profile;
use runnel_bag::{BagWriter, Channel, Error};
use runnel_io::clock;

use super::sink::Bags;
use crate::bag::files::{Format, NewFile, appended, failed};
use crate::bag::new_bag::are_defined;
use crate::error::CliError;

/// How the files of a recording are named, without number and extension.
#[derive(Clone, Debug)]
pub enum BaseName {
    /// This name.
    Exact(PathBuf),
    /// The date, behind this prefix and an underscore if it is not empty.
    Date(String),
}

/// The files of a recording, one after another.
pub struct OutputFiles {
    base: PathBuf,
    format: Format,
    profile: Profile,
    /// Whether several files follow each other, which are numbered.
    is_split: bool,
    /// Most complete files that are kept.
    max_splits: Option<usize>,
    begun: usize,
    current: NewFile,
    complete: VecDeque<PathBuf>,
}

impl BaseName {
    /// The name at a time.
    pub fn at(&self, now: Time) -> PathBuf {
        let prefix = match self {
            Self::Exact(name) => return name.clone(),
            Self::Date(prefix) if prefix.is_empty() => String::new(),
            Self::Date(prefix) => format!("{prefix}_"),
        };
        let [year, month, day, hour, minute, second] = clock::local_date(now);
        PathBuf::from(format!("{prefix}{year}-{month:02}-{day:02}-{hour:02}-{minute:02}-{second:02}"))
    }
}

impl OutputFiles {
    /// Files of a recording that begins now.
    pub fn new(base: PathBuf, format: Format, profile: Profile, is_split: bool) -> Self {
        let current = NewFile::of_recording(PathBuf::new(), format.0);
        let complete = VecDeque::new();
        Self { base, format, profile, is_split, max_splits: None, begun: 0, current, complete }
    }

    /// Keeps at most this many complete files: the oldest ones are removed.
    #[must_use]
    pub fn keeping(self, max_splits: Option<usize>) -> Self {
        Self { max_splits, ..self }
    }

    /// The file that is begun next. Numbers that are taken are left out, except for the first: an earlier recording of this
    /// name is a mistake of the user.
    fn next_file(&mut self) -> NewFile {
        let is_first = self.begun == 0;
        loop {
            let file = NewFile::of_recording(self.path(self.begun), self.format.0);
            self.begun += 1;
            if !self.is_split || is_first || file.is_free() {
                return file;
            }
        }
    }

    fn path(&self, number: usize) -> PathBuf {
        let number = if self.is_split { format!("_{number}") } else { String::new() };
        appended(&self.base, &format!("{number}.{}", self.format.0.extension()))
    }
}

impl Bags for OutputFiles {
    fn begin(&mut self, channels: &[Channel]) -> Result<Box<dyn BagWriter + Send>, CliError> {
        self.current = self.next_file();
        let profile = if are_defined(channels) { self.profile } else { Profile::None };
        self.current.create(self.format, profile)
    }

    fn complete(&mut self) -> Result<(), CliError> {
        self.current.complete()?;
        self.complete.push_back(self.current.path().to_owned());
        while self.max_splits.is_some_and(|most| self.complete.len() > most) {
            let Some(oldest) = self.complete.pop_front() else { break };
            let removed = fs::remove_file(&oldest);
            removed.map_err(|error| CliError::Failed(format!("{}: {error}", oldest.display())))?;
        }
        Ok(())
    }

    fn failed(&self, error: &Error) -> CliError {
        let active = self.current.active();
        match failed(active, error) {
            CliError::Failed(why) => CliError::Failed(format!(
                "{why}. Everything before can be read. Try: runnel bag reindex {}",
                active.display()
            )),
            other => other,
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let is_open = self.complete.back().is_none_or(|last| last != self.current.path());
        let open = is_open.then(|| self.current.active().to_owned());
        self.complete.iter().cloned().chain(open).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use runnel_bag::Compression;

    use super::*;
    use crate::bag::storage::Storage;

    #[test]
    fn date_stands_behind_the_prefix() {
        let name = |base: BaseName| base.at(Time { sec: 1_700_000_000, nanosec: 0 }).display().to_string();
        assert!(name(BaseName::Date(String::new())).starts_with("2023-11-1"));
        assert!(name(BaseName::Date("a/b".into())).starts_with("a/b_2023-11-1"));
        assert_eq!(name(BaseName::Exact("x.y".into())), "x.y");
    }

    #[test]
    fn split_files_are_numbered_and_the_oldest_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let format = (Storage::Rosbag, Compression::None);
        let files = OutputFiles::new(folder.path().join("a"), format, Profile::Ros1, true);
        let mut files = files.keeping(Some(2));
        for _ in 0..4 {
            files.begin(&[]).expect("a bag").finish().expect("it is written");
            files.complete().expect("it is free");
        }
        let names = |paths: Vec<PathBuf>| {
            let name = |path: PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
            let mut names: Vec<String> = paths.into_iter().map(name).collect();
            names.sort();
            names
        };
        assert_eq!(names(files.files()), ["a_2.bag", "a_3.bag"]);
        let entries =
            fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("a file").path());
        assert_eq!(names(entries.collect()), ["a_2.bag", "a_3.bag"]);
        fs::write(folder.path().join("a_4.bag"), "mine").expect("a file");
        fs::write(folder.path().join("a_5.bag.active"), "mine").expect("a file");
        files.begin(&[]).expect("the next free number");
        assert_eq!(names(files.files()), ["a_2.bag", "a_3.bag", "a_6.bag.active"]);
    }

    #[test]
    fn names_need_not_be_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = OsStr::from_bytes(b"\xff");
        let format = (Storage::Rosbag, Compression::None);
        let mut files = OutputFiles::new(folder.path().join(name), format, Profile::Ros1, false);
        files.begin(&[]).expect("a bag").finish().expect("it is written");
        files.complete().expect("it is free");
        let expected = folder.path().join(OsStr::from_bytes(b"\xff.bag"));
        assert!(expected.exists(), "{:?}", files.files());
    }
}
