//! What goes to the network.

use super::{Participant, Timer};
use crate::datagram::Datagram;
use crate::event::Transmit;
use crate::inline_qos;
use crate::outgoing::Outgoing;
use crate::wire::{EntityId, Guid, GuidPrefix, Payload, SequenceNumber};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;
use core::time::Duration;
use runnel_core::time::Instant;

/// The pauses between the first announcements, in milliseconds: whoever runs already hears one of them within a second, though
/// many datagrams are lost. Then they come at the configured pace.
const FIRST_PAUSES: [u64; 7] = [50, 50, 100, 100, 200, 200, 300];

/// With which announcements the ports of this host are called where somebody may be: with the first, and once more for those
/// who were about to open theirs.
const LOCAL_ROUNDS: [u32; 2] = [0, 4];

/// What is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// What we say of ourselves, to an address or group.
    Announce(SocketAddr),
    /// What discovery has for a participant.
    Discovery(GuidPrefix),
    /// What we say of ourselves, to where a participant was that is lost.
    Seek(GuidPrefix, SocketAddr),
    /// What is for one participant alone.
    Word(GuidPrefix),
    /// What a reader has to tell a writer.
    Answer(EntityId, Guid),
    /// That we are gone.
    Farewell,
}

impl Participant {
    /// The next datagram to be sent, until there is none that may be sent now: what readers
    /// have to tell first, then discovery, of which so much goes at a time. [`Participant::poll_timeout`] says when there is more.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<'_>> {
        while let Some(work) = self.work.pop_front().or_else(|| self.discovery.pop(now)) {
            if self.compose(now, work) {
                return Some(self.transmit());
            }
        }
        None
    }

    /// As [`Participant::poll_transmit`], into memory of the caller's, to be sent while others work on the participant. False
    /// if there is none.
    pub fn take_transmit(&mut self, now: Instant, into: &mut Outgoing<Arc<[u8]>>) -> bool {
        let any = self.poll_transmit(now).is_some();
        if any {
            mem::swap(&mut self.out, &mut into.0);
        }
        any
    }

    fn transmit(&self) -> Transmit<'_> {
        Transmit { to: &self.out.to, parts: self.out.parts() }
    }

    fn compose(&mut self, now: Instant, work: Work) -> bool {
        match work {
            Work::Announce(to) => self.compose_announcement(&[to]),
            Work::Discovery(prefix) => self.compose_discovery(now, prefix),
            Work::Seek(prefix, to) => self.compose_search(prefix, to),
            Work::Word(prefix) => self.compose_word(prefix),
            Work::Answer(reader, writer) => self.compose_answer(now, reader, writer),
            Work::Farewell => self.compose_farewell(),
        }
    }

    /// A reader may have something to tell a writer, or to do at some time.
    pub(super) fn wake_answer(&mut self, reader: EntityId, writer: Guid) {
        if reader.is_builtin() {
            return self.wake_discovery_answer(reader, writer.prefix, writer.entity);
        }
        let Some(proxy) = self.readers.get_mut(&reader).and_then(|reader| reader.writer_mut(writer)) else {
            return;
        };
        if proxy.wants_answer() && !proxy.queued {
            proxy.queued = true;
            self.work.push_back(Work::Answer(reader, writer));
        }
        let at = proxy.timeout();
        self.arm(Timer::Answer(reader, writer), at);
    }

    fn compose_answer(&mut self, now: Instant, reader: EntityId, writer: Guid) -> bool {
        let Some(proxy) = self.readers.get_mut(&reader).and_then(|reader| reader.writer_mut(writer)) else {
            return false;
        };
        proxy.queued = false;
        let answer = proxy.answer(now, reader);
        let (at, to) = (proxy.timeout(), proxy.address());
        self.arm(Timer::Answer(reader, writer), at);
        let Some((ack, nack)) = answer else { return false };
        self.out.begin(self.config.prefix, writer.prefix);
        self.out.to.push(to);
        if let Some(nack) = nack {
            nack.emit(self.out.out());
        }
        ack.emit(self.out.out());
        let len = self.out.len();
        self.spend(writer.prefix, len)
    }

    /// It is time to announce ourselves.
    pub(super) fn announce(&mut self, now: Instant) {
        self.kept.expire(now);
        let targets = self.config.multicast.iter().chain(&self.config.peers);
        self.discovery.call(targets.map(|to| Work::Announce(*to)));
        if LOCAL_ROUNDS.contains(&self.announced) {
            self.discovery.call(self.config.local_ports.iter().map(|to| Work::Announce(*to)));
        }
        if self.tell_of_move > 0 {
            self.tell_of_move -= 1;
            let met: Vec<GuidPrefix> = self.peers.met().map(|peer| peer.data.prefix).collect();
            met.into_iter().for_each(|prefix| self.remind(prefix));
        } else {
            // Those that understand nothing else are told in their own form, since their lease runs as well.
            let plain = self.peers.met().filter(|peer| peer.data.vendor.is_plain());
            let plain: Vec<GuidPrefix> = plain.map(|peer| peer.data.prefix).collect();
            plain.into_iter().for_each(|prefix| self.announce_to(prefix));
        }
        let first = FIRST_PAUSES.get(self.announced as usize).copied();
        let pause = first.map_or(self.config.announce, Duration::from_millis);
        self.announced = self.announced.saturating_add(1);
        let at = now + pause.min(self.config.announce);
        self.timers.schedule(Timer::Announce, at);
    }

    fn compose_announcement(&mut self, to: &[SocketAddr]) -> bool {
        self.out.begin(self.config.prefix, GuidPrefix::UNKNOWN);
        self.out.to.extend_from_slice(to);
        put_announcement(&mut self.out, &self.announcement);
        true
    }

    /// Tells whoever is there of us, and the one that was there that we have lost it.
    fn compose_search(&mut self, prefix: GuidPrefix, to: SocketAddr) -> bool {
        self.compose_announcement(&[to]);
        crate::wire::InfoDestination { prefix }.emit(self.out.out());
        true
    }

    fn compose_farewell(&mut self) -> bool {
        let guid = self.config.prefix.with(EntityId::PARTICIPANT);
        let key = crate::announce::key(guid);
        let targets: Vec<SocketAddr> =
            self.config.multicast.iter().chain(&self.config.peers).copied().collect();
        self.out.begin(self.config.prefix, GuidPrefix::UNKNOWN);
        self.out.to.extend(self.peers.proved().map(|peer| peer.metatraffic).chain(targets));
        let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
        let payload = Payload::Key(&key);
        let number = SequenceNumber(2);
        crate::wire::Data::emit(self.out.out(), ends, number, &inline_qos::gone(guid), payload);
        true
    }
}

pub(super) fn put_announcement(out: &mut Datagram<Arc<[u8]>>, announcement: &[u8]) {
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    crate::wire::Data::emit(out.out(), ends, SequenceNumber::FIRST, &[], Payload::Value(announcement));
}
