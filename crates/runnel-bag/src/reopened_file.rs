//! File that is open only while it is read: bags may have more files than a process may open.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

pub(crate) struct ReopenedFile {
    path: PathBuf,
    position: u64,
    /// A file that is removed at the end.
    _temporary: Option<TempPath>,
}

impl ReopenedFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), position: 0, _temporary: None }
    }

    /// A file that is removed at the end.
    #[cfg(feature = "zstd")]
    pub(crate) fn temporary(path: TempPath) -> Self {
        Self { path: path.to_path_buf(), position: 0, _temporary: Some(path) }
    }
}

impl Read for ReopenedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.position))?;
        let len = file.read(buffer)?;
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for ReopenedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut file = File::open(&self.path)?;
        self.position = match to {
            SeekFrom::Current(offset) => {
                file.seek(SeekFrom::Start(self.position))?;
                file.seek(SeekFrom::Current(offset))?
            }
            other => file.seek(other)?,
        };
        Ok(self.position)
    }
}
