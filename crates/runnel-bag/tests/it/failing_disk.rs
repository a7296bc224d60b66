//! A disk that is full: the error arrives, and the messages before it can be read.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use runnel_bag::disk::Disk;
use runnel_bag::{BagWriter, Error};

use crate::formats::{Format, Logged, add_channel, formats, random_message, write};
use crate::random::{Random, repetitions};

/// A disk of this capacity in bytes. Its file can be read while it is written.
struct FullDisk {
    capacity: usize,
    file: Bytes,
    /// The error that each request gets.
    has_failed: bool,
}

impl FullDisk {
    fn result(&self) -> io::Result<()> {
        if self.has_failed { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Disk for FullDisk {
    type Buffer = Vec<u8>;

    fn block(&self) -> usize {
        512
    }

    fn buffer(&mut self) -> io::Result<Vec<u8>> {
        self.result().map(|()| vec![0xAA; 8 << 10])
    }

    fn write(&mut self, buffer: Vec<u8>, len: usize, at: u64) -> io::Result<()> {
        let mut file = self.file.borrow_mut();
        let (start, end) = (at as usize, (at as usize + len).min(self.capacity));
        if start < end {
            let new_len = file.len().max(end);
            file.resize(new_len, 0);
            file[start..end].copy_from_slice(&buffer[..end - start]);
        }
        drop(file);
        self.has_failed |= start + len > self.capacity;
        self.result()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.result()
    }

    fn finish(&mut self, len: u64) -> io::Result<()> {
        self.result()?;
        self.file.borrow_mut().truncate(len as usize);
        Ok(())
    }
}

/// The bytes of a disk's file.
type Bytes = Rc<RefCell<Vec<u8>>>;

/// Writes the messages until the first error. Also returns how many of them a flush has given to the disk.
fn record(
    format: &Format<FullDisk>,
    capacity: usize,
    messages: &[Logged],
) -> (Box<dyn BagWriter>, Bytes, usize, Result<(), Error>) {
    let file = Bytes::default();
    let disk = FullDisk { capacity, file: Rc::clone(&file), has_failed: false };
    let mut writer = (format.writer)(disk).unwrap();
    let mut flushed = 0;
    let result = write_all(&mut *writer, messages, &mut flushed);
    (writer, file, flushed, result)
}

fn write_all(writer: &mut dyn BagWriter, messages: &[Logged], flushed: &mut usize) -> Result<(), Error> {
    let channel = add_channel(writer)?;
    for (number, message) in messages.iter().enumerate() {
        write(writer, channel, message)?;
        if number % 7 == 6 {
            writer.flush()?;
            *flushed = number + 1;
        }
    }
    writer.flush()
}

fn is_full(result: Result<(), Error>) -> bool {
    matches!(result, Err(Error::Io(error)) if error.kind() == ErrorKind::StorageFull)
}

#[test]
fn full_disk_is_reported_and_keeps_earlier_messages() {
    for format in formats::<FullDisk>() {
        let mut random = Random::new(5);
        let messages: Vec<_> = (0..60).map(|number| random_message(&mut random, number)).collect();
        let (_, whole, _, result) = record(&format, usize::MAX, &messages);
        result.unwrap();
        let whole = whole.take();
        for _ in 0..repetitions(50 / format.share, 500) {
            let capacity = 8192 + random.below(whole.len() as u64 - 8192) as usize;
            let (mut writer, file, flushed, result) = record(&format, capacity, &messages);
            assert!(is_full(result), "{}: capacity {capacity}", format.name);
            // Later calls fail as well, and change nothing.
            assert!(is_full(writer.sync()), "{}: capacity {capacity}", format.name);
            assert!(is_full(writer.finish()), "{}: capacity {capacity}", format.name);
            drop(writer);
            let read = (format.read)(file.take()).messages;
            assert!(read.len() >= flushed, "{}: capacity {capacity}: {flushed} were flushed", format.name);
            assert_eq!(read, messages[..read.len()], "{}: capacity {capacity}", format.name);
        }
    }
}
