//! A recording as the files of a folder of `ros2 bag`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runnel_bag::files::Folder;
use runnel_bag::mcap::Profile;
use runnel_bag::rosbag2::FolderWriter;
use runnel_bag::{BagWriter, Channel, Error};

use super::retention::{ClosedBag, ClosedBags, Retention};
use super::space;
use crate::bag::files::{bag_name, exists, failed, folder, is_taken, ros_distro};
use crate::bag::record::sink::{Bags, Removed, Space, Written};
use crate::bag::storage::CompressionSettings;
use crate::error::CliError;

/// A folder with one file after another, and `metadata.yaml`.
pub struct OutputFolder {
    path: PathBuf,
    compression: CompressionSettings,
    /// Begun with the first file.
    writer: Option<FolderWriter<Folder>>,
    begun: usize,
    current: Option<PathBuf>,
    closed: ClosedBags,
    /// Files that are closed but not complete, so that the metadata do not list them.
    abandoned: Vec<PathBuf>,
    /// Texts of the user, for the metadata.
    custom_data: BTreeMap<String, String>,
}

impl OutputFolder {
    /// A folder of this path, which must not exist when the first bag is begun.
    pub fn new(path: PathBuf, compression: CompressionSettings, retention: Retention) -> Self {
        let closed = ClosedBags::new(retention);
        let (abandoned, custom_data) = (Vec::new(), BTreeMap::new());
        Self { path, compression, writer: None, begun: 0, current: None, closed, abandoned, custom_data }
    }

    /// Stores these texts in the metadata.
    #[must_use]
    pub fn with_custom_data(self, custom_data: BTreeMap<String, String>) -> Self {
        Self { custom_data, ..self }
    }

    fn writer(&mut self) -> Result<&mut FolderWriter<Folder>, CliError> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None if is_taken(&self.path) => return Err(exists(&self.path)),
            None => {
                // Its errors name the folder.
                let folder = Folder::create(&self.path).map_err(CliError::failed)?;
                let mut writer = FolderWriter::new(folder, &bag_name(&self.path), &ros_distro());
                self.custom_data.iter().for_each(|(key, value)| writer.add_custom_data(key, value));
                writer
            }
        };
        Ok(self.writer.insert(writer))
    }

    fn begin_file(&mut self) -> Result<Box<dyn BagWriter + Send>, Error> {
        let compression = self.compression;
        let Some(writer) = &mut self.writer else { return Err(Error::Finished) };
        let mut file = writer.begin_file(Profile::Ros2)?;
        compression.apply(&mut file)?;
        Ok(Box::new(file))
    }

    fn write_metadata(&mut self) -> Result<(), CliError> {
        let written = self.writer.as_mut().map_or(Ok(()), FolderWriter::write_metadata);
        written.map_err(|error| failed(&self.path, &error))
    }

    /// Removes a closed file: first from the metadata, so that these never list a file that is gone.
    fn remove(&mut self, bag: ClosedBag) -> Result<Removed, CliError> {
        let listed = match self.abandoned.iter().position(|abandoned| *abandoned == bag.path) {
            Some(place) => {
                self.abandoned.remove(place);
                Ok(())
            }
            None => {
                if let Some(writer) = &mut self.writer {
                    writer.forget_oldest();
                }
                self.write_metadata()
            }
        };
        let removed = super::remove(bag)?;
        // On a full disk there is space for the metadata only once the file is gone.
        listed.or_else(|_| self.write_metadata())?;
        Ok(removed)
    }
}

impl Bags for OutputFolder {
    fn begin(&mut self, _channels: &[Channel]) -> Result<Box<dyn BagWriter + Send>, CliError> {
        self.writer()?;
        let path = self.path.join(format!("{}_{}.mcap", bag_name(&self.path), self.begun));
        let file = self.begin_file().map_err(|error| failed(&path, &error))?;
        self.begun += 1;
        self.current = Some(path);
        Ok(file)
    }

    fn complete(&mut self, written: Written) -> Result<(), CliError> {
        let Some(path) = self.current.take() else { return Ok(()) };
        self.closed.push(&path, written);
        // Readers find the file behind those that are listed, and the end writes the metadata again.
        if let Err(why) = self.write_metadata() {
            log::warn!("{why}");
        }
        while let Some(excess) = self.closed.pop_excess() {
            self.remove(excess)?;
        }
        Ok(())
    }

    fn abandon(&mut self, written: Written) {
        if let Some(path) = self.current.take() {
            self.closed.push(&path, written);
            self.abandoned.push(path);
        }
    }

    fn remove_oldest(&mut self) -> Result<Option<Removed>, CliError> {
        let oldest = self.closed.pop_oldest();
        oldest.map(|oldest| self.remove(oldest)).transpose()
    }

    fn finish(&mut self) -> Result<(), CliError> {
        self.write_metadata()
    }

    fn space(&self) -> Option<Space> {
        space(folder(&self.path))
    }

    fn failed(&self, error: &Error) -> CliError {
        match failed(self.current.as_deref().unwrap_or(&self.path), error) {
            CliError::Failed(why) => CliError::Failed(format!(
                "{why}. Everything before can be read. Try: runnel bag reindex {}",
                self.path.display()
            )),
            other => other,
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        self.closed.files().chain(self.current.as_deref()).map(Path::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use runnel_bag::Compression;
    use runnel_bag::rosbag2::{BagMetadata, METADATA_FILE};

    use super::*;

    #[test]
    fn metadata_list_the_files_that_are_kept() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("run");
        let retention = Retention { count: Some(2), ..Retention::default() };
        let mut folder = OutputFolder::new(path.clone(), Compression::Zstd.into(), retention);
        assert!(!path.exists(), "nothing is recorded");
        for _ in 0..3 {
            folder.begin(&[]).expect("a file").finish().expect("it is written");
            folder.complete(Written::default()).expect("a name");
        }
        folder.begin(&[]).expect("a file");
        folder.abandon(Written::default());
        let listed = || {
            let text = fs::read_to_string(path.join(METADATA_FILE)).expect("metadata");
            let files = BagMetadata::parse(&text).expect("sound").files;
            files.into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        assert_eq!(listed(), ["run_1.mcap", "run_2.mcap"]);
        let removed = folder.remove_oldest().expect("it is removed").expect("a file");
        assert_eq!(removed.file, path.join("run_1.mcap"));
        assert_eq!(listed(), ["run_2.mcap"]);
        folder.remove_oldest().expect("it is removed").expect("a file");
        assert_eq!(folder.files(), [path.join("run_3.mcap")], "the one that was not complete");
        folder.remove_oldest().expect("it is removed").expect("a file");
        assert_eq!(folder.remove_oldest().expect("no file"), None);
        assert!(!path.join("run_3.mcap").exists());
    }

    #[test]
    fn existing_folder_is_not_used() {
        let parent = tempfile::tempdir().expect("a folder");
        let mut folder =
            OutputFolder::new(parent.path().to_owned(), Compression::None.into(), Retention::default());
        let why = folder.begin(&[]).err().expect("it exists").to_string();
        assert!(why.contains("bags never replace a file"), "{why}");
    }
}
