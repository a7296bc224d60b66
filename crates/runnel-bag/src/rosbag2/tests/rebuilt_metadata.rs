//! Folders whose `metadata.yaml` is missing or old.

use std::fs;
use std::path::Path;

use super::folder::{Real, numbers, write};
use crate::rosbag2::{BagMetadata, CompressionMode, METADATA_FILE, rebuilt_metadata};
use crate::{BagReader, BagWriter, Selection, open_folder};

fn listed(folder: &Path) -> BagMetadata {
    BagMetadata::parse(&fs::read_to_string(folder.join(METADATA_FILE)).unwrap()).unwrap()
}

/// Three files of 10 messages each, and the metadata that are then removed.
fn without_metadata() -> (tempfile::TempDir, BagMetadata) {
    let folder = tempfile::tempdir().unwrap();
    write(Real(folder.path())).finish().unwrap();
    let metadata = listed(folder.path());
    fs::remove_file(folder.path().join(METADATA_FILE)).unwrap();
    (folder, metadata)
}

fn rebuilt(folder: &Path) -> BagMetadata {
    let mut bag = open_folder(folder).unwrap();
    let recorded = bag.recorded_metadata();
    rebuilt_metadata(&bag, recorded.as_ref()).unwrap()
}

#[test]
fn folder_is_finished_if_metadata_list_all_files() {
    let (folder, metadata) = without_metadata();
    let is_finished = || open_folder(folder.path()).unwrap().summary().is_finished;
    assert!(!is_finished(), "there are no metadata");
    fs::write(folder.path().join(METADATA_FILE), metadata.to_string()).unwrap();
    assert!(is_finished());
    let files = metadata.files[..2].to_vec();
    fs::write(folder.path().join(METADATA_FILE), BagMetadata { files, ..metadata }.to_string()).unwrap();
    assert!(!is_finished(), "the last file is not listed");
}

#[test]
fn rebuilt_metadata_are_those_of_the_recorder() {
    let (folder, metadata) = without_metadata();
    assert_eq!(
        (metadata.files.len(), &*metadata.custom_data["robot"], &*metadata.ros_distro),
        (3, "r1", "jazzy")
    );
    assert_eq!(rebuilt(folder.path()), metadata);
}

/// A recorder that goes on after the disk was full does not list the file that it gave up.
#[test]
fn file_between_listed_ones_is_read() {
    let (folder, metadata) = without_metadata();
    let mut files = metadata.files.clone();
    files.remove(1);
    let old = BagMetadata { files, ..metadata.clone() };
    fs::write(folder.path().join(METADATA_FILE), old.to_string()).unwrap();
    let mut bag = open_folder(folder.path()).unwrap();
    assert_eq!(numbers(&mut bag, &Selection::default()), (0..30).collect::<Vec<_>>());
    assert_eq!(rebuilt(folder.path()), metadata);
}

#[test]
fn replaced_and_empty_files_are_no_part_of_the_bag() {
    let (folder, metadata) = without_metadata();
    let path = |name: &str| folder.path().join(name);
    fs::copy(path("drive_1.mcap"), path("drive_1.orig.mcap")).unwrap();
    fs::write(path("drive_3.mcap"), "").unwrap();
    assert_eq!(rebuilt(folder.path()), metadata);
    fs::rename(path("drive_0.mcap"), path("drive_0.orig.mcap")).unwrap();
    assert_eq!(rebuilt(folder.path()).message_count, 30, "nothing has replaced it yet");
}

#[cfg(feature = "zstd")]
#[test]
fn compression_is_that_of_all_files() {
    let (folder, metadata) = without_metadata();
    let compress = |number: u32| {
        let path = folder.path().join(format!("drive_{number}.mcap"));
        let compressed = zstd::bulk::compress(&fs::read(&path).unwrap(), 1).unwrap();
        fs::write(path.with_extension("mcap.zstd"), compressed).unwrap();
        fs::remove_file(path).unwrap();
    };
    compress(1);
    let error = rebuilt_metadata(&open_folder(folder.path()).unwrap(), None).unwrap_err().to_string();
    assert!(error.starts_with("drive_1.mcap.zstd: ") && error.contains("with drive_0.mcap"), "{error}");
    [0, 2].into_iter().for_each(compress);
    let found = rebuilt(folder.path());
    assert_eq!((&*found.compression_format, found.compression_mode), ("zstd", CompressionMode::File));
    assert_eq!((&*found.files[2].path, found.message_count), ("drive_2.mcap.zstd", 30));
    // Messages that are compressed one by one look like others.
    let mode = CompressionMode::Message;
    let recorded = BagMetadata { compression_mode: mode, compression_format: "zstd".into(), ..metadata };
    let (folder, _) = without_metadata();
    let found = rebuilt_metadata(&open_folder(folder.path()).unwrap(), Some(&recorded)).unwrap();
    assert_eq!((&*found.compression_format, found.compression_mode), ("zstd", CompressionMode::Message));
}
