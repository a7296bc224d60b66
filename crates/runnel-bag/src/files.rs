//! Bags as files of the operating system.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use runnel_io::direct_file::{DirectFile, Options};

use crate::disk::File;
use crate::rosbag2::{self, METADATA_FILE};

pub use runnel_io::direct_file::sync_folder_of;

/// Creates a file for the writer of a bag, with the default options.
///
/// # Errors
/// If it exists or cannot be created. They name the file.
pub fn create(path: &Path) -> io::Result<File> {
    create_with(path, &Options::default())
}

/// Creates a file for the writer of a bag.
///
/// # Errors
/// As [`create`].
pub fn create_with(path: &Path, options: &Options) -> io::Result<File> {
    DirectFile::create(path, options).map(File::new)
}

/// A folder of the file system, for [`rosbag2::FolderWriter`].
pub struct Folder {
    path: PathBuf,
    options: Options,
}

impl Folder {
    /// Creates a folder, which must not exist, with the default options of its files.
    ///
    /// # Errors
    /// If it exists or cannot be created. They name the folder.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::create_with(path, Options::default())
    }

    /// Creates a folder, which must not exist, with these options of its files.
    ///
    /// # Errors
    /// As [`Folder::create`].
    pub fn create_with(path: &Path, options: Options) -> io::Result<Self> {
        let created = fs::create_dir(path).and_then(|()| sync_folder_of(path));
        created.map_err(|error| named(path, "cannot create the folder", &error))?;
        Ok(Self { path: path.to_owned(), options })
    }

    /// A folder that exists.
    pub fn open(path: &Path) -> Self {
        Self { path: path.to_owned(), options: Options::default() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl rosbag2::Folder for Folder {
    type Disk = File;

    fn create(&mut self, name: &str) -> io::Result<File> {
        create_with(&self.path.join(name), &self.options)
    }

    /// After a power failure, the folder has the old metadata or the new ones.
    fn write_metadata(&mut self, text: &str) -> io::Result<()> {
        let path = self.path.join(METADATA_FILE);
        let partial = self.path.join(format!("{METADATA_FILE}.partial"));
        let write = || {
            let mut file = fs::File::create(&partial)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&partial, &path)?;
            sync_folder_of(&path)
        };
        write().map_err(|error| named(&path, "cannot write it", &error))
    }
}

fn named(path: &Path, action: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {action}: {error}", path.display()))
}
