//! Other participants: found, proved, heard, and lost.
//!
//! A participant that announces itself is a candidate first. Until it is proved, all that it is sent takes no more than three
//! times the bytes that it sent: an announcement may bear the address of somebody who never asked. It is on trial once it has
//! sent us something that bears our prefix, and has been heard from the address that it is reached at; from then on it is sent
//! to where it has been heard from, and nowhere else. It is proved once it has acknowledged numbers that only a receiver of
//! our datagrams can know.

mod candidates;
mod proof;
mod refusals;
mod standing;

use super::moves::Move;
use super::routes::{Ways, is_among, outranks, ways};
use super::search::Lost;
use super::transmit::Work;
use super::{DISCOVERY, Participant, Timer};
use crate::announce::{self, BuiltinEndpoints, Endpoint, PLAIN_DATAGRAM, ParticipantData};
use crate::config::{Config, Limits, Path};
use crate::event::Event;
use crate::evidence::Evidence;
use crate::stored::Lend;
use crate::wire::{Data, EntityId, GuidPrefix, VERSION, VendorId};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use proof::number_offset;
use refusals::Refusals;
use runnel_core::time::Instant;
pub(super) use standing::Standing;

/// The shortest lease that is believed.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

/// With how many announcements all who have met us are told that we have moved.
const TELL_OF_MOVE: u32 = 7;

/// How many addresses a participant is known to send from.
const MOST_SOURCES: usize = 8;

/// Another participant.
#[derive(Debug)]
pub struct Peer {
    /// What it says of itself.
    pub data: ParticipantData,
    /// Its endpoints.
    pub endpoints: BTreeMap<EntityId, Endpoint>,
    /// How much memory they take.
    pub(super) endpoint_bytes: usize,
    /// Where its endpoints of discovery and its user's are reached.
    pub(super) metatraffic: SocketAddr,
    pub(super) user: SocketAddr,
    pub(super) same_host: bool,
    /// Where it has been heard from, the latest last.
    sources: Vec<IpAddr>,
    pub(super) standing: Standing,
    /// By how much the numbers of discovery that it is told exceed the real ones.
    pub(super) number_offset: i64,
    /// It was told that it is not heard from where it says that it is.
    is_elsewhere: bool,
    /// How many bytes it may cost before it is proved.
    credit: usize,
    /// It has sent more than announcements.
    pub(super) is_talking: bool,
    /// When it was heard first, and when its trial ends.
    since: Instant,
    trial_ends: Option<Instant>,
    pub(super) heard: Instant,
    /// Against what it has said of itself.
    pub(super) evidence: Evidence,
    /// It is said to be elsewhere.
    pub(super) moves: Option<Move>,
    /// When a candidate is told of us again, in case that was lost, and for which time.
    greet_again: Option<(Instant, usize)>,
    /// When one that had lost us was told of us last.
    pub(super) reminded: Option<Instant>,
    pub(super) armed: Option<Instant>,
    /// What it is to be told next.
    pub(super) word: Option<Vec<u8>>,
    pub(super) outbox: Outbox,
}

/// What discovery has for a participant, and when it has something again.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// It stands in line.
    pub queued: bool,
    /// Our announcement is due to it.
    pub announcement: bool,
    /// When one on trial is asked again, and how long after it was asked before.
    pub ask_again: Option<(Instant, Duration)>,
    /// Fragments for it wait until then.
    pub not_before: Option<Instant>,
    /// When its timer goes off next.
    pub armed: Option<Instant>,
}

/// The participants that are known.
#[derive(Debug)]
pub(super) struct Peers {
    all: BTreeMap<GuidPrefix, Peer>,
    candidates: VecDeque<GuidPrefix>,
    /// Those that were lost without a word, the latest last.
    pub(super) lost: VecDeque<Lost>,
    refusals: Refusals,
}

impl Peer {
    /// True if it has shown that it receives what is sent to its address.
    pub fn is_proved(&self) -> bool {
        self.standing == Standing::Proved
    }

    /// Where its endpoints of discovery are reached.
    pub fn address(&self) -> SocketAddr {
        self.metatraffic
    }

    /// True if it runs on this host.
    pub fn is_same_host(&self) -> bool {
        self.same_host
    }

