//! Flow control: bytes in flight to a reader.

use crate::wire::SequenceNumber;
use alloc::collections::VecDeque;
use core::time::Duration;
use runnel_core::time::Instant;

/// Maximum bytes in flight to a reader, including the kernel's overhead per datagram. A socket with the default buffer
/// size holds some 200 KiB.
const WINDOW: u64 = 128 * 1024;

/// Kernel overhead of a datagram.
const DATAGRAM_COST: u64 = 1024;

/// An answer this long after a probe is treated as an answer to it.
const ROUND_TRIP: Duration = Duration::from_millis(10);

/// Maximum number of outstanding probes.
const MAX_PROBES: usize = 4;

/// Bytes in flight to a reader.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    sent: u64,
    /// Bytes that have arrived or are lost.
    known: u64,
    probes: VecDeque<Probe>,
    last: Last,
}

/// The current or last datagram: the bytes that it adds, and whether it requests an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    adds: u64,
    asks: bool,
}

/// A request for an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Probe {
    at: Instant,
    /// The last sample that was completely sent, and the number of sent bytes.
    number: SequenceNumber,
    sent: u64,
}

impl Flight {
    /// Begins a datagram.
    pub fn begin(&mut self) {
        self.last = Last::default();
    }

    /// Records a sent datagram.
    pub fn send(&mut self, len: usize) {
        self.last.adds = len as u64 + DATAGRAM_COST;
        self.sent += self.last.adds;
    }

    /// Returns the last datagram.
    pub fn last(&self) -> Last {
        self.last
    }

    /// Records that the last datagram of another reader is also for this one, up to this sample. Returns whether it
    /// requests an acknowledgement.
    pub fn follow(&mut self, leader: Last, at: Instant, number: SequenceNumber) -> bool {
        self.sent += leader.adds;
        if leader.asks {
            self.ask(at, number);
        }
        leader.asks
    }

    /// Records a request for an acknowledgement up to this sample.
    pub fn ask(&mut self, at: Instant, number: SequenceNumber) {
        if self.probes.len() >= MAX_PROBES {
            self.probes.pop_back();
        }
        self.probes.push_back(Probe { at, number, sent: self.sent });
        self.last.asks = true;
    }

    /// Handles an acknowledgement that shows knowledge of samples up to `known_up_to`. The bytes sent before the matching
    /// request are no longer in flight. An unrequested acknowledgement of earlier samples does not count: a reader that
    /// misses samples sends it immediately, when the network is full.
    pub fn answered(&mut self, now: Instant, known_up_to: SequenceNumber) {
        let is_answer = |probe: &mut Probe| probe.number <= known_up_to || now.since(probe.at) >= ROUND_TRIP;
        while let Some(probe) = self.probes.pop_front_if(is_answer) {
            self.known = probe.sent;
        }
    }

    /// Returns whether the window is full, so that nothing is sent before the reader answers.
    pub fn is_full(&self) -> bool {
        self.sent - self.known >= WINDOW
    }

    /// Returns whether to request an acknowledgement now, so that it arrives before the window is full.
    pub fn is_probe_due(&self) -> bool {
        let probed = self.probes.back().map_or(self.known, |probe| probe.sent);
        self.sent - probed >= WINDOW / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a full flight with a request for ten samples.
    fn full() -> Flight {
        let mut flight = Flight::default();
        flight.send(WINDOW as usize);
        flight.ask(Instant(0), SequenceNumber(10));
        flight
    }

    #[test]
    fn acknowledgement_before_probe_opens_window_only_late() {
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
