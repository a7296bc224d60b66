//! Those that have announced themselves and have yet to prove that they hear us.

use super::Peer;
use crate::announce::ParticipantData;
use crate::event::Event;
use crate::evidence::Evidence;
use crate::participant::routes::{Ways, ways};
use crate::participant::transmit::Work;
use crate::participant::{DISCOVERY, Participant, Timer};
use crate::reader::WriterSpec;
use crate::stored::Lend;
use crate::wire::{GuidPrefix, VendorId};
use crate::writer::ReaderSpec;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use runnel_core::time::Instant;

/// How many bytes a candidate may cost for each that it sent.
pub(super) const CREDIT: usize = 3;

/// How long a candidate is waited for until it is told of us again. Some announce themselves a moment before they listen, and
/// would hear of us with their next announcement only.
const GREET_AGAIN: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(20)];

impl<P: Lend> Participant<P> {
    pub(super) fn add_candidate(
        &mut self,
        now: Instant,
        from: SocketAddr,
        len: usize,
        data: ParticipantData,
    ) {
        let Some(Ways { metatraffic, user }) = ways(&self.config, &data, from, |_| true) else { return };
        let same_host = self.config.is_own(metatraffic.ip()) && self.config.is_own(from.ip());
        if self.peers.candidates.len() >= self.config.limits.candidates
            && let Some(oldest) = self.peers.candidates.pop_front()
            && let Some(peer) = self.peers.all.remove(&oldest)
        {
            self.timers.disarm(peer.armed, Timer::Peer(oldest));
        }
        let prefix = data.prefix;
        let peer = Peer {
            data,
            endpoints: BTreeMap::new(),
            endpoint_bytes: 0,
            metatraffic,
            user,
            same_host,
            sources: Vec::from([from.ip()]),
            proved: false,
            is_elsewhere: false,
            credit: len * CREDIT,
            heard: now,
            evidence: Evidence::default(),
            moves: None,
            greet_again: None,
            reminded: None,
            armed: None,
            word: None,
        };
        self.peers.all.insert(prefix, peer);
        self.peers.candidates.push_back(prefix);
        self.greet(now, prefix);
    }

    /// Tells a candidate of us now, and again if it does not answer soon.
    pub(super) fn greet(&mut self, now: Instant, prefix: GuidPrefix) {
        self.greet_for(now, prefix, 0);
    }

    pub(super) fn greet_for(&mut self, now: Instant, prefix: GuidPrefix, time: usize) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        peer.greet_again = GREET_AGAIN.get(time).map(|pause| (now + *pause, time + 1));
        self.work.push_back(Work::Greet(prefix));
        self.arm_peer(prefix);
    }

    /// Takes so many bytes off what a candidate may cost. False if it may not cost so much.
    pub(in crate::participant) fn spend(&mut self, prefix: GuidPrefix, bytes: usize) -> bool {
        let Some(peer) = self.peers.get_mut(prefix) else { return false };
        match peer.credit.checked_sub(bytes) {
            _ if peer.proved => true,
            Some(rest) => {
                peer.credit = rest;
                true
            }
            None => false,
        }
    }

    /// A participant has something for us, and so has heard of us: it is proved, if it has been heard from where it is reached.
    pub(in crate::participant) fn prove(&mut self, from: SocketAddr, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix).filter(|peer| !peer.proved) else { return };
        if !peer.is_at_its_addresses(&self.config) {
            match peer.known_ways(&self.config, from) {
                Some(ways) => peer.take_ways(ways),
                None => return self.tell_of_elsewhere(from, prefix),
            }
        }
        let ip = peer.metatraffic.ip();
        if !self.has_room_at(ip) {
            return;
        }
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        let is_own = |ip: IpAddr| self.config.is_own(ip);
        peer.same_host = is_own(peer.metatraffic.ip()) && is_own(from.ip());
        peer.proved = true;
        let of_ours = peer.data.vendor == VendorId::RUNNEL;
        let (address, now) = (peer.metatraffic, peer.heard);
        self.peers.candidates.retain(|candidate| *candidate != prefix);
        if of_ours {
            self.take_place(now, prefix, address);
        }
        self.tell(Event::ParticipantFound(prefix));
        self.join_discovery(prefix);
    }

    /// A port is one participant's at a time with Runnel, though not with all: another that was there has died, and nobody
    /// is to wait for it.
    fn take_place(&mut self, now: Instant, prefix: GuidPrefix, address: SocketAddr) {
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

    /// Says once why a participant is not met.
    fn tell_of_elsewhere(&mut self, from: SocketAddr, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        if !core::mem::replace(&mut peer.is_elsewhere, true) {
            let to = peer.metatraffic;
            self.tell(Event::Trouble(format!(
                "{prefix} is not met: it says that it is reached at {to}, but is heard from {} only",
                from.ip()
            )));
        }
    }

    pub(in crate::participant) fn join_discovery(&mut self, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get(prefix) else { return };
        let (address, path, has) = (peer.metatraffic, self.path(peer), peer.data.builtin);
        let most_bytes = 1 << 20;
        for (writer, reader) in DISCOVERY {
            if has.has(reader)
                && let Some(ours) = self.writers.get_mut(&writer)
            {
                ours.join(ReaderSpec {
                    guid: prefix.with(reader),
                    address,
                    reliable: true,
                    wants_earlier: true,
                    datagram: path.datagram,
                    rate: path.rate,
                    inline_qos: Vec::new(),
                });
            }
            if has.has(writer)
                && let Some(ours) = self.readers.get_mut(&reader)
            {
                let guid = prefix.with(writer);
                let budgets = self.budgets.clone();
                ours.join(WriterSpec { guid, address, reliable: true, most_bytes, budgets });
                self.heard.entry(guid).or_default().push(reader);
                self.wake_answer(reader, guid);
            }
            self.wake_writer(writer);
        }
    }

    pub(in crate::participant) fn is_candidate(&self, prefix: GuidPrefix) -> bool {
        self.peers.get(prefix).is_some_and(|peer| !peer.proved)
    }
}
