//! Another process of this host, which keeps to the agreement of the same-host link as far as a test lets it. The layout
//! of memory, records and packets is written down here a second time, so that a test notices when it changes.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use runnel::io::memory::{ForeignBytes, ForeignWords, SharedWords};
use runnel::io::unix::{Received, UnixAddress};
use runnel::io::{Doorbell, PacketListener, Packets, Ringer, host};

use super::common::wait_until;

pub const BYTES: u8 = 2;
pub const ASK: u8 = 4;
pub const OPEN: u8 = 5;
pub const CLOSE: u8 = 6;
pub const FORGET: u8 = 7;
pub const OPEN_SAMPLES: u8 = 8;
pub const SAMPLE: u8 = 9;
pub const SAMPLE_SLOT: u8 = 10;
pub const SAMPLE_BEGIN: u8 = 11;
pub const ASK_SAMPLES: u8 = 12;
pub const REACHED: u8 = 13;
pub const SKIP: u8 = 14;

/// Kinds of statements.
pub const BEGIN: u64 = 1;
pub const SKIPS: u64 = 2;
pub const REACHES: u64 = 3;

/// Words of an outbox.
pub const POSITION: usize = 0;
pub const WANTS: usize = 8;
pub const MAPPED: usize = 16;
/// 1 once it has read its last record, 2 once its links went on elsewhere.
pub const END: usize = 17;
/// How many slots were given back; behind it which, at their count modulo [`LOANS`].
pub const RETURNED: usize = 24;
pub const RECORDS: usize = 4128;
pub const RING: usize = 32_768;
pub const OUTBOX_BYTES: usize = (RECORDS + RING) * 8;

/// Slots that may be lent at a time.
pub const LOANS: usize = 4096;

/// In [`MAPPED`]: no more segments are mapped.
pub const FULL: u64 = 1 << 63;

/// A number for a process that is less than any that is drawn by lot: this one connects, and is not connected to.
pub fn small_number() -> u128 {
    u128::from(host::random().unwrap()) | 1
}

/// One that is greater: the others connect.
pub fn great_number() -> u128 {
    u128::MAX << 64 | u128::from(host::random().unwrap())
}

pub fn hex(number: u128) -> String {
    format!("{number:032x}")
}

pub fn unhex(text: &str) -> u128 {
    u128::from_str_radix(text, 16).unwrap()
}

fn name(process: u128) -> String {
    format!("runnel-{process:032x}")
}

/// Connects to a process as another would.
pub fn connect(process: u128) -> Packets {
    Packets::connect(UnixAddress::Abstract(name(process).as_bytes())).unwrap()
}

/// Listens for those that connect to this process.
pub fn listen(process: u128) -> PacketListener {
    PacketListener::bind(UnixAddress::Abstract(name(process).as_bytes())).unwrap()
}

/// Waits for one that connects.
pub fn accept(listener: &PacketListener) -> Packets {
    let mut accepted = None;
    wait_until("a process that connects", || {
        accepted = listener.accept().unwrap();
        accepted.is_some()
    });
    accepted.unwrap()
}

pub fn hello(from: u128, to: u128) -> Vec<u8> {
    [&b"runnel session 5"[..], &from.to_le_bytes(), &to.to_le_bytes()].concat()
}

/// A packet that gives a segment.
pub fn gift(segment: u64, slot_bytes: u64, slots: u64) -> Vec<u8> {
    words(&[segment, slot_bytes, slots])
}

/// The payload of a record that lends a slot.
pub fn lending(segment: u32, loan: u32, slot: u32, len: u32) -> Vec<u8> {
    words(&[u64::from(segment) << 32 | u64::from(loan), u64::from(slot) << 32 | u64::from(len)])
}

pub fn token_bytes(token: u128) -> Vec<u8> {
    token.to_le_bytes().to_vec()
}

/// The payload of a record that opens a channel.
pub fn opening(token: u128, before: u64) -> Vec<u8> {
    [&token.to_le_bytes()[..], &before.to_le_bytes()].concat()
}

/// The payload of a record that opens a channel for a pair, of which the network has brought all before `first`, with the epoch
/// and the number that it goes on with.
pub fn opening_pair(token: u128, first: u64, epoch: u32, next: u64) -> Vec<u8> {
    let [low, high] = [token as u64, (token >> 64) as u64];
    words(&[low, high, first, BEGIN | u64::from(epoch) << 32, low, next])
}

