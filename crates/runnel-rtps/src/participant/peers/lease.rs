//! Expiry of leases, and loss of participants.

use super::Standing;
use crate::event::Event;
use crate::participant::{Participant, Peer};
use crate::wire::{EntityId, GuidPrefix};
use runnel_core::time::Instant;

impl Participant {
    /// Handles the timer of a participant, whose lease may have expired.
    pub(in crate::participant) fn peer_due(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        if peer.ends_unless_confirmed.is_some_and(|at| at <= now) {
            self.lose(prefix);
            return;
        }
        if peer.last_received + peer.lease(self.config.limits) > now {
            if peer.trial_ends.is_some_and(|at| at <= now) {
                return self.demote(now, prefix);
            }
            let again = peer.reannounce_at.take_if(|(at, _)| *at <= now);
            // One on trial is asked at intervals of its own.
            return match again.filter(|_| peer.standing == Standing::Announced) {
                Some((_, time)) => self.announce_to_candidate_at(now, prefix, time),
                None => self.check_move(now, prefix),
            };
        }
        let (proved, address, number_offset) = (peer.is_proved(), peer.metatraffic, peer.number_offset);
        // First, since its dispose samples are held from then on.
        if proved {
            self.begin_search(now, prefix, (address, number_offset));
        }
        self.lose(prefix);
    }

    /// Removes a participant that is gone; returns its data.
    pub(in crate::participant) fn lose(&mut self, prefix: GuidPrefix) -> Option<Peer> {
        let peer = self.peers.remove(prefix)?;
        self.disarm_peer(&peer);
        if !peer.standing.is_discovered() {
            return Some(peer);
        }
        self.unmatch_participant(prefix);
        for entity in peer.endpoints.keys() {
            self.push_event(Event::EndpointLost(prefix.with(*entity)));
        }
        let endpoints = prefix.endpoints();
        self.reads.forget(prefix);
        let early = (*endpoints.start(), EntityId([0; 4]))..=(*endpoints.end(), EntityId([0xff; 4]));
        self.early.extract_if(early, |_, _| true).for_each(drop);
        self.push_event(Event::ParticipantLost(prefix));
        Some(peer)
    }
}
