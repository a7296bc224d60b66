//! Bags exchanged with the JavaScript packages `@mcap/core`, in both directions, and `@foxglove/rosbag`, which only reads.

use std::fs::File;

use interop::{javascript_bag_tool, outcome};
use runnel_bag::mcap::{self, Profile};
use runnel_bag::rosbag;
use runnel_bag::{Attachment, BagWriter, Compression, Encoding};
use tempfile::TempDir;

use crate::bag_formats::{
    COMPRESSIONS, check, line, metadata, ros1_channel, ros2_channel, text, write_messages,
};

/// It reads each file by its index and from start to end.
#[test]
fn mcap_core_package_reads_mcap() {
    let folder = TempDir::new().expect("a folder");
    for compression in COMPRESSIONS {
        let path = folder.path().join(compression.name());
        let mut writer =
            mcap::Writer::new(File::create(&path).expect("a file"), Profile::None).expect("a bag");
        writer.set_compression(compression).expect("MCAP has it");
        write_messages(&mut writer, &[ros1_channel(), ros2_channel()], |_, _| ());
        let attachment = Attachment {
            name: "note.txt".to_owned(),
            media_type: "text/plain".to_owned(),
            data: b"hello".to_vec(),
            ..Attachment::default()
        };
        writer.add_attachment(&attachment).expect("it is added");
        writer.add_metadata(&metadata()).expect("they are added");
        writer.finish().expect("it is finished");
        let listing = outcome(javascript_bag_tool("mcap_file.mjs", &["read", text(&path)]));
        let expected = [
            "profile ".to_owned(),
            line(&ros1_channel()),
            line(&ros2_channel()),
            "attachment note.txt text/plain hello".to_owned(),
            r#"metadata place {"city":"Turin"}"#.to_owned(),
        ];
        assert_eq!(listing.lines, expected, "{}", compression.name());
    }
}

/// The package has no compression of its own; the test gives it Zstandard.
#[test]
fn files_of_mcap_core_package_are_read() {
    let folder = TempDir::new().expect("a folder");
    for (profile, encoding) in [("ros1", Encoding::Ros1), ("ros2", Encoding::Cdr)] {
        for compression in ["none", "zstd"] {
            let path = folder.path().join(format!("{profile}_{compression}.mcap"));
            let written =
                outcome(javascript_bag_tool("mcap_file.mjs", &["write", text(&path), profile, compression]));
            assert_eq!(written.code, Some(0), "{:#?}", written.lines);
            let mut reader = check(&path, &encoding);
            let metadata = reader.metadata().expect("metadata");
            assert_eq!((&*metadata[0].name, &*metadata[0].values["city"]), ("place", "Turin"));
            let attachments: Result<Vec<_>, _> = reader.read_attachments().collect();
            assert_eq!(attachments.expect("an attachment")[0].data, b"hello");
        }
    }
}

/// Uncompressed chunks have a private field in their headers.
#[test]
fn foxglove_rosbag_package_reads_rosbag() {
    let folder = TempDir::new().expect("a folder");
    for compression in [Compression::None, Compression::Bz2, Compression::Lz4] {
        let path = folder.path().join(compression.name());
        let mut writer = rosbag::Writer::new(File::create(&path).expect("a file")).expect("a bag");
        writer.set_compression(compression).expect("rosbag has it");
        write_messages(&mut writer, &[ros1_channel()], |_, _| ());
        assert!(writer.add_metadata(&metadata()).expect("they are added"));
        writer.finish().expect("it is finished");
        let listing = outcome(javascript_bag_tool("rosbag_file.mjs", &["read", text(&path)]));
        assert_eq!(listing.lines, [line(&ros1_channel())], "{}", compression.name());
    }
}