/// The payload of a record that tells how far the subscriber of a pair is.
pub fn reached(token: u128, epoch: u32, next: u64) -> Vec<u8> {
    let [low, high] = [token as u64, (token >> 64) as u64];
    words(&[low, high, REACHES | u64::from(epoch) << 32, low, next])
}

/// A statement in a connection.
pub fn stated(token: u128, kind_and_epoch: u64, number: u64) -> Vec<u8> {
    [u32::MAX.to_le_bytes().to_vec(), words(&[kind_and_epoch, token as u64, number])].concat()
}

/// The payload of a record with a sample.
pub fn sample(number: u64, message: &[u8]) -> Vec<u8> {
    [&number.to_le_bytes(), message].concat()
}

pub fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub fn send(packets: &Packets, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
    wait_until("the kernel takes a packet", || packets.send(bytes, fds).unwrap());
}

/// The next packet; `None` is the end.
pub fn packet(packets: &Packets) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
    let mut found = None;
    let mut buffer = [0; 4096];
    wait_until("a packet or the end", || match packets.recv(&mut buffer).unwrap() {
        Received::Nothing => false,
        Received::End => true,
        Received::Packet { len, fds, truncated } => {
            assert!(!truncated);
            found = Some((len, fds));
            true
        }
    });
    found.map(|(len, fds)| (buffer[..len].to_vec(), fds))
}

/// True once the other end has closed a connection; packets before that are passed over.
pub fn is_ended(packets: &Packets) -> bool {
    let mut buffer = [0; 4096];
    loop {
        match packets.recv(&mut buffer).unwrap() {
            Received::Nothing => return false,
            Received::End => return true,
            Received::Packet { .. } => {}
        }
    }
}

/// What this process gives the other in its greeting.
pub struct Mine {
    pub page: SharedWords,
    pub outbox: SharedWords,
    pub bell: Doorbell,
    ringer: Ringer,
}

impl Mine {
    pub fn new() -> Self {
        let page = SharedWords::new("fake-page", 8).unwrap();
        let outbox = SharedWords::new("fake-session", OUTBOX_BYTES).unwrap();
        let (bell, ringer) = Doorbell::pair().unwrap();
        Self { page, outbox, bell, ringer }
    }

    /// Does to the doorbell what has it hold up the end that rings, if anything can: it blocks, and is filled.
    pub fn jam_doorbell(&self) {
        for end in [self.bell.as_fd(), self.ringer.as_fd()] {
            let write = |bytes: &[u8]| rustix::io::write(end, bytes).is_ok();
            rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK).unwrap();
            // The most that an eventfd counts; of anything else until it takes no more.
            while write(&(u64::MAX - 1).to_ne_bytes()) {}
            while write(&[0]) {}
            rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::empty()).unwrap();
        }
    }

    pub fn fds(&self) -> [BorrowedFd<'_>; 3] {
        [self.page.fd(), self.outbox.fd(), self.ringer.as_fd()]
    }
}

/// A record of the other's.
#[derive(Debug)]
pub struct Record {
    pub kind: u8,
    pub channel: u32,
    pub payload: Vec<u8>,
}

impl Record {
    pub fn word(&self, index: usize) -> u64 {
        u64::from_le_bytes(self.payload[index * 8..][..8].try_into().unwrap())
    }
}

/// A session that stands.
pub struct FakeSession {
    pub packets: Packets,
    pub mine: Mine,
    inbox: ForeignWords,
    bell: Ringer,
    /// Where the next record of this process will be.
    pub written: u64,
    pub read: u64,
    pub returned: u64,
    pub segments: Vec<ForeignBytes>,
}

impl FakeSession {
    /// Greets a process in good order.
    pub fn greet(from: u128, to: u128) -> Self {
        Self::greet_on(connect(to), from, to)
    }

    /// Greets a process that has connected, or to which this one has.
    pub fn greet_on(packets: Packets, from: u128, to: u128) -> Self {
        let mine = Mine::new();
        send(&packets, &hello(from, to), &mine.fds());
        let (greeting, fds) = packet(&packets).expect("a greeting");
        assert_eq!(greeting, hello(to, from));
        let [page, outbox, bell] = <[OwnedFd; 3]>::try_from(fds).unwrap();
        ForeignWords::map(page, 8, 1 << 16).unwrap();
        let inbox = ForeignWords::map(outbox, OUTBOX_BYTES, OUTBOX_BYTES + (1 << 16)).unwrap();
        let bell = Ringer::from_fd(bell).unwrap();
        let (written, read, returned, segments) = (0, 0, 0, Vec::new());
        Self { packets, mine, inbox, bell, written, read, returned, segments }
    }

