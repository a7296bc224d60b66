//! Fake process of this host, which follows the protocol of IPC connections except where a test deviates. It repeats
//! the layout of memory, records and packets, so that tests fail when the layout changes.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use runnel_io::memory::{ForeignBytes, ForeignWords, SharedWords};
use runnel_io::unix::{Received, UnixAddress};
use runnel_io::{Doorbell, PacketListener, Packets, Ringer, host};

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

/// Offsets of an outbox in words.
pub const POSITION: usize = 0;
pub const WANTS: usize = 8;
pub const MAPPED: usize = 16;
/// 1 once it has read its last record, 2 once its links have fallen back to the network.
pub const END: usize = 17;
/// Number of returned slots. The returned loans follow, each at its index modulo [`LOANS`].
pub const RETURNED: usize = 24;
pub const RECORDS: usize = 4128;
pub const RING: usize = 32_768;
pub const OUTBOX_BYTES: usize = (RECORDS + RING) * 8;

/// Maximum number of lent slots.
pub const LOANS: usize = 4096;

/// Flag in [`MAPPED`]: no more segments are mapped.
pub const FULL: u64 = 1 << 63;

/// A process id below every random one, so that this process connects.
pub fn low_process_id() -> u128 {
    u128::from(host::random().unwrap()) | 1
}

/// A process id above every random one, so that other processes connect.
pub fn high_process_id() -> u128 {
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

/// Connects to a process.
pub fn connect(process: u128) -> Packets {
    Packets::connect(UnixAddress::Abstract(name(process).as_bytes())).unwrap()
}

/// Listens for other processes.
pub fn listen(process: u128) -> PacketListener {
    PacketListener::bind(UnixAddress::Abstract(name(process).as_bytes())).unwrap()
}

/// Waits for a connection.
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

/// A packet that announces a segment.
pub fn segment_packet(segment: u64, slot_bytes: u64, slots: u64) -> Vec<u8> {
    words(&[segment, slot_bytes, slots])
}

/// Payload of a record that lends a slot.
pub fn slot_record(segment: u32, loan: u32, slot: u32, len: u32) -> Vec<u8> {
    words(&[u64::from(segment) << 32 | u64::from(loan), u64::from(slot) << 32 | u64::from(len)])
}

pub fn token_bytes(token: u128) -> Vec<u8> {
    token.to_le_bytes().to_vec()
}

/// Payload of a record that opens a channel.
pub fn open_record(token: u128, before: u64) -> Vec<u8> {
    [&token.to_le_bytes()[..], &before.to_le_bytes()].concat()
}

/// Payload of a record that opens a sample channel: the network has delivered everything before `first`, and the
/// channel begins with this epoch and number.
pub fn open_samples_record(token: u128, first: u64, epoch: u32, next: u64) -> Vec<u8> {
    let [low, high] = [token as u64, (token >> 64) as u64];
    words(&[low, high, first, BEGIN | u64::from(epoch) << 32, low, next])
}

/// Payload of a record that reports a subscriber's position.
pub fn reached_record(token: u128, epoch: u32, next: u64) -> Vec<u8> {
    let [low, high] = [token as u64, (token >> 64) as u64];
    words(&[low, high, REACHES | u64::from(epoch) << 32, low, next])
}

/// A statement on a connection.
pub fn stated(token: u128, kind_and_epoch: u64, number: u64) -> Vec<u8> {
    [u32::MAX.to_le_bytes().to_vec(), words(&[kind_and_epoch, token as u64, number])].concat()
}

/// Payload of a record with a sample.
pub fn sample(number: u64, message: &[u8]) -> Vec<u8> {
    [&number.to_le_bytes(), message].concat()
}

pub fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub fn send(packets: &Packets, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
    wait_until("the kernel takes a packet", || packets.send(bytes, fds).unwrap());
}

/// The next packet; `None` at the end.
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

/// Whether the peer has closed the connection. Skips earlier packets.
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

/// The resources in this process's hello.
pub struct LocalEnd {
    pub page: SharedWords,
    pub outbox: SharedWords,
    pub bell: Doorbell,
    ringer: Ringer,
}

impl LocalEnd {
    pub fn new() -> Self {
        let page = SharedWords::new("fake-page", 8).unwrap();
        let outbox = SharedWords::new("fake-session", OUTBOX_BYTES).unwrap();
        let (bell, ringer) = Doorbell::pair().unwrap();
        Self { page, outbox, bell, ringer }
    }

    /// Makes ringing the doorbell block, if possible: sets it to blocking mode and fills it.
    pub fn fill_doorbell(&self) {
        for end in [self.bell.as_fd(), self.ringer.as_fd()] {
            let write = |bytes: &[u8]| rustix::io::write(end, bytes).is_ok();
            rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK).unwrap();
            // The maximum count of an eventfd. Other descriptors are written until full.
            while write(&(u64::MAX - 1).to_ne_bytes()) {}
            while write(&[0]) {}
            rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::empty()).unwrap();
        }
    }

    pub fn fds(&self) -> [BorrowedFd<'_>; 3] {
        [self.page.fd(), self.outbox.fd(), self.ringer.as_fd()]
    }
}

