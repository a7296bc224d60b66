//! Bags as files of the operating system.

use std::io;
use std::path::Path;

use runnel_io::direct_file::{DirectFile, Options};

use crate::disk::File;

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
