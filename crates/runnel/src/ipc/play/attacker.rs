//! Attacker: a process of the same user that writes anything into its own memory, and sends anything.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_io::Packets;
use runnel_io::memory::SharedWords;
use runnel_io::segment::Segment;

use super::ends::{End, Memory, end, packets, page};
use crate::ipc::outbox::{LOANS, Outbox, RING};
use crate::ipc::record::{Lending, SegmentAnnouncement, kind as kinds};
use crate::ipc::ring::RingWriter;
use crate::ipc::{Inbox, Pool};

/// Layout of an outbox, see there.
const POSITION: usize = 0;
const REQUESTS: usize = 8;
const MAPPED: usize = 16;
const TEARDOWN: usize = 17;
const RETURNED: usize = 24;
const RECORDS: usize = 4128;

/// Limit of the attacker's segments.
const MOST_SEGMENTS: usize = 4;

/// See the module's documentation.
pub(super) struct Attacker {
    outbox: SharedWords,
    page: SharedWords,
    packets: Packets,
    /// The victim's outbox, from which the attacker reads the end of the ring.
    victim: Arc<Outbox>,
    writer: RingWriter,
    segments: Vec<Arc<Segment>>,
    announced: u64,
}

impl Attacker {
    /// An IPC connection of a process that uses `pool`, with the attacker at its other end.
    pub(super) fn connect(pool: &Arc<Pool>) -> (End, Self) {
        let (one, other) = packets();
        let (outbox, page) = (SharedWords::new("runnel-session", Inbox::BYTES).expect("memory"), page());
        let (end, victim) = end(Memory { page: page.fd(), outbox: outbox.fd() }, one, pool);
        let writer = RingWriter::new(RING);
        (end, Self { outbox, page, packets: other, victim, writer, segments: Vec::new(), announced: 0 })
    }

    pub(super) fn act(&mut self, action: u8, args: [u8; 5]) {
        match action % 12 {
            7 | 8 => self.write_record(args),
            9 => self.write_word(args),
            10 => self.send_packet(args),
            _ => self.read_properly(args),
        }
    }

    /// Writes a complete record of any kind with any content.
    fn write_record(&mut self, [what, channel, first, second, third]: [u8; 5]) {
        let lending = Lending {
            segment: u32::from(first) % 4,
            loan: u32::from(second) % 64,
            slot: u32::from(third) % 8,
            len: 1 << (third % 20),
        };
        let [low, high] = lending.to_words();
        // 1, 3, 15 and 16 are unused kinds.
        let kind = 1 + what % 16;
        // A statement, possibly of an unknown kind.
        let kind_and_epoch = (1 + u64::from(channel) % 5) | u64::from(second % 4) << 32;
        let says = [kind_and_epoch, 2, number(first, second)];
        let words: &[u64] = match kind {
            kinds::SAMPLE_SLOT => &[first.into(), low, high],
            kinds::ASK => &[2, 0],
            kinds::OPEN | kinds::ASK_SAMPLES => &[2, 0, number(first, second)],
            kinds::OPEN_SAMPLES => &[2, 0, number(first, third), says[0], says[1], says[2]],
            kinds::REACHED => &[2, 0, says[0], says[1], says[2]],
            kinds::SKIP => &says,
            kinds::CLOSE => &[],
            kinds::FORGET => &[u64::from(first) % 4],
            _ => &[number(first, second), number(second, third)],
        };
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let len = bytes.len() - usize::from(channel >> 6).min(bytes.len());
        let long = vec![third; usize::from(second) << (third % 10)];
        let parts: [&[u8]; 2] = if what < 128 { [&bytes[..len], &[]] } else { [&bytes, &long] };
        let read = || self.victim.memory().words()[POSITION].load(Ordering::Acquire);
        let ring = &self.outbox.words()[RECORDS..RECORDS + RING];
        let _ = self.writer.push(ring, (kind, u32::from(channel % 8)), &parts, read);
    }

    /// Writes any word anywhere, often one that reports the attacker's progress.
    fn write_word(&mut self, [place, first, second, third, fourth]: [u8; 5]) {
        let value = number(first, second);
        let (page, outbox) = (self.page.words(), self.outbox.words());
        let word = match place % 12 {
            0 | 1 => &outbox[POSITION],
            2 => &outbox[REQUESTS],
            3 => &outbox[MAPPED],
            4 => &outbox[TEARDOWN],
            5 | 6 => &outbox[RETURNED],
            7 => &outbox[RETURNED + 1 + usize::from(third) % LOANS],
            8 => &page[0],
            _ => &outbox[RECORDS + (usize::from(third) << 8 | usize::from(fourth)) % RING],
        };
        word.store(value, Ordering::Release);
    }

    /// Announces a segment, or sends noise.
    fn send_packet(&mut self, [what, slot_bytes, slots, third, fourth]: [u8; 5]) {
        if self.segments.len() == MOST_SEGMENTS {
            self.segments.clear();
        }
        let (bytes, count) = (64 << (slot_bytes % 12), 1 + usize::from(slots % 8));
        let Ok(segment) = Segment::new(bytes, count) else { return };
        let mut announcement =
            SegmentAnnouncement { segment: self.announced, slot_bytes: bytes as u64, slots: count as u64 };
        match what % 8 {
            0 => announcement.segment = number(third, fourth),
            1 => announcement.slot_bytes = number(third, fourth),
            2 => announcement.slots = number(third, fourth),
            3 => (announcement.slot_bytes, announcement.slots) = (u64::from(third), u64::from(fourth)),
            _ => {}
        }
        let packet = announcement.to_bytes();
        let sent = match what >> 4 {
            0 => self.packets.send(&packet[..1 + usize::from(third) % 23], &[segment.fd()]),
            1 => self.packets.send(&packet, &[]),
            2 => self.packets.send(&packet, &[segment.fd(), segment.fd()]),
            3 => self.packets.send(&[packet, packet].concat(), &[segment.fd()]),
            4 => self.packets.send(&packet, &[std::io::stdin().as_fd()]),
            5 => self.packets.send(&[0], &[]),
            _ => self.packets.send(&packet, &[segment.fd()]),
        };
        self.announced += u64::from(sent.is_ok_and(|sent| sent) && what >> 4 > 5);
        self.segments.push(segment);
    }

    /// Reports that it has read and mapped everything, and releases a slot, as an honest peer would.
    fn read_properly(&mut self, [what, loan, ..]: [u8; 5]) {
        let words = self.outbox.words();
        if what % 2 == 0 {
            words[MAPPED].store(u64::from(what) % 4, Ordering::Release);
        }
        if what % 3 == 0 {
            let returned = words[RETURNED].load(Ordering::Relaxed);
            words[RETURNED + 1 + returned as usize % LOANS].store(u64::from(loan) % 8, Ordering::Relaxed);
            words[RETURNED].store(returned.wrapping_add(1), Ordering::Release);
        }
        let mut reader = crate::ipc::ring::RingReader::new(RING);
        let ring = self.victim.ring();
        while let Ok(Some(record)) = reader.peek(ring)
            && reader.position() < RING as u64 / 2
        {
            reader.advance(&record);
        }
        words[POSITION].store(reader.position(), Ordering::Release);
    }
}

/// An arbitrary number: small, near the end of its range, or any.
fn number(first: u8, second: u8) -> u64 {
    match first % 8 {
        0..=3 => u64::from(second),
        4 => u64::from(second) << (first >> 3),
        5 => u64::MAX - u64::from(second),
        6 => 1 << (second % 64),
        _ => u64::from(second).wrapping_mul(0x0101_0101_0101_0101),
    }
}
