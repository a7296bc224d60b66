//! Disks that are slow or fail, as the test says.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::io::Errno;

use super::*;

/// Ends one write for each result that the test sends, in order.
struct Scripted {
    results: Receiver<Result<(), Errno>>,
    writes: Vec<Write>,
    failure: Option<Failure>,
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
    let (results, receiver) = channel();
    let engine = Scripted { results: receiver, writes: Vec::new(), failure: None };
    let write_path = WritePath { method: Method::DirectRing, refusals: Vec::new() };
    let file = DirectFile {
        path: "/disk/bag".into(),
        file: Arc::new(File::open("/dev/null").unwrap().into()),
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
    (file, results)
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
