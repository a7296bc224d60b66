//! Folders of rosbag2 with an SQLite file of any contents: all that a reader does ends, and its memory is limited.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use runnel_bag::{Selection, open};

/// A folder in memory. The library SQLite opens files by their paths.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    parent.join(format!("runnel_fuzz_{}", std::process::id()))
});

fuzz_target!(|data: &[u8]| {
    fs::create_dir_all(&*FOLDER).expect("a folder");
    fs::write(FOLDER.join("bag_0.db3"), data).expect("a file");
    let opened = open(&FOLDER);
    // The reader keeps the file open. Nothing is left when the fuzzer ends.
    fs::remove_dir_all(&*FOLDER).expect("it was just created");
    let Ok(mut reader) = opened else { return };
    let channels = reader.channels().len();
    assert_eq!(reader.summary().counts.len(), channels);
    // A damaged file can show a page many times.
    for message in reader.messages(&Selection::default()).take(100_000).flatten() {
        assert!(message.channel.index() < channels);
    }
});
