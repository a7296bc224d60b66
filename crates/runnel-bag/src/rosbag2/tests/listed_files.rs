//! Files that `metadata.yaml` lists, and those that are in the folder.

use std::fs;
use std::path::Path;

use super::folder::{Real, channel, message};
use crate::mcap::Profile;
use crate::rosbag2::{BagMetadata, FileInfo, METADATA_FILE, Writer};
use crate::{BagWriter, mcap, open};

/// A folder whose metadata list these paths instead of the first file.
fn listing(paths: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("bag");
    fs::create_dir(&inner).unwrap();
    let mut writer = Writer::new(Real(&inner), "drive", Profile::Ros2, "jazzy").unwrap();
    let id = writer.add_channel(&channel("/a")).unwrap();
    writer.write(&message(id, 1, b"1")).unwrap();
    writer.finish().unwrap();
    let text = fs::read_to_string(inner.join(METADATA_FILE)).unwrap();
    let mut metadata = BagMetadata::parse(&text).unwrap();
    let file = metadata.files[0].clone();
    let listed = |path: &&str| FileInfo { path: (*path).to_owned(), ..file.clone() };
    metadata.files = paths.iter().map(listed).collect();
    fs::write(inner.join(METADATA_FILE), metadata.to_string()).unwrap();
    folder
}

#[test]
fn listed_path_leads_to_the_folder_only() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    let mut other = mcap::Writer::new(outside.reopen().unwrap(), Profile::Ros2).unwrap();
    other.finish().unwrap();
    let opened = |paths: &[&str]| {
        open(&listing(paths).path().join("bag")).map(|reader| reader.summary().counts.clone())
    };
    assert_eq!(opened(&["bag/drive_0.mcap"]).unwrap(), [1], "as old recorders write it");
    assert_eq!(opened(&["./drive_0.mcap"]).unwrap(), [1]);
    assert_eq!(opened(&["../bag/drive_0.mcap"]).unwrap(), [1], "the file of this name in the folder");
    let absolute = listing(&[outside.path().to_str().unwrap()]);
    let reader = open(&absolute.path().join("bag")).unwrap();
    assert_eq!(reader.summary().counts, [1], "only the file in the folder");
    let damage = reader.damage().unwrap().to_string();
    assert!(damage.starts_with("metadata.yaml: files that it lists are missing: "), "{damage}");
    let nowhere = opened(&[".."]).unwrap_err().to_string();
    assert!(nowhere.ends_with("metadata.yaml: file \"..\" is not in the folder"), "{nowhere}");
}

#[test]
fn damaged_file_is_named_before_missing_ones() {
    let folder = listing(&["drive_0.mcap", "drive_1.mcap"]);
    let file = folder.path().join("bag/drive_0.mcap");
    let mut bytes = fs::read(&file).unwrap();
    // The channel in the summary.
    let place = bytes.windows(2).rposition(|bytes| bytes == b"/a").unwrap();
    bytes[place] ^= 1;
    fs::write(&file, bytes).unwrap();
    let reader = open(&folder.path().join("bag")).unwrap();
    let damage = reader.damage().unwrap().to_string();
    assert!(damage.starts_with("drive_0.mcap: "), "{damage}");
    assert!(!reader.summary().is_finished);
}

#[test]
fn file_that_is_listed_twice_is_refused() {
    let folder = listing(&["drive_0.mcap", "./drive_0.mcap"]);
    let error = open(&folder.path().join("bag")).err().unwrap().to_string();
    assert!(error.ends_with("metadata.yaml: file \"drive_0.mcap\" is listed twice"), "{error}");
}

/// Opening a pipe would wait.
#[test]
fn device_is_refused() {
    let error = open(Path::new("/dev/zero")).err().unwrap().to_string();
    assert_eq!(error, "/dev/zero: it is no regular file");
}