    fn lease(&self, most: Limits) -> Duration {
        let most = if self.is_proved() { most.lease } else { most.lease.min(most.unproved_lease) };
        // One that nobody can keep would have it found and lost again and again.
        self.data.lease.map_or(most, |lease| lease.max(SHORTEST_LEASE).min(most))
    }

    fn note_source(&mut self, ip: IpAddr) {
        if self.sources.contains(&ip) {
            return;
        }
        if self.sources.len() >= MOST_SOURCES {
            self.sources.remove(0);
        }
        self.sources.push(ip);
    }

    /// True if it is known to be there: it has been heard from there, or it is of this host as that address is.
    pub(super) fn is_at(&self, config: &Config, ip: IpAddr) -> bool {
        let is_own = |ip: &IpAddr| config.is_own(*ip);
        self.sources.contains(&ip) || is_own(&ip) && self.sources.iter().any(is_own)
    }

    /// How it is reached that was just heard from `from`, at addresses where it is known to be.
    fn known_ways(&self, config: &Config, from: SocketAddr) -> Option<Ways> {
        ways(config, &self.data, from, |ip| self.is_at(config, ip))
    }

    fn is_at_its_addresses(&self, config: &Config) -> bool {
        self.is_at(config, self.metatraffic.ip()) && self.is_at(config, self.user.ip())
    }

    fn take_ways(&mut self, ways: Ways) {
        (self.metatraffic, self.user) = (ways.metatraffic, ways.user);
    }

    /// True if it may send from this address: it has announced it, or has announced itself from there.
    pub(super) fn sends_from(&self, ip: IpAddr) -> bool {
        let announced = self.data.metatraffic.iter().chain(&self.data.unicast);
        self.sources.contains(&ip) || announced.map(SocketAddr::ip).any(|other| other == ip)
    }
}

impl Peers {
    pub fn new() -> Self {
        let (candidates, lost) = (VecDeque::new(), VecDeque::new());
        Self { all: BTreeMap::new(), candidates, lost, refusals: Refusals::default() }
    }

    pub fn get(&self, prefix: GuidPrefix) -> Option<&Peer> {
        self.all.get(&prefix)
    }

    pub fn get_mut(&mut self, prefix: GuidPrefix) -> Option<&mut Peer> {
        self.all.get_mut(&prefix)
    }

    pub fn all(&self) -> impl Iterator<Item = &Peer> {
        self.all.values()
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.all.values_mut()
    }

    /// Those that have named us.
    pub fn met(&self) -> impl Iterator<Item = &Peer> {
        self.all.values().filter(|peer| peer.standing.has_met())
    }

    pub fn proved(&self) -> impl Iterator<Item = &Peer> {
        self.all.values().filter(|peer| peer.is_proved())
    }

    pub(super) fn proved_count(&self) -> usize {
        self.all.len() - self.candidates.len()
    }

    /// One that was lost is there.
    pub(super) fn restore(&mut self, peer: Peer) {
        self.all.insert(peer.data.prefix, peer);
    }

    fn remove(&mut self, prefix: GuidPrefix) -> Option<Peer> {
        let peer = self.all.remove(&prefix)?;
        if !peer.is_proved() {
            self.candidates.retain(|candidate| *candidate != prefix);
        }
        Some(peer)
    }
}

/// What we say of ourselves.
pub(super) fn announcement_of(config: &Config) -> Arc<[u8]> {
    let mut out = Vec::new();
    data_of(config).emit(&mut out);
    out.into()
}

/// What we say of ourselves to a plain peer at this address.
pub(super) fn plain_announcement_of(config: &Config, peer: IpAddr) -> Vec<u8> {
    announce::plain_participant(&data_of(config), &announce::nearest(&config.unicast, peer))
}

fn data_of(config: &Config) -> ParticipantData {
    ParticipantData {
        prefix: config.prefix,
        version: VERSION,
        vendor: VendorId::RUNNEL,
        // Those who hear it are of the domain by the port alone; there are peers that drop what says more.
        domain: None,
        domain_tag: Default::default(),
        lease: Some(config.lease),
        builtin: BuiltinEndpoints::OURS,
        metatraffic: config.unicast.clone(),
        unicast: config.unicast.clone(),
        name: config.name.clone(),
        user_data: config.user_data.clone(),
    }
}

