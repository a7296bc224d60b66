//! Composition of outgoing datagrams.

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

/// Intervals of the first announcements in milliseconds: a running participant receives one of them within a second,
/// even if many datagrams are lost. Later ones use the configured interval.
const FIRST_PAUSES: [u64; 7] = [50, 50, 100, 100, 200, 200, 300];

/// Announcements that also go to local ports: the first, and one more for participants that open theirs later.
const LOCAL_ROUNDS: [u32; 2] = [0, 4];

/// Pending datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Our announcement, to an address or group.
    Announce(SocketAddr),
    /// Discovery content for a participant.
    Discovery(GuidPrefix),
    /// Our announcement, to the last address of a lost participant.
    Call(GuidPrefix, SocketAddr),
    /// A vendor message to one participant.
    VendorMessage(GuidPrefix),
    /// An ACKNACK of a reader to a writer.
    AckNack(EntityId, Guid),
    /// The disposal of our participant.
    Disposal,
}

impl Participant {
    /// Returns the next datagram to send, until none may be sent now: first ACKNACKs of readers, then discovery, at a
    /// limited rate. [`Participant::poll_timeout`] returns when to try again.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<'_>> {
        while let Some(work) = self.work.pop_front().or_else(|| self.discovery.pop(now)) {
            if self.compose(now, work) {
                return Some(self.transmit());
            }
        }
        None
    }

    /// As [`Participant::poll_transmit`], into memory of the caller, so that the participant is free while it is sent.
    /// Returns false if there is none.
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
            Work::Call(prefix, to) => self.compose_search(prefix, to),
            Work::VendorMessage(prefix) => self.compose_vendor_message(prefix),
            Work::AckNack(reader, writer) => self.compose_acknack(now, reader, writer),
            Work::Disposal => self.compose_disposal(),
        }
    }

    /// Queues the ACKNACK of a reader to a writer if due, and arms its timer.
    pub(super) fn wake_acknack(&mut self, reader: EntityId, writer: Guid) {
        if reader.is_builtin() {
            return self.wake_discovery_acknack(reader, writer.prefix, writer.entity);
        }
        let Some(proxy) = self.readers.get_mut(&reader).and_then(|reader| reader.writer_mut(writer)) else {
            return;
        };
        if proxy.is_acknack_due() && !proxy.queued {
            proxy.queued = true;
            self.work.push_back(Work::AckNack(reader, writer));
        }
        let at = proxy.timeout();
        self.arm(Timer::AckNack(reader, writer), at);
    }

    fn compose_acknack(&mut self, now: Instant, reader: EntityId, writer: Guid) -> bool {
        let Some(proxy) = self.readers.get_mut(&reader).and_then(|reader| reader.writer_mut(writer)) else {
            return false;
        };
        proxy.queued = false;
        let acknack = proxy.take_acknack(now, reader);
        let (at, to) = (proxy.timeout(), proxy.address());
        self.arm(Timer::AckNack(reader, writer), at);
        let Some((ack, nack)) = acknack else { return false };
        self.out.begin(self.config.prefix, writer.prefix);
        self.out.to.push(to);
        if let Some(nack) = nack {
            nack.emit(self.out.out());
        }
        ack.emit(self.out.out());
        let len = self.out.len();
        self.spend(writer.prefix, len)
    }

    /// Announces the participant, and schedules the next announcement.
    pub(super) fn announce(&mut self, now: Instant) {
        self.remembered.expire(now);
        let targets = self.config.multicast.iter().chain(&self.config.peers);
        self.discovery.push_announcements(targets.map(|to| Work::Announce(*to)));
        if LOCAL_ROUNDS.contains(&self.announced) {
            self.discovery.push_announcements(self.config.local_ports.iter().map(|to| Work::Announce(*to)));
        }
        if self.move_reminders > 0 {
            self.move_reminders -= 1;
            let discovered: Vec<GuidPrefix> = self.peers.discovered().map(|peer| peer.data.prefix).collect();
            discovered.into_iter().for_each(|prefix| self.remind(prefix));
        } else {
            // Plain peers need their own format, since their lease also expires.
            let plain = self.peers.discovered().filter(|peer| peer.data.vendor.is_plain());
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

    /// Composes our announcement to the address of a lost participant, which also notifies that one.
    fn compose_search(&mut self, prefix: GuidPrefix, to: SocketAddr) -> bool {
        self.compose_announcement(&[to]);
        crate::wire::InfoDestination { prefix }.emit(self.out.out());
        true
    }

    fn compose_disposal(&mut self) -> bool {
        let guid = self.config.prefix.with(EntityId::PARTICIPANT);
        let key = crate::announce::key(guid);
        let targets: Vec<SocketAddr> =
            self.config.multicast.iter().chain(&self.config.peers).copied().collect();
        self.out.begin(self.config.prefix, GuidPrefix::UNKNOWN);
        self.out.to.extend(self.peers.proved().map(|peer| peer.metatraffic).chain(targets));
        let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
        let payload = Payload::Key(&key);
        let number = SequenceNumber(2);
        crate::wire::Data::emit(self.out.out(), ends, number, &inline_qos::disposed(guid), payload);
        true
    }
}

pub(super) fn put_announcement(out: &mut Datagram<Arc<[u8]>>, announcement: &[u8]) {
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    crate::wire::Data::emit(out.out(), ends, SequenceNumber::FIRST, &[], Payload::Value(announcement));
}
