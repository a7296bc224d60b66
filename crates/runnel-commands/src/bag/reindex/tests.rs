//! Folders of `ros2 bag` after their recorder was killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use runnel_bag::files::Folder;
use runnel_bag::mcap::Profile;
use runnel_bag::rosbag2::{BagMetadata, FolderWriter, METADATA_FILE};
use runnel_bag::{
    BagReader, BagWriter, Channel, Encoding, NewMessage, Schema, SchemaLanguage, Selection, open_folder,
};
use tempfile::TempDir;

use crate::bag::reading_progress::ReadingProgress;
use crate::bag::transfer::Transferred;
use crate::error::CliError;

fn repair(folder: &Path, force: bool) -> Result<Option<Transferred>, CliError> {
    super::folder::repair(folder, force, &mut ReadingProgress::hidden(""))
}

/// A folder with three files of five messages each. The last one is not finished, and the metadata do not list it.
fn killed() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().expect("a folder");
    let path = parent.path().join("run");
    let mut folder = FolderWriter::new(Folder::create(&path).expect("a folder"), "run", "jazzy");
    folder.add_custom_data("robot", "r1");
    for number in 0..3_u64 {
        let mut file = folder.begin_file(Profile::Ros2).expect("a file");
        let id = file.add_channel(&channel()).expect("a channel");
        for log_time in 10 * number..10 * number + 5 {
            let data = [log_time as u8];
            let data = data[..].into();
            let message = NewMessage { channel: id, log_time, publish_time: log_time, sequence: 0, data };
            file.write(&message).expect("it is written");
        }
        if number < 2 { file.finish() } else { file.sync() }.expect("it is written");
        folder.write_metadata().expect("they are written");
    }
    (parent, path)
}

fn channel() -> Channel {
    Channel {
        topic: "/a".to_owned(),
        type_name: "std_msgs/msg/Byte".to_owned(),
        encoding: Encoding::Cdr,
        schema: Schema { language: SchemaLanguage::Ros2Msg, data: b"byte data\n".to_vec() },
        ..Channel::default()
    }
}

/// The files of a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file"));
    let file = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("a file"))
    };
    entries.map(file).collect()
}

fn metadata(folder: &Path) -> BagMetadata {
    let text = fs::read_to_string(folder.join(METADATA_FILE)).expect("metadata");
    BagMetadata::parse(&text).expect("sound")
}

/// The messages of a folder that needs no repair.
fn messages(folder: &Path) -> Vec<u8> {
    let mut bag = open_folder(folder).expect("a bag");
    assert!(bag.summary().is_finished && bag.damage().is_none(), "{:?}", bag.damage());
    bag.messages(&Selection::default()).map(|read| read.expect("sound").data[0]).collect()
}

const MESSAGES: [u8; 15] = [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24];

#[test]
fn unfinished_file_is_repaired_and_listed() {
    let (_parent, path) = killed();
    let old = files(&path);
    let done = repair(&path, false).expect("it is repaired").expect("it was not whole");
    assert_eq!(done.files, [(path.join("run_2.mcap"), 5), (path.join(METADATA_FILE), 15)]);
    assert_eq!(messages(&path), MESSAGES);
    let new = files(&path);
    let kept = [("run_2.orig.mcap", "run_2.mcap"), ("metadata.orig.yaml", METADATA_FILE)];
    for (backup, name) in kept {
        assert_eq!(new[backup], old[name], "{name} is kept");
    }
    assert_eq!((new.len(), &new["run_0.mcap"]), (old.len() + 2, &old["run_0.mcap"]));
    let metadata = metadata(&path);
    let listed: Vec<_> = metadata.files.iter().map(|file| (&*file.path, file.message_count)).collect();
    assert_eq!(listed, [("run_0.mcap", 5), ("run_1.mcap", 5), ("run_2.mcap", 5)]);
    assert_eq!((&*metadata.ros_distro, &*metadata.custom_data["robot"]), ("jazzy", "r1"));
    assert_eq!(repair(&path, false).expect("it can be read"), None, "nothing is left to repair");
}

