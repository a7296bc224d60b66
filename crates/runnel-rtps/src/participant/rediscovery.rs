//! Search for participants whose lease ended without a disposal: they may have been unreachable, or a clock has leapt.
//! They are called at their last address, and those that have not lost us are notified that we have lost them.

use super::{Participant, Timer, transmit::Work};
use crate::wire::GuidPrefix;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use runnel_core::time::Instant;

/// Interval of calls.
const SEARCH_EVERY: Duration = Duration::from_secs(1);

/// Maximum number of lost participants that are searched, and the duration of the search.
const MAX_LOST: usize = 64;
const SEARCH_FOR: Duration = Duration::from_secs(600);

/// Participant whose lease ended without a disposal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    prefix: GuidPrefix,
    /// Last address.
    address: SocketAddr,
    /// Offset of its sequence numbers, if it may continue them.
    number_offset: Option<i64>,
    /// End of the search.
    until: Instant,
}

impl Participant {
    /// Begins the search for a lost participant, which may be unreachable.
    pub(super) fn begin_search(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        (address, number_offset): (SocketAddr, i64),
    ) {
        self.add_call(now, SEARCH_FOR, prefix, address, Some(number_offset));
    }

    /// Calls a participant at a time and once more, in case the first call is lost.
    pub(super) fn call_twice(&mut self, at: Instant, prefix: GuidPrefix, address: SocketAddr) {
        self.add_call(at, SEARCH_EVERY + SEARCH_EVERY / 2, prefix, address, None);
    }

    fn add_call(
        &mut self,
        at: Instant,
        time: Duration,
        prefix: GuidPrefix,
        address: SocketAddr,
        number_offset: Option<i64>,
    ) {
        self.peers.lost.retain(|lost| lost.address != address);
        if self.peers.lost.len() >= MAX_LOST {
            self.peers.lost.pop_front();
        }
        self.peers.lost.push_back(Lost { prefix, address, number_offset, until: at + time });
        self.writers.values_mut().for_each(|writer| writer.keep_disposals(true));
        self.timers.schedule_if_earlier(Timer::Search, at);
    }

    /// Returns whether a participant was proved and its lease ended without a disposal.
    pub(super) fn is_searched(&self, prefix: GuidPrefix) -> bool {
        self.peers.lost.iter().any(|lost| lost.prefix == prefix)
    }

    /// Returns the sequence number offset with which a lost participant had proved an address.
    pub(super) fn offset_before_loss(&self, prefix: GuidPrefix, ip: IpAddr) -> Option<i64> {
        let lost = self.peers.lost.iter().find(|lost| lost.prefix == prefix && lost.address.ip() == ip)?;
        lost.number_offset
    }

    pub(super) fn search(&mut self, now: Instant) {
        let found: Vec<SocketAddr> = self.peers.proved().map(|peer| peer.metatraffic).collect();
        self.peers.lost.retain(|lost| lost.until > now && !found.contains(&lost.address));
        self.discovery
            .push_announcements(self.peers.lost.iter().map(|lost| Work::Call(lost.prefix, lost.address)));
        if self.peers.lost.is_empty() {
            self.writers.values_mut().for_each(|writer| writer.keep_disposals(false));
        } else {
            self.timers.schedule_if_earlier(Timer::Search, now + SEARCH_EVERY);
        }
    }

    /// Handles an announcement that names us, of a participant that has lost us: it is sent our announcement, at
    /// limited intervals, since it may do the same.
    pub(super) fn answer_search(&mut self, now: Instant, from: SocketAddr, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        let is_due = peer.reminded.is_none_or(|at| at + SEARCH_EVERY / 2 <= now);
        if is_due && peer.standing.is_discovered() && peer.is_known_source(from.ip()) {
            peer.reminded = Some(now);
            self.remind(prefix);
        }
    }
}
