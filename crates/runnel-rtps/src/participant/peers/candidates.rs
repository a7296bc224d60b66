//! Candidates: participants that have not proved their address. They are sent our announcement within their
//! credit, put on trial, demoted or proved.

use super::{Outbox, Peer, Standing, number_offset};
use crate::announce::{ParticipantData, nearest};
use crate::event::Event;
use crate::evidence::Evidence;
use crate::fault::PeerFault;
use crate::participant::addresses::{PeerAddresses, choose_addresses};
use crate::participant::{DISCOVERY, Participant, Timer};
use crate::reader::WriterSpec;
use crate::wire::{GuidPrefix, VendorId};
use crate::writer::{Change, Gate, ReaderSpec};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;

/// Bytes that may be sent to a candidate for each received one.
pub(super) const CREDIT: usize = 3;

/// Maximum credit of a candidate.
const MAX_CREDIT: usize = 16 * 1024;

/// Delays after which a candidate is sent our announcement again. Some announce themselves a moment before they listen,
/// and would receive our announcement only after their next one.
const REANNOUNCE_PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(20)];

/// Duration of a trial; afterwards a participant is sent only announcements.
pub(super) const TRIAL: Duration = Duration::from_secs(3);

/// Minimum age of a candidate that has sent more than announcements before another one may displace it.
const SETTLING: Duration = Duration::from_secs(1);

impl Participant {
    pub(super) fn add_candidate(
        &mut self,
        now: Instant,
        from: SocketAddr,
        len: usize,
        data: ParticipantData,
    ) {
        let Some(PeerAddresses { metatraffic, user }) = choose_addresses(&self.config, &data, from, |_| true)
        else {
            return;
        };
        let same_host = self.config.is_own(metatraffic.ip()) && self.config.is_own(from.ip());
        if !self.displace_candidate(now, same_host) {
            return self.refuse(now, metatraffic);
        }
        let prefix = data.prefix;
        let fresh = number_offset(self.config.secret, prefix, metatraffic.ip(), data.vendor);
        let number_offset = self.offset_before_loss(prefix, metatraffic.ip()).unwrap_or(fresh);
        let peer = Peer {
            data,
            endpoints: SortedMap::new(),
            announced_at: SortedMap::new(),
            endpoint_bytes: 0,
            metatraffic,
            user,
            same_host,
            sources: Vec::from([from.ip()]),
            standing: Standing::Announced,
            was_proved: false,
            number_offset,
            guesses: Default::default(),
            is_mismatch_reported: false,
            credit: (len * CREDIT).min(MAX_CREDIT),
            is_talking: false,
            since: now,
            order: self.peers.count,
            trial_ends: None,
            last_received: now,
            evidence: Evidence::default(),
            locators: Evidence::default(),
            was_corrected: false,
            relocation: None,
            ends_unless_confirmed: None,
            is_path_in_doubt: false,
            reannounce_at: None,
            reminded: None,
            vendor_message: None,
            outbox: Outbox::default(),
        };
        self.peers.count += 1;
        self.peers.restore(peer);
        self.announce_to_candidate(now, prefix);
    }

    /// Displaces the oldest candidate if the limit is reached: one that has only announced itself, else one that has
    /// not proved itself for a while. A remote one displaces no local one.
    fn displace_candidate(&mut self, now: Instant, is_local: bool) -> bool {
        if self.peers.index.candidates() < self.config.limits.candidates {
            return true;
        }
        let silent = self.peers.index.oldest(false, is_local);
        let has_settled =
            |prefix: &GuidPrefix| self.peers.get(*prefix).is_some_and(|peer| peer.since + SETTLING <= now);
        let displaced = silent.or_else(|| self.peers.index.oldest(true, is_local).filter(has_settled));
        displaced.into_iter().for_each(|prefix| drop(self.lose(prefix)));
        displaced.is_some()
    }

