//! How the files of a folder reach the disk.

use std::fs;
use std::path::Path;

use runnel_io::direct_file::{DirectFile, Options};

/// How files of this folder are written, and why, if they are written through the page cache.
pub fn cached_write_path(folder: &Path) -> Option<String> {
    let path = folder.join(format!(".runnel_record_{}", std::process::id()));
    // If no file can be created, the recording says so.
    let probe = DirectFile::create(&path, &Options::default()).ok()?;
    let write_path = probe.write_path();
    let text = (!write_path.method.is_direct()).then(|| write_path.to_string());
    drop(probe);
    // It is empty, and this process created it.
    _ = fs::remove_file(&path);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_leaves_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = cached_write_path(folder.path());
        assert!(text.is_none_or(|text| !text.is_empty()));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
        assert_eq!(cached_write_path(Path::new("/proc/self")), None, "no file can be created");
    }
}