impl<P: Lend> Participant<P> {
    /// What we have for discovery.
    pub(super) fn add_discovery(&mut self) {
        for (writer, reader) in DISCOVERY {
            let qos = super::discovery_qos();
            self.writers.insert(writer, crate::writer::Writer::new(writer, qos, usize::MAX));
            self.readers.insert(reader, crate::reader::Reader::new());
        }
    }

    /// Our addresses are others now.
    pub fn set_addresses(&mut self, now: Instant, unicast: Vec<SocketAddr>, own: Vec<IpAddr>) {
        if (&self.config.unicast, &self.config.own_addresses) == (&unicast, &own) {
            return;
        }
        (self.config.unicast, self.config.own_addresses) = (unicast, own);
        self.announcement = announcement_of(&self.config);
        self.announced = 0;
        self.tell_of_move = TELL_OF_MOVE;
        self.timers.arm(&mut self.announce_at, Some(now), Timer::Announce);
    }

    /// A participant says what it is, or that it is gone.
    pub(super) fn participant_heard(
        &mut self,
        now: Instant,
        (from, names_us): (SocketAddr, bool),
        uncounted: usize,
        data: &Data<'_>,
    ) {
        if announce::is_gone(data.inline_qos) {
            if let Some(guid) = announce::key_of(data.inline_qos, data.payload) {
                self.participant_leaves(now, from, guid.prefix);
            }
            return;
        }
        let parsed = ParticipantData::parse(data.payload.bytes());
        match parsed {
            Ok(announced) => self.participant_announced(now, (from, names_us), uncounted, announced),
            Err(why) => self.tell(Event::Trouble(format!("an announcement from {from} is refused: {why}"))),
        }
    }

    fn participant_leaves(&mut self, now: Instant, from: SocketAddr, prefix: GuidPrefix) {
        if self.peers.get(prefix).is_some_and(|peer| peer.sends_from(from.ip())) {
            self.end_participant(now, prefix);
        }
    }

