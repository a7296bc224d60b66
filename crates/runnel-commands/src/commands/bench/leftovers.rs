//! Files in shared memory that programs leave when they are killed, and some always.

use std::fs;
use std::io;
use std::path::Path;

/// Where named shared memory is.
pub const SHARED_MEMORY: &str = "/dev/shm";

/// Removes the files of a run from a folder: their names begin with the run's name and a dash.
///
/// # Errors
/// When one cannot be removed.
pub fn remove(folder: &Path, run: &str) -> io::Result<()> {
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
