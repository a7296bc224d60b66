//! Announcements of remote participants: their data and addresses, and their disposal.

use crate::announce::{self, ParticipantData};
use crate::event::Event;
use crate::fault::PeerFault;
use crate::participant::Participant;
use crate::participant::addresses::{choose_addresses, is_among, is_preferred_to};
use crate::participant::transmit::Work;
use crate::wire::{Data, GuidPrefix};
use core::net::SocketAddr;
use runnel_core::time::Instant;

impl Participant {
    /// Handles an announcement of a participant, or its disposal.
    pub(in crate::participant) fn handle_participant_sample(
        &mut self,
        now: Instant,
        (from, names_us): (SocketAddr, bool),
        uncounted: usize,
        data: &Data<'_>,
    ) {
        if announce::is_disposed(data.inline_qos) {
            if let Some(guid) = announce::key_of(data.inline_qos, data.payload) {
                self.handle_disposal(now, from, guid.prefix);
            }
            return;
        }
        let parsed = ParticipantData::parse(data.payload.bytes());
        match parsed {
            Ok(announced) => self.handle_announcement(now, (from, names_us), uncounted, announced),
            Err(error) => self.push_event(Event::PeerFault(PeerFault::BadAnnouncement { from, error })),
        }
    }

    fn handle_disposal(&mut self, now: Instant, from: SocketAddr, prefix: GuidPrefix) {
        if self.peers.get(prefix).is_some_and(|peer| peer.is_known_source(from.ip())) {
            self.end_participant(now, prefix);
        }
    }

    /// Handles an announcement. A participant that has named us is not believed from an unknown address, unless the
    /// datagram contains our prefix: then it may have moved.
    fn handle_announcement(
        &mut self,
        now: Instant,
        (from, names_us): (SocketAddr, bool),
        uncounted: usize,
        data: ParticipantData,
    ) {
        let ours =
            data.domain.is_none_or(|domain| domain == self.config.domain) && data.domain_tag.is_empty();
        if !ours || data.prefix == self.config.prefix {
            return;
        }
        let prefix = data.prefix;
        let Some(peer) = self.peers.get_mut(prefix) else {
            if !self.is_end_in_doubt(now, prefix) {
                self.add_candidate(now, from, uncounted, data);
            }
            return;
        };
        let is_known = peer.is_known_source(from.ip()) || names_us && peer.is_at(&self.config, from.ip());
        let is_proved = peer.is_proved();
        match peer.standing.is_discovered() {
            true if is_known => {
                self.accept_announcement(now, from, data);
                self.read_corrected_discovery(now, prefix);
                self.check_doubtful(now, prefix);
            }
            true if names_us => return self.handle_move_claim(now, from, data),
            true => return,
            false => {
                self.note_bytes(now, prefix, uncounted);
                self.accept_announcement(now, from, data);
            }
        }
        if !is_proved {
            // One on trial may have lost us, or our requests.
            self.request_again(prefix);
            // One that names us may be answering us: two participants would answer each other without end.
            match names_us {
                true => self.answer_search(now, from, prefix),
                false => self.announce_to_candidate(now, prefix),
            }
        }
    }

    /// Handles an announcement of a known participant. Another address must be announced several times.
    fn accept_announcement(&mut self, now: Instant, from: SocketAddr, mut data: ParticipantData) {
        let Some(peer) = self.peers.get_mut(data.prefix) else { return };
        let contested = peer.keep_contested_locators(now, &mut data);
        self.accept_data(now, from, data);
        if let Some(announced) = contested {
            self.handle_other_locators(now, from, announced);
        }
    }

    /// Accepts announced data of a participant.
    pub(in crate::participant) fn accept_data(
        &mut self,
        now: Instant,
        from: SocketAddr,
        data: ParticipantData,
    ) {
        if let Some(peer) = self.peers.get_mut(data.prefix) {
            peer.note_source(from.ip());
            peer.last_received = now;
            self.update(now, from, data);
        }
    }

    /// Updates the data and addresses of a known participant.
    fn update(&mut self, now: Instant, from: SocketAddr, mut data: ParticipantData) {
        let Some(peer) = self.peers.get_mut(data.prefix) else { return };
        let prefix = data.prefix;
        let changed = peer.data.metatraffic != data.metatraffic || peer.data.unicast != data.unicast;
        if peer.standing.is_discovered() {
            peer.keep_contested_data(now, &mut data);
        }
        let former = peer.metatraffic;
        let has_other_endpoints = peer.standing.is_discovered() && peer.data.builtin != data.builtin;
        let is_other_vendor = peer.data.vendor != data.vendor;
        peer.data = data;
        if is_other_vendor {
            self.renumber(prefix);
        }
        if has_other_endpoints {
            self.match_discovery(prefix);
        }
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        let found = match peer.standing.is_discovered() {
            true => peer.known_addresses(&self.config, from),
            false => choose_addresses(&self.config, &peer.data, from, |_| true),
        };
        let Some(found) = found else { return };
        let has_socket = |own: &SocketAddr| own.is_ipv4() == peer.metatraffic.is_ipv4();
        let better = is_preferred_to(&self.config, found.metatraffic, peer.metatraffic)
            || !self.config.unicast.iter().any(has_socket);
        let is_proved = peer.is_proved();
        let other_family = found.metatraffic.is_ipv4() != peer.metatraffic.is_ipv4();
        // An announcement from its address does not prove that it can be reached there.
        let in_doubt = peer.is_path_in_doubt && found.metatraffic != peer.metatraffic;
        peer.is_path_in_doubt &= !in_doubt;
        let stays = (other_family || is_proved) && is_among(peer.metatraffic, &peer.data.metatraffic);
        if better || in_doubt || changed && !stays {
            self.peers.alter(prefix, |peer| peer.use_addresses(found));
            if found.metatraffic.ip() != former.ip() {
                match is_proved {
                    true => self.repeat_trial(now, prefix),
                    false => self.renumber(prefix),
                }
            }
            let is_checked = is_proved && changed && former != found.metatraffic;
            self.move_peer(prefix);
            if is_checked {
                // If it is still there, it answers.
                self.discovery.push_announcements(core::iter::once(Work::Call(prefix, former)));
            }
        }
    }
}
