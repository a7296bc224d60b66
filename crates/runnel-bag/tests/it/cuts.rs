//! Bags that end at any byte: everything whole before the cut is read.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use runnel_bag::disk::{Disk, MemoryDisk};

use crate::formats::{Format, Logged, Read, add_channel, formats, random_message, write};
use crate::random::{Random, repetitions};

/// A disk in memory that can be read while it is written.
struct Shared(Rc<RefCell<MemoryDisk>>);

impl Disk for Shared {
    type Buffer = Vec<u8>;

    fn block(&self) -> usize {
        self.0.borrow().block()
    }

    fn buffer(&mut self) -> io::Result<Vec<u8>> {
        self.0.borrow_mut().buffer()
    }

    fn write(&mut self, buffer: Vec<u8>, len: usize, at: u64) -> io::Result<()> {
        self.0.borrow_mut().write(buffer, len, at)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.borrow_mut().sync()
    }

    fn finish(&mut self, len: u64) -> io::Result<()> {
        self.0.borrow_mut().finish(len)
    }
}

/// A bag with its messages, and the lengths of the file from which on each of them is whole.
struct Bag {
    bytes: Vec<u8>,
    messages: Vec<Logged>,
    ends: Vec<usize>,
}

fn record(format: &Format<Shared>, random: &mut Random) -> Bag {
    let disk = Rc::new(RefCell::new(MemoryDisk::new(512, 64 << 10)));
    let mut writer = (format.writer)(Shared(Rc::clone(&disk))).unwrap();
    let channel = add_channel(&mut *writer).unwrap();
    let (mut messages, mut ends) = (Vec::new(), Vec::new());
    for number in 0..60 {
        let mut message = random_message(random, number);
        // So that its place can be found.
        message.1.extend(format!("end of message {number}").bytes());
        write(&mut *writer, channel, &message).unwrap();
        messages.push(message);
        if random.percent(20) || number == 59 {
            writer.flush().unwrap();
            ends.resize(messages.len(), writer.file_len() as usize);
        }
    }
    if random.percent(50) {
        writer.finish().unwrap();
    }
    let bytes = disk.borrow().bytes().to_vec();
    if !format.is_compressed() {
        ends = ends_of_messages(&bytes, &messages);
    }
    Bag { bytes, messages, ends }
}

/// The ends of the messages in an uncompressed bag.
fn ends_of_messages(bag: &[u8], messages: &[Logged]) -> Vec<usize> {
    let mut from = 0;
    let end_of = |(_, message): &Logged| {
        let found = bag[from..].windows(message.len()).position(|bytes| bytes == message);
        from += found.expect("it is in the bag") + message.len();
        from
    };
    messages.iter().map(end_of).collect()
}

#[test]
fn everything_whole_before_a_cut_is_read() {
    for format in formats::<Shared>() {
        let mut random = Random::new(9);
        let mut bag = record(&format, &mut random);
        for number in 0..repetitions(40, 400) {
            if number % 40 == 39 {
                bag = record(&format, &mut random);
            }
            let cut = random.below(bag.bytes.len() as u64 + 1) as usize;
            let whole = bag.ends.iter().filter(|end| **end <= cut).count();
            let Read { messages, .. } = (format.read)(bag.bytes[..cut].to_vec());
            let name = format.name;
            assert!(messages.len() >= whole, "{name}, cut at {cut}: {} of {whole} messages", messages.len());
            assert_eq!(messages, bag.messages[..messages.len()], "{name}, cut at {cut}");
        }
    }
}