    /// Writes a word of the outbox.
    pub fn set(&self, word: usize, value: u64) {
        self.set_quietly(word, value);
        self.ring();
    }

    /// Writes a word of the outbox and rings no bell.
    pub fn set_quietly(&self, word: usize, value: u64) {
        self.mine.outbox.words()[word].store(value, Release);
    }

    /// A word of the other's outbox.
    pub fn told(&self, word: usize) -> u64 {
        self.inbox.load(word, Acquire)
    }

    pub fn ring(&self) {
        self.bell.ring();
    }

    /// Appends a record, whatever it says.
    pub fn push(&mut self, kind: u8, channel: u32, payload: &[u8]) {
        let header = u64::from(kind) << 56 | u64::from(channel) << 32 | payload.len() as u64;
        self.push_as(header, payload);
    }

    /// Appends a record with this header.
    pub fn push_as(&mut self, header: u64, payload: &[u8]) {
        let ring = &self.mine.outbox.words()[RECORDS..RECORDS + RING];
        let place = |ahead: u64| &ring[((self.written + ahead) % RING as u64) as usize];
        let payload: Vec<u64> = payload
            .chunks(8)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            })
            .collect();
        let next = 1 + payload.len() as u64;
        place(next).store(0, Relaxed);
        payload.iter().zip(1..).for_each(|(word, ahead)| place(ahead).store(*word, Relaxed));
        place(0).store(header, Release);
        self.written += next;
        self.ring();
    }

    /// The next record of the other's, if there is one. How far this has read is not told.
    pub fn peek(&mut self) -> Option<Record> {
        let read = self.read;
        let word = |ahead: u64, order| {
            let place = RECORDS as u64 + (read + ahead) % RING as u64;
            self.inbox.load(place as usize, order)
        };
        let header = word(0, Acquire);
        if header == 0 {
            return None;
        }
        let len = header as u32 as usize;
        let count = len.div_ceil(8) as u64;
        let mut payload: Vec<u8> = (1..=count).flat_map(|ahead| word(ahead, Relaxed).to_le_bytes()).collect();
        payload.truncate(len);
        self.read += 1 + count;
        Some(Record { kind: (header >> 56) as u8, channel: (header >> 32) as u32 & 0xff_ffff, payload })
    }

    /// The next record of the other's, if there is one; it is told that it is read.
    pub fn next(&mut self) -> Option<Record> {
        let record = self.peek()?;
        self.mine.outbox.words()[POSITION].store(self.read, Release);
        Some(record)
    }

    /// Waits for a record of this kind and passes over others.
    pub fn wait_for(&mut self, kind: u8) -> Record {
        let mut found = None;
        wait_until(&format!("a record of kind {kind}"), || {
            found = self.next().filter(|record| record.kind == kind);
            found.is_some()
        });
        found.unwrap()
    }

    /// Maps the segments that were given so far, and says so.
    pub fn map_segments(&mut self) {
        let mut buffer = [0; 24];
        while let Received::Packet { fds, .. } = self.packets.recv(&mut buffer).unwrap() {
            let fd = fds.into_iter().next().expect("a segment's descriptor");
            self.segments.push(ForeignBytes::map(fd, 1, 1 << 30).unwrap());
            self.set(MAPPED, self.segments.len() as u64);
        }
    }

    /// Gives back a slot, or what is none, and rings.
    pub fn give_back(&mut self, loan: u64) {
        self.give_back_quietly(loan);
        self.ring();
    }

    /// The same without a word, as processes do it.
    pub fn give_back_quietly(&mut self, loan: u64) {
        let place = RETURNED + 1 + (self.returned % LOANS as u64) as usize;
        self.mine.outbox.words()[place].store(loan, Relaxed);
        self.returned += 1;
        self.set_quietly(RETURNED, self.returned);
    }

    /// The session is over.
    pub fn wait_for_end(&self) {
        wait_until("the end of the session", || is_ended(&self.packets));
    }
}
