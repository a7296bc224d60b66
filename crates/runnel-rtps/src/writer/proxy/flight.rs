//! How much is under way to a reader.

use crate::wire::SequenceNumber;
use alloc::collections::VecDeque;
use core::time::Duration;
use runnel_core::time::Instant;

/// How many bytes go to a reader before it must have acknowledged some, with what the kernel counts for each datagram.
/// A socket whose room nobody has set takes some 200 KiB.
const WINDOW: u64 = 128 * 1024;

/// What the kernel counts for a datagram beside its bytes.
const DATAGRAM_COST: u64 = 1024;

/// An answer that comes so long after a probe is taken for an answer to it.
const ROUND_TRIP: Duration = Duration::from_millis(10);

/// How many probes are under way at most.
const MOST_PROBES: usize = 4;

/// What is under way to a reader, in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    sent: u64,
    /// Of which so much has arrived or is lost.
    known: u64,
    probes: VecDeque<Probe>,
    last: Last,
}

/// The datagram that is being put together, or was last: what it adds to what was sent, and whether it asks for an
/// acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    adds: u64,
    asks: bool,
}

/// The reader was asked for an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Probe {
    at: Instant,
    /// The last sample that it had been sent whole, and how many bytes in all.
    number: SequenceNumber,
    sent: u64,
}

impl Flight {
    /// A datagram is put together.
    pub fn begin(&mut self) {
        self.last = Last::default();
    }

    /// A datagram of so many bytes sets out.
    pub fn send(&mut self, len: usize) {
        self.last.adds = len as u64 + DATAGRAM_COST;
        self.sent += self.last.adds;
    }

    /// The datagram that was put together last.
    pub fn last(&self) -> Last {
        self.last
    }

    /// The datagram that was put together last for another reader is for this one as well, which it takes up to this sample.
    /// True if that asks it for an acknowledgement.
    pub fn follow(&mut self, leader: Last, at: Instant, number: SequenceNumber) -> bool {
        self.sent += leader.adds;
        if leader.asks {
            self.ask(at, number);
        }
        leader.asks
    }

    /// The reader is asked for an acknowledgement of what it has been sent, up to this sample.
    pub fn ask(&mut self, at: Instant, number: SequenceNumber) {
        if self.probes.len() >= MOST_PROBES {
            self.probes.pop_back();
        }
        self.probes.push_back(Probe { at, number, sent: self.sent });
        self.last.asks = true;
    }

    /// The reader tells that it has heard of samples up to this one. What had been sent when it was asked is under way no more,
    /// unless it tells that unasked, of what came before: who misses something does so at once, and that is when the network
    /// is full.
    pub fn answered(&mut self, now: Instant, heard_of: SequenceNumber) {
        let is_answer = |probe: &mut Probe| probe.number <= heard_of || now.since(probe.at) >= ROUND_TRIP;
        while let Some(probe) = self.probes.pop_front_if(is_answer) {
            self.known = probe.sent;
        }
    }

    /// Nothing more is to set out before the reader has answered.
    pub fn is_full(&self) -> bool {
        self.sent - self.known >= WINDOW
    }

    /// It is time to ask for an acknowledgement, so that it comes before the window is full.
    pub fn wants_probe(&self) -> bool {
        let asked = self.probes.back().map_or(self.known, |probe| probe.sent);
        self.sent - asked >= WINDOW / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full flight, whose reader was asked for an acknowledgement of ten samples.
    fn full() -> Flight {
        let mut flight = Flight::default();
        flight.send(WINDOW as usize);
        flight.ask(Instant(0), SequenceNumber(10));
        flight
    }

    #[test]
    fn what_a_reader_tells_of_samples_before_a_probe_opens_nothing_unless_that_is_long_ago() {
        let soon = Instant(0) + Duration::from_millis(1);
        let mut flight = full();
        flight.answered(soon, SequenceNumber(9));
        assert!(flight.is_full());
        flight.answered(soon, SequenceNumber(10));
        assert!(!flight.is_full());
        let mut flight = full();
        flight.answered(Instant(0) + ROUND_TRIP, SequenceNumber(9));
        assert!(!flight.is_full());
    }
}
