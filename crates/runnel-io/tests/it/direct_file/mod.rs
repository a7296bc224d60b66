//! Files written past the page cache, by each method that the system allows.

mod failures;
mod places;
mod refusals;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use runnel_io::direct_file::{DirectFile, Method, Options};

use places::Folder;

/// Options that allow one method, with small buffers.
fn only(method: Method) -> Options {
    Options { methods: vec![method], buffer_len: 64 << 10, buffers: 4, preallocate: 1 << 20 }
}

/// The methods that the file system of the folder allows.
fn allowed(folder: &Path) -> Vec<Method> {
    let path = folder.join("allowed");
    let is_allowed = |method: &Method| {
        let made = DirectFile::create(&path, &only(*method)).map(drop);
        fs::remove_file(&path).is_ok() && made.is_ok()
    };
    let allowed: Vec<_> = Method::ALL.into_iter().filter(is_allowed).collect();
    assert!(allowed.contains(&Method::WriteBack), "every file system has a page cache");
    allowed
}

/// Writes a buffer full of this byte.
fn write(file: &mut DirectFile, byte: u8, len: usize, at: u64) -> std::io::Result<()> {
    let mut buffer = file.buffer()?;
    buffer[..len].fill(byte);
    file.write(buffer, len, at)
}

#[test]
fn blocks_are_written_and_the_end_is_cut() {
    let folder = Folder::new("written");
    for method in allowed(folder.path()) {
        let path = folder.path().join(format!("{method:?}"));
        let mut file = DirectFile::create(&path, &only(method)).unwrap();
        assert_eq!(file.write_path().method, method);
        let block = file.block();
        for number in 0..100_u8 {
            write(&mut file, number, block, u64::from(number) * block as u64).unwrap();
        }
        file.sync().unwrap();
        file.finish(99 * block as u64 + 7).unwrap();
        let expected: Vec<u8> = (0..100).flat_map(|number| vec![number; block]).collect();
        assert!(fs::read(&path).unwrap() == expected[..99 * block + 7], "{method}");
    }
}

/// Without waiting for the earlier write, two would be in flight at a time.
#[test]
fn writes_of_one_block_reach_the_disk_in_order() {
    let folder = Folder::new("order");
    for method in allowed(folder.path()) {
        let path = folder.path().join(format!("{method:?}"));
        let options = Options { preallocate: 0, ..only(method) };
        let mut file = DirectFile::create(&path, &options).unwrap();
        let (block, len) = (file.block(), 64 << 10);
        for number in 0..=250_u8 {
            write(&mut file, number, len, 0).unwrap();
            write(&mut file, number, block, len as u64 - block as u64).unwrap();
            assert!(method != Method::DirectRing || file.in_flight() <= 1, "{method}");
        }
        file.finish(len as u64).unwrap();
        assert!(fs::read(&path).unwrap().iter().all(|byte| *byte == 250), "{method}");
    }
}

#[test]
fn existing_file_is_not_replaced() {
    let folder = Folder::new("existing");
    let path = folder.path().join("bag");
    fs::write(&path, "precious").unwrap();
    let error = DirectFile::create(&path, &Options::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn missing_folder_is_not_created() {
    let folder = Folder::new("missing");
    let path = folder.path().join("none/bag");
    let error = DirectFile::create(&path, &Options::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("none/bag"), "{error}");
}

#[test]
fn buffers_are_bounded_and_come_back() {
    let folder = Folder::new("buffers");
    let path = folder.path().join("bag");
    let mut file = DirectFile::create(&path, &Options { buffers: 5, ..Options::default() }).unwrap();
    for _ in 0..3 {
        let held: Vec<_> = (0..5).map(|_| file.buffer().unwrap()).collect();
        let error = file.buffer().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::ResourceBusy, "{error}");
        drop(held);
    }
}

/// The space of the reserved part is freed at the end, however the file ends.
#[test]
fn reserved_space_is_freed() {
    let folder = Folder::new("reserved");
    for method in allowed(folder.path()) {
        for finishes in [true, false] {
            let path = folder.path().join(format!("{method:?} {finishes}"));
            let mut file = DirectFile::create(&path, &only(method)).unwrap();
            let block = file.block();
            write(&mut file, 1, block, 0).unwrap();
            file.sync().unwrap();
            let reserved = fs::metadata(&path).unwrap();
            assert_eq!(reserved.len(), block as u64, "{method}");
            assert!(reserved.blocks() * 512 >= 1 << 20, "{method}: {} blocks", reserved.blocks());
            if finishes {
                file.finish(10).unwrap();
            }
            drop(file);
            let done = fs::metadata(&path).unwrap();
            assert_eq!(done.len(), if finishes { 10 } else { block as u64 });
            assert!(done.blocks() * 512 <= 64 << 10, "{method}: {} blocks", done.blocks());
        }
    }
}

/// Whichever thread submits an operation and waits for it, also after another one has ended.
#[test]
fn file_outlives_the_thread_that_writes() {
    const WRITES: u8 = 8;
    let folder = Folder::new("thread");
    let options = |method| Options { buffers: WRITES.into(), buffer_len: 1 << 20, ..only(method) };
    for method in allowed(folder.path()) {
        for attempt in 0..4 {
            let path = folder.path().join(format!("{method:?} {attempt}"));
            let file = DirectFile::create(&path, &options(method)).unwrap();
            let first = std::thread::spawn(move || {
                let mut file = file;
                for number in 0..WRITES {
                    write(&mut file, 1 + number, 1 << 20, u64::from(number) << 20).unwrap();
                }
                file
            });
            let mut file = first.join().unwrap();
            file.finish(u64::from(WRITES) << 20).unwrap();
            let written = fs::read(&path).unwrap();
            assert_eq!(written.len(), usize::from(WRITES) << 20);
            assert!(
                written.chunks(1 << 20).zip(1..).all(|(part, byte)| part == vec![byte; 1 << 20]),
                "{method}"
            );
            fs::remove_file(&path).unwrap();
        }
    }
}

/// Direct I/O leaves no page; the others keep a window of 8 MiB and drop it at the end.
#[test]
fn page_cache_is_left_alone() {
    let folder = Folder::new("cache");
    if folder.is_in_memory() {
        eprintln!("{}: a file system in memory is the page cache", folder.path().display());
        return;
    }
    for method in allowed(folder.path()) {
        let path = folder.path().join(format!("{method:?}"));
        let mut file = DirectFile::create(&path, &only(method)).unwrap();
        for number in 0..512_u64 {
            write(&mut file, 3, 64 << 10, number << 16).unwrap();
            if number % 128 == 127 {
                let cached = places::bytes_in_page_cache(&path);
                let most = if method.is_direct() { 0 } else { 9 << 20 };
                assert!(cached <= most, "{method}: {cached} bytes in the page cache");
            }
        }
        file.finish(512 << 16).unwrap();
        assert_eq!(places::bytes_in_page_cache(&path), 0, "{method}");
    }
}