/// A record of the peer.
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

/// An established IPC connection.
pub struct FakeConnection {
    pub packets: Packets,
    pub local: LocalEnd,
    inbox: ForeignWords,
    bell: Ringer,
    /// Position of this process's next record.
    pub written: u64,
    pub read: u64,
    pub returned: u64,
    pub segments: Vec<ForeignBytes>,
}

impl FakeConnection {
    /// Connects and does a correct handshake.
    pub fn handshake(from: u128, to: u128) -> Self {
        Self::handshake_on(connect(to), from, to)
    }

    /// Does a correct handshake on an open connection.
    pub fn handshake_on(packets: Packets, from: u128, to: u128) -> Self {
        let local = LocalEnd::new();
        send(&packets, &hello(from, to), &local.fds());
        let (greeting, fds) = packet(&packets).expect("a greeting");
        assert_eq!(greeting, hello(to, from));
        let [page, outbox, bell] = <[OwnedFd; 3]>::try_from(fds).unwrap();
        ForeignWords::map(page, 8, 1 << 16).unwrap();
        let inbox = ForeignWords::map(outbox, OUTBOX_BYTES, OUTBOX_BYTES + (1 << 16)).unwrap();
        let bell = Ringer::from_fd(bell).unwrap();
        let (written, read, returned, segments) = (0, 0, 0, Vec::new());
        Self { packets, local, inbox, bell, written, read, returned, segments }
    }

    /// Writes a word of the outbox and rings the doorbell.
    pub fn set(&self, word: usize, value: u64) {
        self.set_without_doorbell(word, value);
        self.ring();
    }

    /// Writes a word of the outbox only.
    pub fn set_without_doorbell(&self, word: usize, value: u64) {
        self.local.outbox.words()[word].store(value, Release);
    }

    /// A word of the peer's outbox.
    pub fn peer_word(&self, word: usize) -> u64 {
        self.inbox.load(word, Acquire)
    }

    pub fn ring(&self) {
        self.bell.ring();
    }

    /// Appends a record, whether valid or not.
    pub fn push(&mut self, kind: u8, channel: u32, payload: &[u8]) {
        let header = u64::from(kind) << 56 | u64::from(channel) << 32 | payload.len() as u64;
        self.push_with_header(header, payload);
    }

    /// Appends a record with this header.
    pub fn push_with_header(&mut self, header: u64, payload: &[u8]) {
        let ring = &self.local.outbox.words()[RECORDS..RECORDS + RING];
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

    /// The next record of the peer, if there is one. Does not report it as read.
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

    /// The next record of the peer, if there is one. Reports it as read.
    pub fn next(&mut self) -> Option<Record> {
        let record = self.peek()?;
        self.local.outbox.words()[POSITION].store(self.read, Release);
        Some(record)
    }

    /// Waits for a record of this kind and skips others.
    pub fn wait_for(&mut self, kind: u8) -> Record {
        let mut found = None;
        wait_until(&format!("a record of kind {kind}"), || {
            found = self.next().filter(|record| record.kind == kind);
            found.is_some()
        });
        found.unwrap()
    }

    /// Maps the announced segments and reports that.
    pub fn map_segments(&mut self) {
        let mut buffer = [0; 24];
        while let Received::Packet { fds, .. } = self.packets.recv(&mut buffer).unwrap() {
            let fd = fds.into_iter().next().expect("a segment's descriptor");
            self.segments.push(ForeignBytes::map(fd, 1, 1 << 30).unwrap());
            self.set(MAPPED, self.segments.len() as u64);
        }
    }

    /// Returns a slot, or a wrong one, and rings the doorbell.
    pub fn return_slot(&mut self, loan: u64) {
        self.return_slot_without_doorbell(loan);
        self.ring();
    }

    /// Returns a slot without the doorbell, as real processes do.
    pub fn return_slot_without_doorbell(&mut self, loan: u64) {
        let place = RETURNED + 1 + (self.returned % LOANS as u64) as usize;
        self.local.outbox.words()[place].store(loan, Relaxed);
        self.returned += 1;
        self.set_without_doorbell(RETURNED, self.returned);
    }

    /// Waits for the end of the IPC connection.
    pub fn wait_for_end(&self) {
        wait_until("the end of the IPC connection", || is_ended(&self.packets));
    }
}
