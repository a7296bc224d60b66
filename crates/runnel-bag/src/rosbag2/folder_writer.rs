//! Writer of the files of a folder, one after another.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::metadata::BagMetadata;
use super::written_file::{Contents, FileWriter};
use crate::Error;
use crate::disk::Disk;
use crate::mcap::Profile;

/// A folder that takes the files of a bag. With feature `files`, [`files::Folder`](crate::files::Folder) is one of the
/// file system.
pub trait Folder {
    /// A file of the bag.
    type Disk: Disk;

    /// Creates an empty file of this name.
    ///
    /// # Errors
    /// Those of the file system.
    fn create(&mut self, name: &str) -> io::Result<Self::Disk>;

    /// Writes or replaces `metadata.yaml`.
    ///
    /// # Errors
    /// Those of the file system.
    fn write_metadata(&mut self, text: &str) -> io::Result<()>;
}

/// A folder in progress, for a recorder that writes one file after another:
///
/// 1. [`FolderWriter::begin_file`] begins `NAME_0.mcap`. The file is a [`BagWriter`](crate::BagWriter) of its own: it has
///    its own channels, compression and metadata, and may begin with latched messages.
/// 2. [`BagWriter::finish`](crate::BagWriter::finish) of the file completes it.
/// 3. [`FolderWriter::write_metadata`] writes `metadata.yaml`, which lists all complete files. A file that was not finished
///    is not listed; readers find it behind the listed ones.
/// 4. For a split, again from 1. [`FolderWriter::forget_oldest`] leaves an old file out of the metadata.
///
/// A killed recorder leaves a folder that can be read: with the `metadata.yaml` of the last split, or without one.
/// [`Writer`](super::Writer) writes the whole folder as one bag.
pub struct FolderWriter<F: Folder> {
    folder: F,
    /// Name of the bag, with which the names of the files begin.
    name: String,
    begun: usize,
    contents: Contents,
}

impl<F: Folder> FolderWriter<F> {
    /// Begins a bag of this name, recorded on this distribution of ROS 2: `jazzy`, or empty if it is none.
    pub fn new(folder: F, name: &str, ros_distro: &str) -> Self {
        let contents = Contents { ros_distro: ros_distro.to_owned(), ..Contents::default() };
        Self { folder, name: name.to_owned(), begun: 0, contents }
    }

    /// Adds a text to the field `custom_data` of the metadata.
    pub fn add_custom_data(&mut self, key: &str, value: &str) {
        self.contents.custom_data.insert(key.to_owned(), value.to_owned());
    }

    pub(super) fn has_custom_data(&self, key: &str) -> bool {
        self.contents.custom_data.contains_key(key)
    }

    /// Begins the next file.
    ///
    /// # Errors
    /// Those of the folder.
    pub fn begin_file(&mut self, profile: Profile) -> Result<FileWriter<F::Disk>, Error> {
        let name = format!("{}_{}.mcap", self.name, self.begun);
        let disk = self.folder.create(&name)?;
        self.begun += 1;
        self.contents.files.push_back(Arc::default());
        FileWriter::new(disk, name, profile, self.contents.clone())
    }

    /// Writes or replaces `metadata.yaml`, which lists the finished files.
    ///
    /// # Errors
    /// Those of the folder.
    pub fn write_metadata(&mut self) -> Result<(), Error> {
        Ok(self.folder.write_metadata(&self.metadata().to_string())?)
    }

    /// Leaves the oldest finished file out of the metadata, and returns its name. Once the metadata are written, the file
    /// can be removed.
    pub fn forget_oldest(&mut self) -> Option<String> {
        let files: &mut VecDeque<_> = &mut self.contents.files;
        let place = files.iter().position(|file| file.get().is_some())?;
        let file = files.remove(place)?;
        Some(file.get()?.info.path.clone())
    }

    /// What `metadata.yaml` would say now.
    pub fn metadata(&self) -> BagMetadata {
        self.contents.metadata()
    }

    /// The folder.
    pub fn into_folder(self) -> F {
        self.folder
    }
}
