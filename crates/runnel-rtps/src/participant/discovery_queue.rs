//! Queue of participants with pending discovery datagrams, and its rate limit.
//!
//! User samples are sent first. Unproved participants have a lane of their own: however many there are, proved ones
//! wait neither for them nor for the time to send to them.

use super::transmit::Work;
use crate::wire::GuidPrefix;
use alloc::collections::VecDeque;
use core::time::Duration;
use runnel_core::time::Instant;

/// Burst of discovery datagrams, and the interval of later ones: for proved participants, and for others.
const PROVED: (u32, Duration) = (256, Duration::from_micros(50));
const UNPROVED: (u32, Duration) = (16, Duration::from_micros(250));

/// Queue of pending discovery datagrams.
#[derive(Debug)]
pub(super) struct DiscoveryQueue {
    /// Announcements to groups and addresses.
    announcements: VecDeque<Work>,
    proved: Lane,
    unproved: Lane,
}

#[derive(Debug)]
struct Lane {
    peers: VecDeque<GuidPrefix>,
    /// When the rate has caught up with the sent datagrams.
    free: Instant,
    burst: u32,
    each: Duration,
}

impl Lane {
    fn new((burst, each): (u32, Duration)) -> Self {
        Self { peers: VecDeque::new(), free: Instant(0), burst, each }
    }

    /// Returns when the lane may send again.
    fn ready_at(&self) -> Instant {
        let slack = (self.each * self.burst).as_nanos() as u64;
        Instant(self.free.0.saturating_sub(slack))
    }

    fn pop(&mut self, now: Instant) -> Option<Work> {
        if self.ready_at() > now {
            return None;
        }
        self.peers.pop_front().map(Work::Discovery)
    }

    fn note_sent(&mut self, now: Instant) {
        self.free = self.free.max(now) + self.each;
    }
}

impl DiscoveryQueue {
    pub fn new() -> Self {
        Self { announcements: VecDeque::new(), proved: Lane::new(PROVED), unproved: Lane::new(UNPROVED) }
    }

    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Appends announcements.
    pub fn push_announcements(&mut self, announcements: impl Iterator<Item = Work>) {
        self.announcements.extend(announcements);
    }

    /// Appends a participant.
    pub fn push(&mut self, prefix: GuidPrefix, is_proved: bool) {
        let lane = if is_proved { &mut self.proved } else { &mut self.unproved };
        lane.peers.push_back(prefix);
    }

    /// Returns the next work.
    pub fn pop(&mut self, now: Instant) -> Option<Work> {
        self.announcements.pop_front().or_else(|| self.proved.pop(now)).or_else(|| self.unproved.pop(now))
    }

    /// Counts a datagram that was sent to a participant.
    pub fn note_sent(&mut self, now: Instant, is_proved: bool) {
        let lane = if is_proved { &mut self.proved } else { &mut self.unproved };
        lane.note_sent(now);
    }

    /// Returns when the next datagram may be sent.
    pub fn ready_at(&self) -> Option<Instant> {
        let announcements = (!self.announcements.is_empty()).then_some(Instant(0));
        let lanes = [&self.proved, &self.unproved].into_iter().filter(|lane| !lane.peers.is_empty());
        announcements.into_iter().chain(lanes.map(Lane::ready_at)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unproved_peers_are_sent_to_at_a_bounded_rate() {
        let mut queue = DiscoveryQueue::new();
        let (begin, mut now) = (Instant(1_000_000_000), Instant(1_000_000_000));
        (0..200).for_each(|index| queue.push(GuidPrefix([index; 12]), false));
        let mut immediate = 0;
        for _ in 0..200 {
            while queue.pop(now).is_none() {
                now = queue.ready_at().unwrap();
            }
            queue.note_sent(now, false);
            immediate += u32::from(now == begin);
        }
        assert!((UNPROVED.0..=UNPROVED.0 + 1).contains(&immediate), "{immediate}");
        assert!(now.since(begin) >= UNPROVED.1 * 180, "{:?}", now.since(begin));
        assert_eq!(queue.ready_at(), None);
    }

    #[test]
    fn proved_peer_waits_for_no_unproved_one() {
        let mut queue = DiscoveryQueue::new();
        (0..100).for_each(|index| queue.push(GuidPrefix([index; 12]), false));
        queue.push(GuidPrefix([200; 12]), true);
        assert_eq!(queue.pop(Instant(1)), Some(Work::Discovery(GuidPrefix([200; 12]))));
    }
}
