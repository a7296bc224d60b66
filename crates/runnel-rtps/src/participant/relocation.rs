//! Moved participants: announcements from new addresses.
//!
//! A participant that sends our prefix from an unknown address announces that it has moved. Both prefixes are public by
//! multicast, so the announcement may be forged: the participant is first checks_sent at its old address, and is believed to
//! have moved only if no answer arrives from there.
//!
//! From a known address it may announce other locators. They are believed when three consecutive announcements contain
//! them, or when it does not answer at the old address but does at the new one.

use super::addresses::{choose_addresses, is_among};
use super::{Participant, Peer};
use crate::announce::ParticipantData;
use crate::config::Config;
use crate::evidence::{QUIET, Verdict};
use crate::wire::GuidPrefix;
use core::net::SocketAddr;
use core::time::Duration;
use runnel_core::time::Instant;

/// Number of requests to the old address, and their interval.
const CHECKS_AT_OLD_ADDRESS: u32 = 8;
const CHECK_INTERVAL: Duration = Duration::from_millis(40);

/// Number of requests to the new address, after no answer from the old one.
const CHECKS_AT_NEW_ADDRESS: u32 = 3;

/// Announced move of a participant, which has not answered from its old address yet.
#[derive(Debug)]
pub(super) struct Relocation {
    from: SocketAddr,
    data: ParticipantData,
    /// It was announced from a known address of the participant.
    pub is_known: bool,
    checks_sent: u32,
    /// When it is checks_sent again, or believed.
    pub next: Instant,
}

impl Peer {
    /// Returns the destination of discovery: the announced new address, while it is checks_sent there.
    pub(super) fn discovery_address(&self, config: &Config) -> SocketAddr {
        let there = self
            .relocation
            .as_ref()
            .filter(|relocation| relocation.is_known && relocation.checks_sent > CHECKS_AT_OLD_ADDRESS);
        let there = there.and_then(|relocation| {
            choose_addresses(config, &relocation.data, relocation.from, |ip| self.is_at(config, ip))
        });
        there.map_or(self.metatraffic, |found| found.metatraffic)
    }

    /// Checks announced locators. Other ones are believed after several consecutive announcements; until then `data`
    /// gets the former ones. Returns the announced data if it is contested.
    pub(super) fn keep_contested_locators(
        &mut self,
        now: Instant,
        data: &mut ParticipantData,
    ) -> Option<ParticipantData> {
        let is_same = (&data.metatraffic, &data.unicast) == (&self.data.metatraffic, &self.data.unicast);
        // It keeps its current address, and may have further ones.
        let stays = is_among(self.metatraffic, &data.metatraffic) && is_among(self.user, &data.unicast);
        if is_same || stays || !self.is_proved() {
            self.locators.confirm(now);
            self.relocation.take_if(|relocation| relocation.is_known);
            return None;
        }
        // Announcements repeat one sequence number: only the time distinguishes them from their copies.
        let mark = now.0 / QUIET.as_nanos() as u64;
        if self.locators.contradict(now, mark) == Verdict::Restart {
            self.relocation = None;
            return None;
        }
        let announced = data.clone();
        (data.metatraffic, data.unicast) = (self.data.metatraffic.clone(), self.data.unicast.clone());
        Some(announced)
    }

    /// Checks announced data that would end its links or disable communication: a shorter lease, another vendor, other
    /// discovery endpoints. It is believed after several announcements; until then `data` gets the former values, if
    /// those were announced twice.
    pub(super) fn keep_contested_data(&mut self, now: Instant, data: &mut ParticipantData) {
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
            // Data that was announced once is no more likely than this one.
            return;
        }
        // Announcements repeat one sequence number: only the time distinguishes them from their copies.
        let mark = now.0 / QUIET.as_nanos() as u64;
        if self.evidence.contradict(now, mark) != Verdict::Restart {
            (data.vendor, data.builtin) = known;
            data.lease = if shortens { self.data.lease } else { data.lease };
        }
    }
}

impl Participant {
    /// Handles an announcement from an unknown address that names our prefix: the participant may have moved there.
    pub(super) fn handle_move_claim(&mut self, now: Instant, from: SocketAddr, data: ParticipantData) {
        let prefix = data.prefix;
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        match &mut peer.relocation {
            Some(relocation) => (relocation.from, relocation.data, relocation.is_known) = (from, data, false),
            // It has just sent from its old address, so no request is needed.
            None if peer.last_received + CHECK_INTERVAL > now => {}
            None => self.begin_move_check(now, (from, data), false),
        }
    }

    /// Handles an announcement of other locators from a known address.
    pub(super) fn handle_other_locators(&mut self, now: Instant, from: SocketAddr, data: ParticipantData) {
        let Some(peer) = self.peers.get_mut(data.prefix) else { return };
        match &mut peer.relocation {
            Some(relocation) if relocation.is_known => (relocation.from, relocation.data) = (from, data),
            _ => self.begin_move_check(now, (from, data), true),
        }
    }

    fn begin_move_check(
        &mut self,
        now: Instant,
        (from, data): (SocketAddr, ParticipantData),
        is_known: bool,
    ) {
        let prefix = data.prefix;
        if let Some(peer) = self.peers.get_mut(prefix) {
            peer.relocation = Some(Relocation { from, data, is_known, checks_sent: 0, next: now });
            self.check_move(now, prefix);
        }
    }

    /// Handles an acknowledgement of discovery: a participant that was checks_sent at its new address is there.
    pub(super) fn complete_move_check(&mut self, now: Instant, prefix: GuidPrefix) {
        let peer = self.peers.get_mut(prefix);
        let relocation = peer.and_then(|peer| peer.relocation.take_if(|relocation| relocation.is_known));
        if let Some(Relocation { from, data, .. }) =
            relocation.filter(|relocation| relocation.checks_sent > CHECKS_AT_OLD_ADDRESS)
        {
            self.accept_data(now, from, data);
        }
    }

    /// Asks a participant whether it has moved, if due. One that has not answered often enough has moved.
    pub(super) fn check_move(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        if let Some(relocation) = peer.relocation.as_mut().filter(|relocation| relocation.next <= now) {
            let most = if relocation.is_known {
                CHECKS_AT_OLD_ADDRESS + CHECKS_AT_NEW_ADDRESS
            } else {
                CHECKS_AT_OLD_ADDRESS
            };
            if relocation.checks_sent < most {
                (relocation.checks_sent, relocation.next) =
                    (relocation.checks_sent + 1, now + CHECK_INTERVAL);
                self.remind(prefix);
            } else if let Some(Relocation { from, data, is_known: false, .. }) = peer.relocation.take() {
                self.accept_data(now, from, data);
            }
        }
        self.arm_peer(prefix);
    }
}
