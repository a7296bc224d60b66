//! Participants that were lost without a word: they may have been cut off, or their clock or ours has leapt. They are called
//! where they were, and those that have not lost us are told that we have lost them.

use super::{Participant, Timer, transmit::Work};
use crate::wire::GuidPrefix;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use runnel_core::time::Instant;

/// How often they are called.
const SEARCH_EVERY: Duration = Duration::from_secs(1);

/// How many participants that were lost without a word are looked for, and how long.
const MOST_LOST: usize = 64;
const SEARCH_FOR: Duration = Duration::from_secs(600);

/// A participant that was lost without a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    prefix: GuidPrefix,
    /// Where it was.
    address: SocketAddr,
    /// By how much its numbers exceeded ours, if it may go on by them.
    number_offset: Option<i64>,
    /// Until when it is looked for.
    until: Instant,
}

impl Participant {
    /// A participant that was lost without a word may have been cut off: we go on calling it.
    pub(super) fn look_for(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        (address, number_offset): (SocketAddr, i64),
    ) {
        self.call_from(now, SEARCH_FOR, prefix, address, Some(number_offset));
    }

    /// A participant is called at a time and once more, in case that is lost.
    pub(super) fn call_twice(&mut self, at: Instant, prefix: GuidPrefix, address: SocketAddr) {
        self.call_from(at, SEARCH_EVERY + SEARCH_EVERY / 2, prefix, address, None);
    }

    fn call_from(
        &mut self,
        at: Instant,
        time: Duration,
        prefix: GuidPrefix,
        address: SocketAddr,
        number_offset: Option<i64>,
    ) {
        self.peers.lost.retain(|lost| lost.address != address);
        if self.peers.lost.len() >= MOST_LOST {
            self.peers.lost.pop_front();
        }
        self.peers.lost.push_back(Lost { prefix, address, number_offset, until: at + time });
        self.writers.values_mut().for_each(|writer| writer.await_return(true));
        self.timers.schedule_if_earlier(Timer::Search, at);
    }

    /// True if a participant was proved and lost without a word.
    pub(super) fn is_looked_for(&self, prefix: GuidPrefix) -> bool {
        self.peers.lost.iter().any(|lost| lost.prefix == prefix)
    }

    /// The number by which one that was lost had proved an address goes on there.
    pub(super) fn offset_before_loss(&self, prefix: GuidPrefix, ip: IpAddr) -> Option<i64> {
        let lost = self.peers.lost.iter().find(|lost| lost.prefix == prefix && lost.address.ip() == ip)?;
        lost.number_offset
    }

    pub(super) fn search(&mut self, now: Instant) {
        let found: Vec<SocketAddr> = self.peers.proved().map(|peer| peer.metatraffic).collect();
        self.peers.lost.retain(|lost| lost.until > now && !found.contains(&lost.address));
        self.discovery.call(self.peers.lost.iter().map(|lost| Work::Seek(lost.prefix, lost.address)));
        if self.peers.lost.is_empty() {
            self.writers.values_mut().for_each(|writer| writer.await_return(false));
        } else {
            self.timers.schedule_if_earlier(Timer::Search, now + SEARCH_EVERY);
        }
    }

    /// A participant that announces itself names us. If we have not lost it, it has lost us, and is told of us again: now
    /// and then, since it may do the same.
    pub(super) fn sought(&mut self, now: Instant, from: SocketAddr, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        let is_due = peer.reminded.is_none_or(|at| at + SEARCH_EVERY / 2 <= now);
        if is_due && peer.standing.has_met() && peer.sends_from(from.ip()) {
            peer.reminded = Some(now);
            self.remind(prefix);
        }
    }
}
