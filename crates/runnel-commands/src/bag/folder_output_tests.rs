//! `convert`, `filter`, `merge` and `cut` that write folders of `ros2 bag`.

use std::fs;

use runnel_bag::rosbag2::{BagMetadata, METADATA_FILE};
use runnel_bag::{Encoding, Format};

use super::storage::Storage;
use super::transfer_tests::{bag, content, folder, names, write};

#[test]
fn folders_are_written_by_all_commands_that_copy() {
    let folder = folder();
    let messages = [10, 11, 12].map(|second| ("/a", Encoding::Cdr, second));
    write(&folder, "x.mcap", Storage::Mcap, &[&messages[..], &[("/b", Encoding::Cdr, 13)]].concat());
    for (line, expected) in [
        ("convert @x.mcap @y", "/a10 /a11 /a12 /b13"),
        ("cut @x.mcap @y --start 1 --end 2", "/a11 /a12"),
        ("filter @x.mcap @y --topics /b", "/b13"),
        // A slash at the end is none of the name.
        ("merge @x.mcap @x.mcap @y/ --compression zstd", "/a10 /a10 /a11 /a11 /a12 /a12 /b13 /b13"),
    ] {
        bag(&folder, &format!("{line} -s rosbag2")).expect(line);
        assert_eq!(content(&folder, "y"), (expected.to_owned(), Format::Rosbag2Mcap), "{line}");
        let path = folder.path().join("y");
        let text = fs::read_to_string(path.join(METADATA_FILE)).expect("metadata");
        let files = BagMetadata::parse(&text).expect("sound").files;
        assert_eq!(files.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["y_0.mcap"], "{line}");
        bag(&folder, "check @y").expect("it is good");
        let refused = bag(&folder, "convert @x.mcap @y -s rosbag2").expect_err("it exists").to_string();
        assert!(refused.contains("/y: the file exists"), "{refused}");
        fs::remove_dir_all(path).expect("a folder");
    }
    assert_eq!(names(&folder), ["x.mcap"]);
}

#[test]
fn refused_folder_is_removed() {
    let folder = folder();
    write(&folder, "x.mcap", Storage::Mcap, &[("/b", Encoding::Cdr, 1), ("/a", Encoding::Ros1, 2)]);
    for (options, expected) in [
        ("", "topic /a: its messages are not of ROS 2, and folders of ros2 bag hold no others"),
        ("--compression bz2", "MCAP has no bz2"),
        ("--split-generations", "--split-generations writes MCAP files"),
    ] {
        let line = format!("convert @x.mcap @y -s rosbag2 {options}");
        let refused = bag(&folder, &line).expect_err("it is refused").to_string();
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(names(&folder), ["x.mcap"], "{options}");
    }
}
