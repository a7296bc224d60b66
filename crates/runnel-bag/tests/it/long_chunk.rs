//! A chunk of 2 GB: the longest message that the formats have. Only the full suite has the memory for it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use runnel_bag::disk::Disk;
use runnel_bag::mcap::Profile;
use runnel_bag::{BagReader, BagWriter, Error, Selection, mcap, rosbag};

use crate::formats::{add_channel, write};
use crate::random::repetitions;

/// Longest message of both formats, in bytes.
const LONGEST: usize = 1 << 31;

/// Length of the disk's buffers, in bytes.
const BUFFER: usize = 1 << 20;

/// A file of which only the buffers that are not zero take memory.
#[derive(Clone, Default)]
struct SparseFile {
    buffers: BTreeMap<u64, Vec<u8>>,
    len: u64,
    position: u64,
}

/// A disk whose file is sparse. All writes but the last begin at a multiple of the buffer.
struct SparseDisk(Rc<RefCell<SparseFile>>);

impl Disk for SparseDisk {
    type Buffer = Vec<u8>;

    fn block(&self) -> usize {
        BUFFER
    }

    fn buffer(&mut self) -> io::Result<Vec<u8>> {
        Ok(vec![0; BUFFER])
    }

    fn write(&mut self, buffer: Vec<u8>, len: usize, at: u64) -> io::Result<()> {
        assert_eq!((len, at % BUFFER as u64), (BUFFER, 0));
        let mut file = self.0.borrow_mut();
        file.len = file.len.max(at + BUFFER as u64);
        if buffer.iter().any(|byte| *byte != 0) {
            file.buffers.insert(at, buffer);
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, len: u64) -> io::Result<()> {
        self.0.borrow_mut().len = len;
        Ok(())
    }
}

impl Read for SparseFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let within = (self.position % BUFFER as u64) as usize;
        let left = self.len.saturating_sub(self.position).min((BUFFER - within) as u64) as usize;
        let len = bytes.len().min(left);
        match self.buffers.get(&(self.position - within as u64)) {
            Some(buffer) => bytes[..len].copy_from_slice(&buffer[within..within + len]),
            None => bytes[..len].fill(0),
        }
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for SparseFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// Highest memory use of this process so far, in MiB.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().split(' ').next().unwrap().parse::<u64>().unwrap() / 1024
}

type Begin = fn(SparseDisk) -> Box<dyn BagWriter>;
type Open = fn(SparseFile) -> Result<Box<dyn BagReader>, Error>;

#[test]
fn longest_message_takes_its_memory_once() {
    if repetitions(0, 1) == 0 {
        return;
    }
    // Its zeros take no memory.
    let mut message = vec![0; LONGEST + 1];
    message[0] = 1;
    message[LONGEST - 1] = 2;
    let begin: [(Begin, Open); 2] = [
        (
            |disk| Box::new(rosbag::Writer::on_disk(disk).unwrap()),
            |file| Ok(Box::new(rosbag::Reader::open(file)?)),
        ),
        (
            |disk| Box::new(mcap::Writer::on_disk(disk, Profile::Ros1).unwrap()),
            |file| Ok(Box::new(mcap::Reader::open(file)?)),
        ),
    ];
    for (begin, open) in begin {
        let file = Rc::new(RefCell::new(SparseFile::default()));
        let mut writer = begin(SparseDisk(Rc::clone(&file)));
        let channel = add_channel(&mut *writer).unwrap();
        let mut written = (1, message);
        let too_long = write(&mut *writer, channel, &written).unwrap_err();
        assert!(matches!(too_long, Error::TooLong { limit: LONGEST, .. }), "{too_long}");
        written.1.truncate(LONGEST);
        write(&mut *writer, channel, &written).unwrap();
        write(&mut *writer, channel, &(2, vec![3])).unwrap();
        for is_finished in [false, true] {
            if is_finished { writer.finish() } else { writer.flush() }.unwrap();
            let mut reader = open(file.borrow().clone()).unwrap();
            assert!(reader.damage().is_none(), "{:?}", reader.damage());
            assert_eq!((reader.summary().is_finished, &reader.summary().counts[..]), (is_finished, &[2][..]));
            let read: Vec<_> = reader.messages(&Selection::default()).map(Result::unwrap).collect();
            assert_eq!((read[0].data.len(), read[0].data[0], read[0].data[LONGEST - 1]), (LONGEST, 1, 2));
            assert_eq!(*read[1].data, [3]);
        }
        let peak = peak_memory();
        assert!(peak < 3 << 10, "{peak} MiB");
        (_, message) = written;
        message.push(0);
    }
}
