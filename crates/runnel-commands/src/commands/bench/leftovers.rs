//! The folder of a run, and the files in shared memory that its programs leave when they are killed, and some always.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Where named shared memory is.
pub const SHARED_MEMORY: &str = "/dev/shm";

/// A folder that is removed at the end, with the files in shared memory whose names begin with its name and a dash.
pub struct RunFolder {
    folder: TempDir,
    shared_memory: PathBuf,
}

impl RunFolder {
    /// Creates it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create() -> io::Result<Self> {
        Self::create_beside(Path::new(SHARED_MEMORY))
    }

    fn create_beside(shared_memory: &Path) -> io::Result<Self> {
        Ok(Self { folder: TempDir::with_prefix("runnel-bench-")?, shared_memory: shared_memory.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes what ended programs have left in shared memory.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove_leftovers(&self) -> io::Result<()> {
        let run = self.path().file_name().and_then(|name| name.to_str());
        run.map_or(Ok(()), |run| remove(&self.shared_memory, run))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // Nobody is there any more who could do more about it than read of it.
        if let Err(error) = self.remove_leftovers() {
            eprintln!("cannot remove leftovers in {}: {error}", self.shared_memory.display());
        }
    }
}

/// Removes the files of a run from a folder: their names begin with the run's name and a dash.
///
/// # Errors
/// When one cannot be removed.
fn remove(folder: &Path, run: &str) -> io::Result<()> {
    let start = format!("{run}-");
    // Without shared memory there are no files.
    let Ok(files) = fs::read_dir(folder) else { return Ok(()) };
    for file in files.flatten() {
        if file.file_name().as_encoded_bytes().starts_with(start.as_bytes()) {
            fs::remove_file(file.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_folder_takes_its_shared_memory_with_it() {
        let shared_memory = tempfile::tempdir().unwrap();
        let folder = RunFolder::create_beside(shared_memory.path()).unwrap();
        let run = folder.path().to_owned();
        let name = run.file_name().unwrap().to_str().unwrap();
        for name in [format!("{name}-segment"), "of-another".to_owned()] {
            fs::write(shared_memory.path().join(name), "").unwrap();
        }
        drop(folder);
        let left: Vec<_> =
            fs::read_dir(shared_memory.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["of-another"]);
        assert!(!run.exists());
    }

    #[test]
    fn only_files_of_the_run_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["run-a-1", "run-a-2", "run-a", "run-ab-1", "other"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove(folder.path(), "run-a").unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["other", "run-a", "run-ab-1"]);
        remove(&folder.path().join("nowhere"), "run-a").unwrap();
    }
}
