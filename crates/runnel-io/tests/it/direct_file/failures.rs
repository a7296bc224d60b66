//! Writes that fail.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use runnel_io::direct_file::{DirectFile, Method, Options};

use super::places::in_new_file_system;
use super::{allowed, only, write};

const LEN: usize = 64 << 10;

/// Writes until the disk is full, and then calls everything else. The whole writes before the failure are in the
/// file.
fn fill(path: &Path, options: &Options) {
    let mut file = DirectFile::create(path, options).unwrap();
    let mut error = None;
    for number in 0..1000_u64 {
        if let Err(failed) = write(&mut file, 1 + number as u8, LEN, number * LEN as u64) {
            error = Some(failed);
            break;
        }
    }
    let error = error.unwrap_or_else(|| panic!("{}: not full", path.display()));
    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    let text = error.to_string();
    let at = text.split("at byte ").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
    let whole = at.parse::<usize>().unwrap();
    assert!(text.contains(&path.display().to_string()), "{text}");
    // Nothing hangs, and each call repeats the error.
    assert_eq!(file.buffer().err().unwrap().to_string(), text);
    assert_eq!(file.sync().unwrap_err().to_string(), text);
    assert_eq!(file.finish(5).unwrap_err().to_string(), text);
    drop(file);
    let bytes = fs::read(path).unwrap();
    assert!((1 << 20..2 << 20).contains(&whole) && bytes.len() >= whole, "{whole} of {}", bytes.len());
    for (place, byte) in bytes[..whole].iter().enumerate() {
        assert_eq!(*byte, 1 + (place / LEN) as u8, "{place}");
    }
}

#[test]
fn full_disk_is_an_error_that_names_file_and_position() {
    in_new_file_system("full", &["-t", "tmpfs", "-o", "size=1540k", "tmpfs"], |folder| {
        for method in allowed(folder) {
            for preallocate in [0, 1 << 20] {
                let path = folder.join(format!("{method:?} {preallocate}"));
                fill(&path, &Options { preallocate, ..only(method) });
                fs::remove_file(&path).unwrap();
            }
        }
    });
}

#[test]
fn read_only_file_system_is_an_error_that_names_the_file() {
    in_new_file_system("read_only", &["-t", "tmpfs", "-o", "ro", "tmpfs"], |folder| {
        let path = folder.join("bag");
        let error = DirectFile::create(&path, &Options::default()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::ReadOnlyFilesystem);
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    });
}

/// The disk has an inode and no block left.
#[test]
fn file_that_cannot_be_written_at_all_is_removed() {
    in_new_file_system("no_block", &["-t", "tmpfs", "-o", "size=16k", "tmpfs"], |folder| {
        fs::write(folder.join("rest"), [0; 16 << 10]).unwrap();
        let path = folder.join("bag");
        let error = DirectFile::create(&path, &Options::default()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        assert!(!path.exists());
        assert!(Method::ALL.iter().all(|method| DirectFile::create(&path, &only(*method)).is_err()));
    });
}
