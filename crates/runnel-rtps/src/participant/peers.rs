//! Remote participants: discovery, proof of address, lease, and loss.
//!
//! A participant that announces itself is first a candidate. Until it is proved, all datagrams to it take at most three
//! times the bytes that it has sent: an announcement may contain the address of a third party. It is on trial after it
//! has sent our prefix from the address at which it is reached; from then on datagrams go only to addresses from which
//! it has sent. It is proved after it has acknowledged numbers that only a receiver of our datagrams can know.

mod announcements;
mod candidates;
mod index;
mod lease;
mod own_announcement;
mod proof;
mod refusals;
mod standing;

use super::addresses::{PeerAddresses, choose_addresses};
use super::rediscovery::Lost;
use super::relocation::Relocation;
use super::{DISCOVERY, Participant, Timer};
use crate::announce::{Endpoint, PLAIN_DATAGRAM, ParticipantData};
use crate::config::{Config, Limits, Path};
use crate::evidence::Evidence;
use crate::wire::{EntityId, GuidPrefix, SequenceNumber};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use index::Index;
pub(super) use own_announcement::{announcement_of, plain_announcement_of};
use proof::{Guesses, number_offset};
use refusals::Refusals;
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
pub(super) use standing::Standing;

/// Shortest lease duration that is accepted.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

/// Maximum number of remembered source addresses of a participant.
const MAX_SOURCES: usize = 8;

/// Remote participant.
#[derive(Debug)]
pub struct Peer {
    /// Announced data.
    pub data: ParticipantData,
    /// Endpoints. Boxed, since there may be thousands.
    pub endpoints: SortedMap<EntityId, Box<Endpoint>>,
    /// Numbers of the samples that announced them, if known.
    pub(super) announced_at: SortedMap<EntityId, SequenceNumber>,
    /// Bytes of the endpoints.
    pub(super) endpoint_bytes: usize,
    /// Addresses of its discovery endpoints and of its user endpoints.
    pub(super) metatraffic: SocketAddr,
    pub(super) user: SocketAddr,
    pub(super) same_host: bool,
    /// Source addresses of its datagrams, the latest last.
    sources: Vec<IpAddr>,
    pub(super) standing: Standing,
    /// It was proved, at this address or another.
    pub(super) was_proved: bool,
    /// Offset of its discovery sequence numbers from the real ones.
    pub(super) number_offset: i64,
    /// We have lost an address since its address was chosen: its network may be unreachable.
    is_path_in_doubt: bool,
    guesses: Guesses,
    /// An event has reported that it sends only from other addresses than announced.
    is_mismatch_reported: bool,
    /// Bytes that may be sent to it before it is proved.
    credit: usize,
    /// It has sent more than announcements.
    pub(super) is_talking: bool,
    /// When it was discovered, and when its trial ends.
    since: Instant,
    /// Ordinal number of its discovery.
    order: u64,
    trial_ends: Option<Instant>,
    /// It was restored after its end, and is lost at this time unless its discovery writers have sent.
    pub(super) ends_unless_confirmed: Option<Instant>,
    pub(super) last_received: Instant,
    /// Evidence against its announced data, and against its addresses.
    pub(super) evidence: Evidence,
    pub(super) locators: Evidence,
    /// Its discovery was corrected since the last complete read.
    pub(super) was_corrected: bool,
    /// It may have moved.
    pub(super) relocation: Option<Relocation>,
    /// When a candidate is sent our announcement again, in case it was lost, and the index of that time.
    reannounce_at: Option<(Instant, usize)>,
    /// When a participant that had lost us was last sent our announcement.
    pub(super) reminded: Option<Instant>,
    /// Pending vendor message.
    pub(super) vendor_message: Option<Vec<u8>>,
    pub(super) outbox: Outbox,
}

/// Pending discovery content for a participant.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// It is queued.
    pub queued: bool,
    /// Our announcement is due.
    pub announcement: bool,
    /// When a participant on trial is asked again, and the last interval.
    pub request_again: Option<(Instant, Duration)>,
    /// Fragments for it wait until this time.
    pub not_before: Option<Instant>,
}

/// Known participants.
#[derive(Debug)]
pub(super) struct Peers {
    /// Boxed, since there may be thousands.
    all: SortedMap<GuidPrefix, Box<Peer>>,
    index: Index,
    /// Number of discovered participants.
    count: u64,
    /// Participants whose lease ended without a disposal, the latest last.
    pub(super) lost: VecDeque<Lost>,
    refusals: Refusals,
}

impl Peer {
    /// Returns whether it has proved that it receives datagrams at its address.
    pub fn is_proved(&self) -> bool {
        self.standing == Standing::Proved
    }