    /// One that has met us is not believed from elsewhere, unless it shows by our name that it is who has met us: then it may
    /// have moved.
    fn participant_announced(
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
            if !self.doubts_end(now, prefix) {
                self.add_candidate(now, from, uncounted, data);
            }
            return;
        };
        let is_known = peer.sends_from(from.ip()) || names_us && peer.is_at(&self.config, from.ip());
        let is_proved = peer.is_proved();
        match peer.standing.has_met() {
            true if is_known => self.announced_from(now, from, data),
            true if names_us => return self.said_to_have_moved(now, from, data),
            true => return,
            false => {
                self.note_bytes(now, prefix, uncounted);
                self.announced_from(now, from, data);
            }
        }
        if !is_proved {
            // One on trial may have lost us, or what it was asked.
            self.ask_again(prefix);
            // One that names us may answer us: two would greet each other without end.
            match names_us {
                true => self.sought(now, from, prefix),
                false => self.greet(now, prefix),
            }
        }
    }

    /// One that is known says what it is, and is believed.
    pub(super) fn announced_from(&mut self, now: Instant, from: SocketAddr, data: ParticipantData) {
        if let Some(peer) = self.peers.get_mut(data.prefix) {
            peer.note_source(from.ip());
            peer.heard = now;
            self.update(now, from, data);
        }
    }

    /// Its timer goes off when it is to be told of us again, or asked where it is, or its lease is over.
    pub(super) fn arm_peer(&mut self, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        let until = peer.heard + peer.lease(self.config.limits);
        let greet = peer.greet_again.map(|(at, _)| at);
        let ask = peer.moves.as_ref().map(|moves| moves.next);
        let next = greet.into_iter().chain(ask).chain(peer.trial_ends).fold(until, Instant::min);
        self.timers.arm(&mut peer.armed, Some(next), Timer::Peer(prefix));
    }

    /// What a participant that is known says of itself may have changed, or it is heard by a better way.
    fn update(&mut self, now: Instant, from: SocketAddr, mut data: ParticipantData) {
        let Some(peer) = self.peers.get_mut(data.prefix) else { return };
        let changed = peer.data.metatraffic != data.metatraffic || peer.data.unicast != data.unicast;
        let prefix = data.prefix;
        if peer.standing.has_met() {
            peer.keep_what_is_contested(now, &mut data);
        }
        let former = peer.metatraffic;
        let has_other_endpoints = peer.standing.has_met() && peer.data.builtin != data.builtin;
        peer.data = data;
        if has_other_endpoints {
            self.join_discovery(prefix);
        }
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        let found = match peer.standing.has_met() {
            true => peer.known_ways(&self.config, from),
            false => ways(&self.config, &peer.data, from, |_| true),
        };
        let Some(found) = found else { return };
        let better = outranks(&self.config, found.metatraffic, peer.metatraffic);
        let other_family = found.metatraffic.is_ipv4() != peer.metatraffic.is_ipv4();
        let stays = other_family && is_among(peer.metatraffic, &peer.data.metatraffic);
        if better || changed && !stays {
            peer.take_ways(found);
            let is_checked = peer.is_proved() && changed && former != peer.metatraffic;
            self.move_peer(prefix);
            if is_checked {
                // If it is there still, it says so.
                self.discovery.call(core::iter::once(Work::Seek(prefix, former)));
            }
        }
    }

    /// How datagrams are sent to a participant.
    pub(super) fn path(&self, peer: &Peer) -> Path {
        let path = if peer.same_host { self.config.same_host } else { self.config.other_host };
        match peer.data.vendor.is_plain() {
            true => Path { datagram: path.datagram.min(PLAIN_DATAGRAM), ..path },
            false => path,
        }
    }

    /// Something came that says it is from a participant. From where that does not send, it is no sign of life: neither of
    /// one that is gone, nor of one that has moved, which is found anew when its lease is over. True if it is from where its
    /// participant sends: then its bytes are counted.
    pub(super) fn note_heard(
        &mut self,
        now: Instant,
        from: SocketAddr,
        prefix: GuidPrefix,
        len: usize,
    ) -> bool {
        let Some(peer) = self.peers.get_mut(prefix).filter(|peer| peer.sends_from(from.ip())) else {
            return false;
        };
        peer.note_source(from.ip());
        if peer.standing.has_met() {
            peer.heard = now;
            // It has not moved.
            peer.moves = None;
        }
        self.note_bytes(now, prefix, len);
        true
    }

    /// A participant's lease may be over.
    pub(super) fn peer_due(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        peer.armed = None;
        if peer.heard + peer.lease(self.config.limits) > now {
            if peer.trial_ends.is_some_and(|at| at <= now) {
                return self.demote(now, prefix);
            }
            let again = peer.greet_again.take_if(|(at, _)| *at <= now);
            // One on trial is asked at a pace of its own.
            return match again.filter(|_| peer.standing == Standing::Announced) {
                Some((_, time)) => self.greet_for(now, prefix, time),
                None => self.ask_whether_moved(now, prefix),
            };
        }
        let (proved, address) = (peer.is_proved(), peer.metatraffic);
        // First, since what it would have to be told when it comes back is held from then on.
        if proved {
            self.look_for(now, prefix, address);
        }
        self.lose(prefix);
    }

    /// A participant is gone. Gives what was known of it.
    pub(super) fn lose(&mut self, prefix: GuidPrefix) -> Option<Peer> {
        let peer = self.peers.remove(prefix)?;
        self.disarm_peer(&peer);
        if !peer.standing.has_met() {
            return Some(peer);
        }
        for entity in peer.endpoints.keys() {
            self.unmatch(prefix.with(*entity));
            self.tell(Event::EndpointLost(prefix.with(*entity)));
        }
        self.writers.values_mut().for_each(|writer| writer.leave_all(prefix));
        self.readers.values_mut().for_each(|reader| reader.leave_all(prefix));
        self.heard.extract_if(prefix.endpoints(), |_, _| true).for_each(drop);
        let endpoints = prefix.endpoints();
        let early = (*endpoints.start(), EntityId([0; 4]))..=(*endpoints.end(), EntityId([0xff; 4]));
        self.early.extract_if(early, |_, _| true).for_each(drop);
        self.tell(Event::ParticipantLost(prefix));
        Some(peer)
    }
}
