//! Participants that are said to have moved.
//!
//! A participant says by our prefix, from an unknown address, where it is now. Both prefixes are told to everybody by multicast,
//! so anybody may say that in its name: it is asked first where it was, and is believed to have moved only if nothing comes
//! from there.
//!
//! From a known address it may announce other locators. They are believed when three announcements in a row name them, or
//! when it does not answer where it was, and does so where it says that it is.

use super::routes::{is_among, ways};
use super::{Participant, Peer};
use crate::announce::ParticipantData;
use crate::config::Config;
use crate::evidence::{QUIET, Verdict};
use crate::wire::GuidPrefix;
use core::net::SocketAddr;
use core::time::Duration;
use runnel_core::time::Instant;

/// How often one is asked whether it is still where it was, and for how long each time.
const ASK_TIMES: u32 = 8;
const ASK_EVERY: Duration = Duration::from_millis(40);

/// How often one that does not answer there is asked where it says that it is.
const ASK_THERE_TIMES: u32 = 3;

/// A participant is said to be elsewhere, and has yet to answer from where it was.
#[derive(Debug)]
pub(super) struct Move {
    from: SocketAddr,
    data: ParticipantData,
    /// It was said from an address where it is known to be.
    pub is_known: bool,
    asked: u32,
    /// When it is asked again, or believed.
    pub next: Instant,
}

impl Peer {
    /// Where discovery sends to: where it says that it is, while it is asked there.
    pub(super) fn discovery_address(&self, config: &Config) -> SocketAddr {
        let there = self.moves.as_ref().filter(|moves| moves.is_known && moves.asked > ASK_TIMES);
        let there =
            there.and_then(|moves| ways(config, &moves.data, moves.from, |ip| self.is_at(config, ip)));
        there.map_or(self.metatraffic, |ways| ways.metatraffic)
    }

    /// Other addresses are believed when they are announced several times in a row. Until then `data` has those that were announced
    /// before. What was announced if that is in question.
    pub(super) fn keep_contested_locators(
        &mut self,
        now: Instant,
        data: &mut ParticipantData,
    ) -> Option<ParticipantData> {
        let is_same = (&data.metatraffic, &data.unicast) == (&self.data.metatraffic, &self.data.unicast);
        // It stays where it is reached, and may have further addresses.
        let stays = is_among(self.metatraffic, &data.metatraffic) && is_among(self.user, &data.unicast);
        if is_same || stays || !self.is_proved() {
            self.locators.confirm(now);
            self.moves.take_if(|moves| moves.is_known);
            return None;
        }
        // Announcements repeat one number: only time tells them from their copies.
        let mark = now.0 / QUIET.as_nanos() as u64;
        if self.locators.contradict(now, mark) == Verdict::Restart {
            self.moves = None;
            return None;
        }
        let announced = data.clone();
        (data.metatraffic, data.unicast) = (self.data.metatraffic.clone(), self.data.unicast.clone());
        Some(announced)
    }

    /// What would end its links or keep it from being understood is believed when it says so several times: a shorter lease,
    /// another vendor, other endpoints of discovery. Until then `data` has what it said before, if it had said that twice.
    pub(super) fn keep_what_is_contested(&mut self, now: Instant, data: &mut ParticipantData) {
        let shortens = match (data.lease, self.data.lease) {
            (Some(new), Some(old)) => new < old,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let known = (self.data.vendor, self.data.builtin);
        if !shortens && (data.vendor, data.builtin) == known {
            return self.evidence.confirm(now);
        }
        if !self.evidence.was_confirmed() {
            // What was said once is no more likely than what is said now.
            return;
        }
        // Announcements repeat one number: only time tells them from their copies.
        let mark = now.0 / QUIET.as_nanos() as u64;
        if self.evidence.contradict(now, mark) != Verdict::Restart {
            (data.vendor, data.builtin) = known;
            data.lease = if shortens { self.data.lease } else { data.lease };
        }
    }
}

impl Participant {
    /// Somebody says from an unknown address, and by our name, that one who is met is there now.
    pub(super) fn said_to_have_moved(&mut self, now: Instant, from: SocketAddr, data: ParticipantData) {
        let prefix = data.prefix;
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        match &mut peer.moves {
            Some(moves) => (moves.from, moves.data, moves.is_known) = (from, data, false),
            // It has just been heard from where it was: there is no need to ask.
            None if peer.heard + ASK_EVERY > now => {}
            None => self.begin_to_ask(now, (from, data), false),
        }
    }

    /// One that is met says from where it is known to be that it is reached elsewhere.
    pub(super) fn announces_other_locators(&mut self, now: Instant, from: SocketAddr, data: ParticipantData) {
        let Some(peer) = self.peers.get_mut(data.prefix) else { return };
        match &mut peer.moves {
            Some(moves) if moves.is_known => (moves.from, moves.data) = (from, data),
            _ => self.begin_to_ask(now, (from, data), true),
        }
    }

    fn begin_to_ask(&mut self, now: Instant, (from, data): (SocketAddr, ParticipantData), is_known: bool) {
        let prefix = data.prefix;
        if let Some(peer) = self.peers.get_mut(prefix) {
            peer.moves = Some(Move { from, data, is_known, asked: 0, next: now });
            self.ask_whether_moved(now, prefix);
        }
    }

    /// It has acknowledged discovery: if it was asked where it was, it is there still.
    pub(super) fn answers_whether_moved(&mut self, now: Instant, prefix: GuidPrefix) {
        let peer = self.peers.get_mut(prefix);
        let moves = peer.and_then(|peer| peer.moves.take_if(|moves| moves.is_known));
        if let Some(Move { from, data, .. }) = moves.filter(|moves| moves.asked > ASK_TIMES) {
            self.believe(now, from, data);
        }
    }

    /// Asks it, if that is due; one that has been asked often enough and does not answer has moved.
    pub(super) fn ask_whether_moved(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        if let Some(moves) = peer.moves.as_mut().filter(|moves| moves.next <= now) {
            let most = if moves.is_known { ASK_TIMES + ASK_THERE_TIMES } else { ASK_TIMES };
            if moves.asked < most {
                (moves.asked, moves.next) = (moves.asked + 1, now + ASK_EVERY);
                self.remind(prefix);
            } else if let Some(Move { from, data, is_known: false, .. }) = peer.moves.take() {
                self.believe(now, from, data);
            }
        }
        self.arm_peer(prefix);
    }
}
