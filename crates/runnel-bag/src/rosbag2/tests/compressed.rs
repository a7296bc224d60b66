//! Bags whose files or messages are compressed as a whole.

use std::{fs, io};

use super::folder::{Real, mcap_bytes, mcap_file, numbers, write};
use crate::rosbag2::{BagMetadata, CompressionMode, METADATA_FILE, Reader};
use crate::{BagReader, BagWriter, Error, Selection, open};

#[test]
fn compressed_messages_are_decompressed() {
    let compress = |text: &[u8]| zstd::bulk::compress(text, 1).unwrap();
    let files = vec![mcap_file(&[(1, compress(&[7; 1000])), (2, b"no frame".to_vec()), (3, compress(b"8"))])];
    let metadata = BagMetadata {
        compression_mode: CompressionMode::Message,
        compression_format: "zstd".into(),
        ..BagMetadata::default()
    };
    let mut reader = Reader::new(Some(&metadata), files).unwrap();
    let messages: Vec<_> = reader.messages(&Selection::default()).collect();
    assert_eq!(&*messages[0].as_ref().unwrap().data, &[7; 1000]);
    assert!(matches!(messages[1], Err(Error::MessageDecompression { log_time: 2, .. })), "{:?}", messages[1]);
    assert_eq!(&*messages[2].as_ref().unwrap().data, b"8");
}

#[test]
fn compressed_files_are_decompressed() {
    let folder = tempfile::tempdir().unwrap();
    write(Real(folder.path())).finish().unwrap();
    for number in 0..3 {
        let path = folder.path().join(format!("drive_{number}.mcap"));
        let compressed = zstd::bulk::compress(&fs::read(&path).unwrap(), 1).unwrap();
        fs::write(folder.path().join(format!("drive_{number}.mcap.zstd")), compressed).unwrap();
        fs::remove_file(path).unwrap();
    }
    let text = fs::read_to_string(folder.path().join(METADATA_FILE)).unwrap();
    let text = text
        .replace("compression_format: \"\"", "compression_format: zstd")
        .replace("compression_mode: \"\"", "compression_mode: FILE")
        .replace(".mcap\"", ".mcap.zstd\"");
    fs::write(folder.path().join(METADATA_FILE), text).unwrap();
    let mut reader = open(folder.path()).unwrap();
    assert_eq!(numbers(&mut *reader, &Selection::default()), (0..30).collect::<Vec<_>>());
    drop(reader);
    fs::remove_file(folder.path().join(METADATA_FILE)).unwrap();
    assert_eq!(numbers(&mut *open(folder.path()).unwrap(), &Selection::default()).len(), 30);
}

#[test]
fn file_much_longer_than_its_compressed_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros.mcap.zstd");
    let compressed = fs::File::create(&path).unwrap();
    zstd::stream::copy_encode(io::Read::take(io::repeat(0), 257 << 20), compressed, 1).unwrap();
    let error = open(&path).err().unwrap().to_string();
    assert!(error.ends_with("the bag is longer than 1024 times its compressed length"), "{error}");
}

/// Each file alone is short enough.
#[test]
fn all_compressed_files_have_one_limit() {
    let folder = tempfile::tempdir().unwrap();
    write(Real(folder.path())).finish().unwrap();
    fs::remove_file(folder.path().join(METADATA_FILE)).unwrap();
    for number in 0..3 {
        let path = folder.path().join(format!("drive_{number}.mcap"));
        let mut file = fs::read(&path).unwrap();
        // Behind the footer, they are no part of the bag.
        file.resize(100 << 20, 0);
        let compressed = zstd::bulk::compress(&file, 1).unwrap();
        assert!(compressed.len() < 20_000, "the limit is that of small files");
        fs::write(folder.path().join(format!("drive_{number}.mcap.zstd")), compressed).unwrap();
        fs::remove_file(path).unwrap();
    }
    let error = open(folder.path()).err().unwrap().to_string();
    let expected = "drive_2.mcap.zstd: the bag is longer than 1024 times its compressed length";
    assert!(error.ends_with(expected), "{error}");
    fs::remove_file(folder.path().join("drive_2.mcap.zstd")).unwrap();
    assert_eq!(numbers(&mut *open(folder.path()).unwrap(), &Selection::default()).len(), 20);
}

/// More files than may be open at once. Their copies are removed at the end.
#[test]
fn many_compressed_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..100 {
        let bytes = mcap_bytes(&[(number, vec![number as u8])]);
        let path = folder.path().join(format!("x_{number}.mcap.zstd"));
        fs::write(path, zstd::bulk::compress(&bytes, 1).unwrap()).unwrap();
    }
    let open_files = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open_files();
    let mut reader = open(folder.path()).unwrap();
    assert!(open_files() < before + 50, "other tests open a few");
    assert_eq!(numbers(&mut *reader, &Selection::default()), (0..100).collect::<Vec<_>>());
}
