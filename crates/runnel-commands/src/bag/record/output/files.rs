//! A recording as files of their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runnel_bag::mcap::Profile;
use runnel_bag::rosbag2::CUSTOM_DATA;
use runnel_bag::{BagWriter, Channel, Error, Metadata};

use super::retention::{ClosedBags, Retention};
use super::{remove, space};
use crate::bag::files::{Format, NewFile, appended, failed, folder};
use crate::bag::new_bag::are_defined;
use crate::bag::record::sink::{Bags, Removed, Space, Written};
use crate::error::CliError;

/// The files of a recording, one after another.
pub struct OutputFiles {
    base: PathBuf,
    format: Format,
    profile: Profile,
    /// Whether the first file is numbered, too.
    is_numbered: bool,
    /// Texts of the user, which each file has.
    custom_data: Metadata,
    begun: usize,
    current: Option<NewFile>,
    closed: ClosedBags,
}

impl OutputFiles {
    /// Files of a recording that begins now.
    pub fn new(base: PathBuf, format: Format, profile: Profile) -> Self {
        let closed = ClosedBags::default();
        let custom_data = Metadata { name: CUSTOM_DATA.to_owned(), ..Metadata::default() };
        Self { base, format, profile, is_numbered: false, custom_data, begun: 0, current: None, closed }
    }

    /// Numbers the first file, too.
    #[must_use]
    pub fn numbered(self) -> Self {
        Self { is_numbered: true, ..self }
    }

    /// Keeps only these files.
    #[must_use]
    pub fn keeping(self, retention: Retention) -> Self {
        Self { closed: ClosedBags::new(retention), ..self }
    }

    /// Stores these texts in each file.
    #[must_use]
    pub fn with_custom_data(mut self, values: BTreeMap<String, String>) -> Self {
        self.custom_data.values = values;
        self
    }

    /// The file that is begun next. Numbers that are taken are left out, except for the first: an earlier recording of this
    /// name is a mistake of the user.
    fn next_file(&mut self) -> NewFile {
        let is_first = self.begun == 0;
        loop {
            let file = NewFile::of_recording(self.path(self.begun), self.format.0);
            self.begun += 1;
            if is_first || file.is_free() {
                return file;
            }
        }
    }

    fn path(&self, number: usize) -> PathBuf {
        let is_numbered = self.is_numbered || number > 0;
        let number = if is_numbered { format!("_{number}") } else { String::new() };
        appended(&self.base, &format!("{number}.{}", self.format.0.extension()))
    }

    /// The file in progress; before there is one, the name without number.
    fn active(&self) -> &Path {
        self.current.as_ref().map_or(&self.base, NewFile::active)
    }
}

impl Bags for OutputFiles {
    fn begin(&mut self, channels: &[Channel]) -> Result<Box<dyn BagWriter + Send>, CliError> {
        let file = self.next_file();
        let profile = if are_defined(channels) { self.profile } else { Profile::None };
        let mut writer = file.create(self.format, profile)?;
        if !self.custom_data.values.is_empty() {
            // At the beginning, so that an unfinished file has it.
            writer.add_metadata(&self.custom_data).map_err(|error| failed(file.active(), &error))?;
        }
        self.current = Some(file);
        Ok(writer)
    }

    fn complete(&mut self, written: Written) -> Result<(), CliError> {
        let Some(file) = self.current.take() else { return Ok(()) };
        file.complete()?;
        self.closed.push(file.path(), written);
        while let Some(excess) = self.closed.pop_excess() {
            remove(excess)?;
        }
        Ok(())
    }

    fn abandon(&mut self, written: Written) {
        if let Some(file) = self.current.take() {
            self.closed.push(file.active(), written);
        }
    }

    fn remove_oldest(&mut self) -> Result<Option<Removed>, CliError> {
        self.closed.pop_oldest().map(remove).transpose()
    }

    fn space(&self) -> Option<Space> {
        space(folder(&self.base))
    }

    fn failed(&self, error: &Error) -> CliError {
        let active = self.active();
        match failed(active, error) {
            CliError::Failed(why) => CliError::Failed(format!(
                "{why}. Everything before can be read. Try: runnel bag reindex {}",
                active.display()
            )),
            other => other,
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let open = self.current.as_ref().map(NewFile::active);
        self.closed.files().chain(open).map(Path::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    use runnel_bag::Compression;

    use super::*;
    use crate::bag::storage::Storage;

    #[test]
    fn split_files_are_numbered_and_the_oldest_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let format = (Storage::Rosbag, Compression::None.into());
        let retention = Retention { count: Some(2), ..Retention::default() };
        let files = OutputFiles::new(folder.path().join("a"), format, Profile::Ros1).numbered();
        let mut files = files.keeping(retention);
        for _ in 0..4 {
            files.begin(&[]).expect("a bag").finish().expect("it is written");
            files.complete(Written::default()).expect("it is free");
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
        let format = (Storage::Rosbag, Compression::None.into());
        let mut files = OutputFiles::new(folder.path().join(name), format, Profile::Ros1);
        files.begin(&[]).expect("a bag").finish().expect("it is written");
        files.complete(Written::default()).expect("it is free");
        let expected = folder.path().join(OsStr::from_bytes(b"\xff.bag"));
        assert!(expected.exists(), "{:?}", files.files());
    }
}