#[test]
fn missing_metadata_are_written() {
    let (_parent, path) = killed();
    repair(&path, false).expect("it is repaired");
    let expected = metadata(&path);
    fs::remove_file(path.join(METADATA_FILE)).expect("a file");
    let old = files(&path);
    repair(&path, false).expect("it is repaired").expect("it was not whole");
    assert_eq!(metadata(&path), expected);
    assert_eq!(messages(&path), MESSAGES);
    let mut new = files(&path);
    new.remove(METADATA_FILE);
    assert_eq!(new, old, "the files stay as they are");
}

#[test]
fn damaged_file_is_named_and_nothing_changed() {
    let (_parent, path) = killed();
    fs::write(path.join("run_1.mcap"), "nothing").expect("a file");
    let old = files(&path);
    let why = repair(&path, false).expect_err("it is no bag").to_string();
    assert!(why.starts_with(&format!("{}: run_1.mcap: not a bag", path.display())), "{why}");
    assert_eq!(files(&path), old);
}

/// The end of the file is cut off.
#[test]
fn readable_part_of_damaged_file_is_kept() {
    let (_parent, path) = killed();
    let whole = fs::read(path.join("run_1.mcap")).expect("a file");
    fs::write(path.join("run_1.mcap"), &whole[..whole.len() - 20]).expect("a file");
    let done = repair(&path, false).expect("it is repaired").expect("it was not whole");
    let written: Vec<_> = done.files.iter().map(|(path, _)| path.file_name().expect("a name")).collect();
    assert_eq!(written, ["run_1.mcap", "run_2.mcap", METADATA_FILE]);
    assert_eq!(messages(&path), MESSAGES);
}

#[test]
fn taken_name_is_refused_before_anything_is_changed() {
    for taken in ["run_2.orig.mcap", "metadata.orig.yaml"] {
        let (_parent, path) = killed();
        fs::write(path.join(taken), "mine").expect("a file");
        let old = files(&path);
        let why = repair(&path, false).expect_err("the name is taken").to_string();
        assert!(why.contains(taken) && why.contains("the file exists"), "{why}");
        assert_eq!(files(&path), old);
    }
}

/// They would get names that say that they are compressed.
#[test]
fn compressed_file_is_not_written_anew() {
    let (_parent, path) = killed();
    for number in 0..3 {
        let name = path.join(format!("run_{number}.mcap"));
        fs::rename(&name, name.with_extension("mcap.zstd")).expect("a file");
    }
    fs::remove_file(path.join(METADATA_FILE)).expect("a file");
    let old = files(&path);
    let why = repair(&path, false).expect_err("it is compressed").to_string();
    assert!(why.contains("run_2.mcap.zstd: ") && why.contains("Try: zstd -d"), "{why}");
    assert_eq!(files(&path), old);
}

#[test]
fn missing_file_is_named_and_left_out() {
    let (_parent, path) = killed();
    fs::remove_file(path.join("run_1.mcap")).expect("a file");
    let bag = open_folder(&path).expect("the others are there");
    let damage = bag.damage().expect("damage").to_string();
    assert_eq!(damage, "metadata.yaml: files that it lists are missing: run_1.mcap");
    drop(bag);
    let done = repair(&path, false).expect("it is repaired").expect("it was not whole");
    assert_eq!(done.missing, [path.join("run_1.mcap")]);
    let kept: Vec<u8> = MESSAGES.into_iter().filter(|message| !(10..20).contains(message)).collect();
    assert_eq!(messages(&path), kept);
    let metadata = metadata(&path);
    let listed: Vec<_> = metadata.files.iter().map(|file| &*file.path).collect();
    assert_eq!(listed, ["run_0.mcap", "run_2.mcap"]);
    fs::remove_file(path.join("run_2.orig.mcap")).expect("a file");
    fs::remove_file(path.join("metadata.orig.yaml")).expect("a file");
    for name in listed {
        fs::rename(path.join(name), path.join(name.replace("run", "other"))).expect("a file");
    }
    let done = repair(&path, false).expect("it is repaired").expect("it was not whole");
    assert_eq!(done.missing, [path.join("run_0.mcap"), path.join("run_2.mcap")], "they have other names");
    assert_eq!(messages(&path), kept);
    for name in ["other_0.mcap", "other_2.mcap"] {
        fs::remove_file(path.join(name)).expect("a file");
    }
    let why = repair(&path, false).expect_err("nothing is left").to_string();
    assert!(
        why.ends_with("metadata.yaml: files that it lists are missing: other_0.mcap, other_2.mcap"),
        "{why}"
    );
}
