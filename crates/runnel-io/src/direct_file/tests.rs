//! Disks that are slow or fail, as the test says.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::io::Errno;

use super::*;

/// Ends one write for each result that the test sends, in order.
struct Scripted {
    results: Receiver<Result<(), Errno>>,
    writes: Vec<Write>,
    failure: Option<Failure>,
    file: Arc<OwnedFd>,
    /// Length of the file at the last sync.
    synced_len: Arc<AtomicU64>,
}

impl Scripted {
    fn end(&mut self, result: Result<(), Errno>) {
        let write = self.writes.remove(0);
        if let Err(error) = result {
            write.failure(error.into()).add_to(&mut self.failure);
        }
    }
}

impl Engine for Scripted {
    fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    fn allocate(&mut self, _at: u64, _len: u64) {}

    fn settle(&mut self) {
        while self.in_flight() > 0 {
            self.wait();
        }
    }

    fn sync(&mut self) {
        self.settle();
        self.synced_len.store(fstat(&self.file).unwrap().st_size as u64, Ordering::Relaxed);
    }

    fn poll(&mut self) {
        while !self.writes.is_empty()
            && let Ok(result) = self.results.try_recv()
        {
            self.end(result);
        }
    }

    fn wait(&mut self) {
        // Without a test, everything ends.
        let result = self.results.recv().unwrap_or(Ok(()));
        self.end(result);
    }

    fn in_flight(&self) -> usize {
        self.writes.len()
    }

    fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}

/// A file of four buffers of a block each, and what ends its writes.
fn file() -> (DirectFile, Sender<Result<(), Errno>>) {
    let (file, results, _) = watched_file();
    (file, results)
}

/// Such a file, and its length at the last sync.
fn watched_file() -> (DirectFile, Sender<Result<(), Errno>>, Arc<AtomicU64>) {
    let (results, receiver) = channel();
    let file = Arc::new(memfd_create("disk", MemfdFlags::CLOEXEC).unwrap());
    let synced_len = Arc::new(AtomicU64::new(u64::MAX));
    let engine = Scripted {
        results: receiver,
        writes: Vec::new(),
        failure: None,
        file: Arc::clone(&file),
        synced_len: Arc::clone(&synced_len),
    };
    let write_path = WritePath { method: Method::DirectRing, refusals: Vec::new() };
    let file = DirectFile {
        path: "/disk/bag".into(),
        file,
        write_path,
        block: 4096,
        pool: Pool::new(4, 4096, 4096),
        engine: Box::new(engine),
        preallocate: 0,
        allocated: 0,
        end: 0,
        limit: 1 << 20,
        is_name_safe: true,
        is_finished: false,
    };
    (file, results, synced_len)
}

/// Writes this many blocks.
fn write(file: &mut DirectFile, blocks: u64) {
    for number in 0..blocks {
        let buffer = file.buffer().unwrap();
        file.write(buffer, 4096, number * 4096).unwrap();
    }
}

#[test]
fn slow_disk_is_waited_for_when_all_buffers_are_in_flight() {
    let (mut file, results) = file();
    write(&mut file, 4);
    assert_eq!(file.in_flight(), 4);
    let slow = thread::spawn(move || {
        // No buffer is free until this arrives.
        results.send(Ok(())).unwrap();
        results
    });
    let buffer = file.buffer().unwrap();
    let results = slow.join().unwrap();
    assert_eq!(file.in_flight(), 3);
    (0..3).for_each(|_| results.send(Ok(())).unwrap());
    file.sync().unwrap();
    assert_eq!(file.in_flight(), 0);
    drop(buffer);
}

#[test]
fn finished_file_is_synced_with_its_length() {
    let (mut file, results, synced_len) = watched_file();
    write(&mut file, 1);
    results.send(Ok(())).unwrap();
    file.finish(7).unwrap();
    assert_eq!(synced_len.load(Ordering::Relaxed), 7);
}

#[test]
fn failure_of_earlier_write_is_returned_by_every_later_call() {
    let (mut file, results) = file();
    write(&mut file, 3);
    let buffer = file.buffer().unwrap();
    for result in [Ok(()), Err(Errno::IO), Err(Errno::NOSPC)] {
        results.send(result).unwrap();
    }
    let error = file.write(buffer, 4096, 0).unwrap_err();
    let text = "/disk/bag: cannot write 4096 bytes at byte 4096: Input/output error (os error 5)";
    assert_eq!((error.to_string(), error.kind()), (text.into(), io::Error::from(Errno::IO).kind()));
    assert_eq!(file.buffer().err().unwrap().to_string(), text);
    assert_eq!(file.sync().unwrap_err().to_string(), text);
    assert_eq!(file.finish(0).unwrap_err().to_string(), text);
}

#[test]
fn write_beyond_process_limit_is_an_error() {
    let (mut file, results) = file();
    let buffer = file.buffer().unwrap();
    let error = file.write(buffer, 4096, 1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert!(error.to_string().starts_with("/disk/bag: cannot write 4096 bytes at byte 1048576: "), "{error}");
    assert_eq!(file.in_flight(), 0);
    drop(results);
}

#[test]
fn part_of_a_block_is_written_again() {
    let pool = Pool::new(1, 3 * 4096, 4096);
    let mut write = Write::new(pool.take().unwrap().unwrap(), 3 * 4096, 8192);
    write.advance(5000, 4096).unwrap();
    assert_eq!((write.rest().0.len(), write.rest().1), (2 * 4096, 8192 + 4096));
    assert_eq!(write.advance(100, 4096).unwrap_err().kind(), ErrorKind::WriteZero);
    write.advance(8192, 4096).unwrap();
    assert!(write.is_done());
}

#[test]
fn buffers_are_aligned_and_allocated_when_needed() {
    for alignment in [512, 4096, 1 << 16] {
        let pool = Pool::new(3, 1 << 16, alignment);
        let held: Vec<Buffer> = std::iter::from_fn(|| pool.take().unwrap()).collect();
        assert_eq!(held.len(), 3);
        for buffer in &held {
            assert_eq!((buffer.as_ptr() as usize % alignment, buffer.len()), (0, 1 << 16));
        }
        let first = held[2].as_ptr();
        drop(held);
        assert_eq!(pool.take().unwrap().unwrap().as_ptr(), first, "the last one returned is warm");
    }
}