    /// Returns its endpoints, in the order of their ids.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.values().map(|endpoint| &**endpoint)
    }

    /// Returns the address of its discovery endpoints.
    pub fn address(&self) -> SocketAddr {
        self.metatraffic
    }

    /// Returns when a datagram of it was last received.
    pub fn last_received(&self) -> Instant {
        self.last_received
    }

    /// Returns whether it runs on this host.
    pub fn is_same_host(&self) -> bool {
        self.same_host
    }

    fn lease(&self, most: Limits) -> Duration {
        let most = if self.is_proved() { most.lease } else { most.lease.min(most.unproved_lease) };
        // A lease that is too short to keep would cause repeated discovery and loss.
        self.data.lease.map_or(most, |lease| lease.max(SHORTEST_LEASE).min(most))
    }

    fn note_source(&mut self, ip: IpAddr) {
        if self.sources.contains(&ip) {
            return;
        }
        if self.sources.len() >= MAX_SOURCES {
            self.sources.remove(0);
        }
        self.sources.push(ip);
    }

    /// Returns whether it is known to be at an address: it has sent from there, or the address and a source are of this
    /// host.
    pub(super) fn is_at(&self, config: &Config, ip: IpAddr) -> bool {
        let is_own = |ip: &IpAddr| config.is_own(*ip);
        self.sources.contains(&ip) || is_own(&ip) && self.sources.iter().any(is_own)
    }

    /// Returns whether its endpoints may be reached at an address: the one that it proves, or both are of this host.
    pub(super) fn is_reached_at(&self, config: &Config, ip: IpAddr) -> bool {
        config.is_one_place(ip, self.metatraffic.ip())
    }

    /// Returns its addresses at which it is known to be, after a datagram from `from`.
    fn known_addresses(&self, config: &Config, from: SocketAddr) -> Option<PeerAddresses> {
        choose_addresses(config, &self.data, from, |ip| self.is_at(config, ip))
    }

    fn is_at_its_addresses(&self, config: &Config) -> bool {
        self.is_at(config, self.metatraffic.ip()) && self.is_at(config, self.user.ip())
    }

    fn use_addresses(&mut self, found: PeerAddresses) {
        (self.metatraffic, self.user) = (found.metatraffic, found.user);
    }

    /// Returns whether it may send from an address: it has announced the address, or has announced itself from there.
    pub(super) fn is_known_source(&self, ip: IpAddr) -> bool {
        let announced = self.data.metatraffic.iter().chain(&self.data.unicast);
        self.sources.contains(&ip) || announced.map(SocketAddr::ip).any(|other| other == ip)
    }
}

impl Peers {
    pub fn new() -> Self {
        let (index, lost, refusals) = (Index::default(), VecDeque::new(), Refusals::default());
        Self { all: SortedMap::new(), index, count: 0, lost, refusals }
    }

    pub fn get(&self, prefix: GuidPrefix) -> Option<&Peer> {
        self.all.get(&prefix).map(|peer| &**peer)
    }

    /// Returns a participant. Change indexed data with [`Peers::alter`].
    pub fn get_mut(&mut self, prefix: GuidPrefix) -> Option<&mut Peer> {
        self.all.get_mut(&prefix).map(|peer| &mut **peer)
    }

    /// Changes indexed data of a participant: its address and host, standing, `is_talking`, and endpoints.
    pub(super) fn alter<T>(&mut self, prefix: GuidPrefix, change: impl FnOnce(&mut Peer) -> T) -> Option<T> {
        let peer = self.all.get_mut(&prefix)?;
        let before = peer.entry();
        let given = change(peer);
        let after = peer.entry();
        if before != after {
            self.index.remove(before);
            self.index.add(after);
        }
        Some(given)
    }

    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    pub fn all(&self) -> impl Iterator<Item = &Peer> {
        self.all.values().map(|peer| &**peer)
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.all.values_mut().map(|peer| &mut **peer)
    }

    /// Returns the participants that have named our prefix.
    pub fn discovered(&self) -> impl Iterator<Item = &Peer> {
        self.all().filter(|peer| peer.standing.is_discovered())
    }

    pub fn proved(&self) -> impl Iterator<Item = &Peer> {
        self.all().filter(|peer| peer.is_proved())
    }

    pub(super) fn proved_count(&self) -> usize {
        self.all.len() - self.index.candidates()
    }

    /// Adds a participant.
    pub(super) fn restore(&mut self, peer: Peer) {
        self.index.add(peer.entry());
        self.all.insert(peer.data.prefix, Box::new(peer));
    }

    fn remove(&mut self, prefix: GuidPrefix) -> Option<Peer> {
        let peer = self.all.remove(&prefix)?;
        self.index.remove(peer.entry());
        Some(*peer)
    }
}

impl Participant {
    /// Creates our discovery endpoints.
    pub(super) fn add_discovery(&mut self) {
        for (writer, reader) in DISCOVERY {
            let qos = super::discovery_qos();
            self.writers.insert(writer, crate::writer::Writer::new(writer, qos, usize::MAX));
            self.readers.insert(reader, crate::reader::Reader::new());
        }
    }

    /// Arms the timer for the next announcement to it, its move, or the end of its lease.
    pub(super) fn arm_peer(&mut self, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get(prefix) else { return };
        let until = peer.last_received + peer.lease(self.config.limits);
        let announce_to_candidate = peer.reannounce_at.map(|(at, _)| at);
        let ask = peer.relocation.as_ref().map(|relocation| relocation.next);
        let ends = peer.trial_ends.into_iter().chain(peer.ends_unless_confirmed);
        let next = announce_to_candidate.into_iter().chain(ask).chain(ends).fold(until, Instant::min);
        self.timers.schedule_if_earlier(Timer::Peer(prefix), next);
    }

    /// Returns the path parameters for a participant.
    pub(super) fn path(&self, peer: &Peer) -> Path {
        let path = if peer.same_host { self.config.same_host } else { self.config.other_host };
        match peer.data.vendor.is_plain() {
            true => Path { datagram: path.datagram.min(PLAIN_DATAGRAM), ..path },
            false => path,
        }
    }

    /// Records a datagram of a participant. From an address that it does not send from, the datagram does not renew its
    /// lease: the participant may be gone, or has moved and is discovered again after its lease. Returns whether the
    /// address is known; then the bytes are credited.
    pub(super) fn note_datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        prefix: GuidPrefix,
        len: usize,
    ) -> bool {
        let Some(peer) = self.peers.get_mut(prefix).filter(|peer| peer.is_known_source(from.ip())) else {
            return false;
        };
        peer.note_source(from.ip());
        if peer.standing.is_discovered() {
            peer.last_received = now;
            // It has not moved.
            peer.relocation.take_if(|relocation| !relocation.is_known);
        }
        self.note_bytes(now, prefix, len);
        true
    }
}
