//! `convert`, `filter`, `merge` and `cut` that write folders of `ros2 bag`.

use std::fs;

use runnel_bag::files::Folder;
use runnel_bag::mcap::Profile;
use runnel_bag::rosbag2::{BagMetadata, CUSTOM_DATA, FileInfo, METADATA_FILE, Writer};
use runnel_bag::{BagWriter, Encoding, Format, open};
use tempfile::TempDir;

use super::inputs::{Inputs, Wanted};
use super::new_bag::NewBag;
use super::reading_progress::ReadingProgress;
use super::storage::Storage;
use super::transfer::{first_output, transfer};
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

/// An empty folder with a text of the user.
fn write_folder_with_text(parent: &TempDir, name: &str, key: &str, text: &str) {
    let folder = Folder::create(&parent.path().join(name)).expect("a folder");
    let mut writer = Writer::new(folder, name, Profile::Ros2, "").expect("a bag");
    writer.add_custom_data(key, text);
    writer.finish().expect("it is written");
}

#[test]
fn user_texts_are_copied() {
    let folder = folder();
    write_folder_with_text(&folder, "x", "robot", "r1");
    write_folder_with_text(&folder, "y", "place", "hall");
    for line in
        ["merge @x @y @both -s rosbag2", "merge @x @y @both.mcap", "convert @both.mcap @again -s rosbag2"]
    {
        bag(&folder, line).expect(line);
    }
    let texts =
        [("place", "hall"), ("robot", "r1")].map(|(key, text)| (key.to_owned(), text.to_owned())).into();
    for name in ["both", "again"] {
        let text = fs::read_to_string(folder.path().join(name).join(METADATA_FILE)).expect("metadata");
        assert_eq!(BagMetadata::parse(&text).expect("sound").custom_data, texts, "{name}");
    }
    for name in ["both", "both.mcap"] {
        let mut records = open(&folder.path().join(name)).expect("a bag").metadata().expect("sound");
        records.retain(|record| record.name == CUSTOM_DATA);
        let values: Vec<_> = records.into_iter().map(|record| record.values).collect();
        assert_eq!(values, std::slice::from_ref(&texts), "{name}");
    }
}

#[test]
fn missing_files_are_listed() {
    let folder = folder();
    write_folder_with_text(&folder, "x", "robot", "r1");
    let path = folder.path().join("x").join(METADATA_FILE);
    let mut metadata = BagMetadata::parse(&fs::read_to_string(&path).expect("metadata")).expect("sound");
    metadata.files.push(FileInfo { path: "x_1.mcap".to_owned(), ..FileInfo::default() });
    fs::write(&path, metadata.to_string()).expect("metadata");
    let inputs = &mut Inputs::open(&[folder.path().join("x")]).expect("a bag");
    let output = NewBag::default().create(&folder.path().join("y.mcap"), inputs).expect("it is free");
    let progress = &mut ReadingProgress::hidden("");
    let done =
        transfer(inputs, &Wanted::default(), vec![output], first_output, progress).expect("it is written");
    assert_eq!((done.missing, done.damaged), (vec![folder.path().join("x/x_1.mcap")], 0));
}