    /// Adds the bytes of a received datagram to the credit of an unproved participant.
    pub(super) fn note_bytes(&mut self, now: Instant, prefix: GuidPrefix, len: usize) {
        let Some(peer) = self.peers.get_mut(prefix).filter(|peer| !peer.is_proved()) else { return };
        peer.credit = peer.credit.saturating_add(len * CREDIT).min(MAX_CREDIT);
        let is_requested_again = peer.standing == Standing::OnTrial && peer.outbox.request_again.is_none();
        if is_requested_again {
            peer.outbox.begin_requests(now);
        }
        if peer.standing == Standing::OnTrial || peer.outbox.announcement {
            self.wake_discovery(prefix);
        }
        if is_requested_again {
            self.request_again(prefix);
            self.arm_discovery(prefix);
        }
    }

    /// Sends a candidate our announcement, and again if it does not answer soon.
    pub(super) fn announce_to_candidate(&mut self, now: Instant, prefix: GuidPrefix) {
        self.announce_to_candidate_at(now, prefix, 0);
    }

    pub(super) fn announce_to_candidate_at(&mut self, now: Instant, prefix: GuidPrefix, time: usize) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        peer.reannounce_at = REANNOUNCE_PAUSES.get(time).map(|pause| (now + *pause, time + 1));
        peer.outbox.announcement = true;
        self.wake_discovery(prefix);
        self.arm_peer(prefix);
    }

    /// Returns the bytes that may be sent to a participant now.
    pub(in crate::participant) fn credit(&self, prefix: GuidPrefix) -> usize {
        match self.peers.get(prefix) {
            Some(peer) if peer.is_proved() => usize::MAX,
            Some(peer) => peer.credit,
            None => 0,
        }
    }

    /// Subtracts sent bytes from the credit of a participant. Returns false if the credit is too small.
    pub(in crate::participant) fn spend(&mut self, prefix: GuidPrefix, bytes: usize) -> bool {
        let Some(peer) = self.peers.get_mut(prefix) else { return false };
        match peer.credit.checked_sub(bytes) {
            _ if peer.is_proved() => true,
            Some(rest) => {
                peer.credit = rest;
                true
            }
            None => false,
        }
    }

    /// Puts a participant on trial after a datagram with our prefix, if it sends from the address at which it is
    /// reached.
    pub(in crate::participant) fn put_on_trial(
        &mut self,
        now: Instant,
        from: SocketAddr,
        prefix: GuidPrefix,
    ) {
        let Some(peer) = self.peers.get(prefix).filter(|peer| !peer.standing.is_discovered()) else { return };
        let mut found = PeerAddresses { metatraffic: peer.metatraffic, user: peer.user };
        if !peer.is_at_its_addresses(&self.config) {
            match peer.known_addresses(&self.config, from) {
                Some(known) => found = known,
                None => return self.report_address_mismatch(from, prefix),
            }
        }
        let is_moved = found.metatraffic.ip() != peer.metatraffic.ip();
        let is_own = |ip: IpAddr| self.config.is_own(ip);
        let same_host = is_own(found.metatraffic.ip()) && is_own(from.ip());
        self.peers.alter(prefix, |peer| peer.use_addresses(found));
        if is_moved {
            self.renumber(prefix);
        }
        self.peers.alter(prefix, |peer| {
            (peer.same_host, peer.standing) = (same_host, Standing::OnTrial);
        });
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        peer.trial_ends = Some(now + TRIAL);
        // It has received our announcement.
        peer.outbox.announcement = false;
        peer.outbox.begin_requests(now);
        self.push_event(Event::ParticipantFound(prefix));
        self.match_discovery(prefix);
        self.arm_peer(prefix);
    }

    /// Accepts the proof of a participant: it has acknowledged a number that only a receiver of our datagrams can know.
    pub(in crate::participant) fn prove(&mut self, now: Instant, from: SocketAddr, prefix: GuidPrefix) {
        self.put_on_trial(now, from, prefix);
        let Some(peer) = self.peers.get(prefix) else { return };
        if !peer.standing.is_discovered() || peer.is_proved() {
            return;
        }
        let (address, vendor) = (peer.metatraffic, peer.data.vendor);
        if !self.has_capacity_for_proved(prefix, address.ip()) {
            return self.refuse(now, address);
        }
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        (peer.trial_ends, peer.reannounce_at) = (None, None);
        peer.outbox.queued = false;
        peer.was_proved = true;
        self.peers.alter(prefix, |peer| peer.standing = Standing::Proved);
        if vendor == VendorId::RUNNEL {
            self.end_predecessors(now, prefix, address);
        }
        self.set_gates(now, prefix, Gate::Open);
        self.wake_discovery(prefix);
        self.request_endpoints(now, prefix);
    }

    /// Demotes a participant after its trial: nothing is held for it, and it is sent our announcement only when it
    /// announces itself.
    pub(super) fn demote(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        peer.trial_ends = None;
        peer.standing = Standing::Demoted;
        self.set_gates(now, prefix, Gate::Closed);
        self.arm_peer(prefix);
    }

    pub(super) fn set_gates(&mut self, now: Instant, prefix: GuidPrefix, gate: Gate) {
        for writer in self.writers.values_mut() {
            writer.set_gate(now, prefix, gate);
        }
        self.update_writers_of(prefix, || Change::Gate(prefix, gate));
    }

    /// Ends other Runnel participants at the same address: a port belongs to one at a time, so the others have died,
    /// and no writer should wait for them.
    fn end_predecessors(&mut self, now: Instant, prefix: GuidPrefix, address: SocketAddr) {
        let is_ours = |peer: &&Peer| peer.data.vendor == VendorId::RUNNEL && peer.data.prefix != prefix;
        let dead: Vec<GuidPrefix> = self
            .peers
            .proved()
            .filter(is_ours)
            .filter(|peer| peer.metatraffic == address)
            .map(|peer| peer.data.prefix)
            .collect();
        dead.into_iter().for_each(|dead| self.end_participant(now, dead));
    }

    /// Reports once that a participant sends from other addresses than announced.
    fn report_address_mismatch(&mut self, from: SocketAddr, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        if !core::mem::replace(&mut peer.is_mismatch_reported, true) {
            let (announced, source) = (peer.metatraffic, from.ip());
            let fault = PeerFault::AddressMismatch { participant: prefix, announced, source };
            self.push_event(Event::PeerFault(fault));
        }
    }

    pub(in crate::participant) fn match_discovery(&mut self, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get(prefix) else { return };
        let (address, path, has) = (peer.metatraffic, self.path(peer), peer.data.builtin);
        let (number_offset, is_ours) = (peer.number_offset, peer.data.vendor == VendorId::RUNNEL);
        let plain = peer.data.vendor.is_plain().then(|| nearest(&self.config.unicast, address.ip()));
        let max_bytes = 1 << 20;
        for (writer, reader) in DISCOVERY {
            if has.has(reader)
                && let Some(ours) = self.writers.get_mut(&writer)
            {
                ours.match_reader(ReaderSpec {
                    guid: prefix.with(reader),
                    address,
                    reliable: true,
                    wants_history: true,
                    datagram: path.datagram,
                    rate: path.rate,
                    requests_slowly: false,
                    shares_reorder_buffer: false,
                    inline_qos: Vec::new(),
                    gate: Gate::Open,
                    number_offset,
                    // Runnel's readers hold samples that arrive before the first number is known.
                    needs_first_number: number_offset != 0 && !is_ours,
                    echoes: plain.is_some(),
                    plain: plain.clone(),
                });
            }
            if has.has(writer)
                && let Some(ours) = self.readers.get_mut(&reader)
            {
                let guid = prefix.with(writer);
                let budgets = self.budgets.clone();
                ours.match_writer(WriterSpec { guid, address, reliable: true, max_bytes, budgets });
                let readers = self.readers_by_writer.entry(guid).or_default();
                if !readers.contains(&reader) {
                    readers.push(reader);
                }
            }
        }
        self.wake_discovery(prefix);
        self.arm_discovery(prefix);
    }

    /// Counts a refused participant, and reports it at intervals.
    pub(super) fn refuse(&mut self, now: Instant, address: SocketAddr) {
        if let Some(count) = self.peers.refusals.note(now) {
            self.push_event(Event::ParticipantsRefused { address, count });
        }
    }

    pub(super) fn disarm_peer(&mut self, peer: &Peer) {
        let prefix = peer.data.prefix;
        self.timers.cancel(&Timer::Peer(prefix));
        self.timers.cancel(&Timer::Discovery(prefix));
    }
}
