//! Discovery datagrams: one for a participant holds everything that is due to it, which is our announcement, the
//! samples of our discovery writers, and the answers of our discovery readers.

use super::peers::{Outbox, Standing, plain_announcement_of};
use super::transmit::put_announcement;
use super::{DISCOVERY, Participant, Timer};
use crate::wire::{
    AckNack, EntityId, GuidPrefix, HEADER_LEN, Heartbeat, InfoDestination, InfoTimestamp, SequenceNumber,
};
use crate::writer::Filled;
use core::time::Duration;
use runnel_core::time::Instant;

/// Bytes of a datagram that only names its destination.
const EMPTY: usize = HEADER_LEN + InfoDestination::LEN;

/// Bytes that a writer may append in addition to samples.
const OF_WRITER: usize = 2 * Heartbeat::LEN + InfoTimestamp::LEN;

/// Bytes that a reader may append: the longest acknowledgement, and a request for fragments.
const OF_READER: usize = 2 * (32 + 32);

/// Bytes reserved for heartbeats and acknowledgements, from the credit of an unproved participant.
const FOR_REQUESTS: usize = EMPTY + DISCOVERY.len() * (Heartbeat::LEN + 32);

/// First delay until a participant on trial is asked again.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

impl Outbox {
    /// Starts asking a participant on trial, at growing intervals.
    pub(super) fn begin_requests(&mut self, now: Instant) {
        self.request_again = Some((now + FIRST_PAUSE, FIRST_PAUSE));
    }
}

impl Participant {
    /// Queues a participant, for which there may be a datagram.
    pub(super) fn wake_discovery(&mut self, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix).filter(|peer| !peer.outbox.queued) else { return };
        peer.outbox.queued = true;
        self.discovery.push(prefix, peer.is_proved());
    }

    /// Queues all participants that have named us.
    pub(super) fn wake_discovery_of_all(&mut self) {
        let is_joined = |standing| matches!(standing, Standing::Proved | Standing::OnTrial);
        for peer in self.peers.all_mut().filter(|peer| is_joined(peer.standing) && !peer.outbox.queued) {
            peer.outbox.queued = true;
            self.discovery.push(peer.data.prefix, peer.is_proved());
        }
    }

    /// Announces us to a participant, and requests acknowledgements from it.
    pub(super) fn remind(&mut self, prefix: GuidPrefix) {
        self.request_again(prefix);
        self.announce_to(prefix);
    }

    /// Announces us to a participant, together with other pending content.
    pub(super) fn announce_to(&mut self, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        peer.outbox.announcement = true;
        self.wake_discovery(prefix);
    }

    pub(super) fn request_again(&mut self, prefix: GuidPrefix) {
        for (writer, reader) in DISCOVERY {
            if let Some(writer) = self.writers.get_mut(&writer) {
                writer.request_again(prefix.with(reader));
            }
        }
    }

    /// Arms the timer for requests and answers of discovery.
    pub(super) fn arm_discovery(&mut self, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get(prefix) else { return };
        let at = match peer.standing {
            Standing::Proved => self.discovery_timeout(prefix, peer.outbox.not_before),
            Standing::OnTrial => peer.outbox.request_again.map(|(at, _)| at),
            Standing::Announced | Standing::Demoted => None,
        };
        self.arm(Timer::Discovery(prefix), at);
    }

    fn discovery_timeout(&self, prefix: GuidPrefix, not_before: Option<Instant>) -> Option<Instant> {
        let of_endpoints = DISCOVERY.into_iter().flat_map(|(writer, reader)| {
            let asks = self.writers.get(&writer).and_then(|of| of.timeout_of(prefix.with(reader)));
            let proxy = self.readers.get(&reader).and_then(|of| of.writer(prefix.with(writer)));
            asks.into_iter().chain(proxy.and_then(|proxy| proxy.timeout()))
        });
        of_endpoints.chain(not_before).min()
    }

    pub(super) fn discovery_due(&mut self, now: Instant, prefix: GuidPrefix) {
        let longest = self.config.announce;
        let may_ask = self.credit(prefix) >= EMPTY + OF_WRITER;
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        // Otherwise the timer would be armed for the same time again.
        peer.outbox.not_before.take_if(|at| *at <= now);
        let is_on_trial = peer.standing == Standing::OnTrial;
        if is_on_trial && !may_ask {
            // It is asked again after it has sent something.
            peer.outbox.request_again = None;
            return;
        }
        if let Some((_, pause)) = peer.outbox.request_again.take_if(|(at, _)| *at <= now) {
            let pause = (pause * 2).min(longest);
            peer.outbox.request_again = is_on_trial.then_some((now + pause, pause));
            if is_on_trial {
                self.request_again(prefix);
            }
        }
        for (writer, reader) in DISCOVERY {
            if let Some(of) = self.writers.get_mut(&writer) {
                of.remind(now, prefix.with(reader));
            }
            if let Some(proxy) = self.writer_of(reader, prefix.with(writer)) {
                proxy.handle_timeout(now);
            }
        }
        self.wake_discovery(prefix);
        self.arm_discovery(prefix);
    }

    /// Composes the next datagram for a participant. Returns whether there is one.
    pub(super) fn compose_discovery(&mut self, now: Instant, prefix: GuidPrefix) -> bool {
        let Some(peer) = self.peers.get_mut(prefix) else { return false };
        if !core::mem::take(&mut peer.outbox.queued) {
            return false;
        }
        let (standing, is_proved) = (peer.standing, peer.is_proved());
        let made = match standing {
            Standing::Announced => self.compose_candidate_announcement(prefix),
            Standing::Demoted => {
                self.compose_candidate_announcement(prefix) || self.compose_answers(now, prefix)
            }
            Standing::OnTrial | Standing::Proved => self.compose_matched(now, prefix),
        };
        self.arm_discovery(prefix);
        if made {
            self.discovery.note_sent(now, is_proved);
            self.wake_discovery(prefix);
        }
        made
    }

    /// Begins a datagram for a participant, with our announcement if due. Returns the maximum length; `None` if the
    /// participant's credit is too small.
    fn begin_discovery(&mut self, prefix: GuidPrefix) -> Option<usize> {
        let credit = self.credit(prefix);
        let peer = self.peers.get(prefix)?;
        let (to, limit, announces) = (
            peer.discovery_address(&self.config),
            self.path(peer).datagram.min(credit),
            peer.outbox.announcement,
        );
        let plain = peer.data.vendor.is_plain().then(|| plain_announcement_of(&self.config, to.ip()));
        self.out.begin(self.config.prefix, prefix);
        self.out.to.push(to);
        if announces {
            put_announcement(&mut self.out, plain.as_deref().unwrap_or(&self.announcement));
        }
        if self.out.len() > credit {
            return None;
        }
        self.peers.get_mut(prefix)?.outbox.announcement = false;
        Some(limit)
    }

    /// Composes our announcement for a participant, with heartbeats of discovery that request an answer.
    fn compose_candidate_announcement(&mut self, prefix: GuidPrefix) -> bool {
        let Some(peer) = self.peers.get(prefix).filter(|peer| peer.outbox.announcement) else { return false };
        let (builtin, offset) = (peer.data.builtin, peer.number_offset);
        let Some(limit) = self.begin_discovery(prefix) else { return false };
        let numbered = |own: SequenceNumber| SequenceNumber(own.0.saturating_add(offset));
        for (writer, reader) in DISCOVERY.into_iter().filter(|(_, reader)| builtin.has(*reader)).take(2) {
            let Some(ours) = self.writers.get_mut(&writer) else { continue };
            if self.out.len() + Heartbeat::LEN > limit {
                break;
            }
            let heartbeat = Heartbeat {
                reader,
                writer,
                first: numbered(ours.history().first()),
                last: numbered(ours.history().last()),
                count: ours.next_heartbeat(),
                is_final: false,
                liveliness: false,
            };
            heartbeat.emit(self.out.out());
        }
        let len = self.out.len();
        self.spend(prefix, len)
    }

    /// Composes answers for a demoted participant, which may have demoted us: each proves its address only by the
    /// other's answer.
    fn compose_answers(&mut self, now: Instant, prefix: GuidPrefix) -> bool {
        let Some(limit) = self.begin_discovery(prefix) else { return false };
        self.fill_of_readers(now, prefix, limit);
        let len = self.out.len();
        len > EMPTY && self.spend(prefix, len)
    }

    /// Composes pending content for a participant whose discovery endpoints are matched.
    fn compose_matched(&mut self, now: Instant, prefix: GuidPrefix) -> bool {
        let Some(limit) = self.begin_discovery(prefix) else { return false };
        let Some(peer) = self.peers.get(prefix) else { return false };
        if !peer.is_proved() {
            // One that has only announced itself is asked, and receives no samples.
            let samples = if peer.is_talking { limit.saturating_sub(FOR_REQUESTS) } else { 0 };
            self.out.limit_samples(samples);
        }
        let not_before = self.fill_of_writers(now, prefix, limit);
        self.fill_of_readers(now, prefix, limit);
        if let Some(peer) = self.peers.get_mut(prefix) {
            peer.outbox.not_before = not_before;
        }
        let len = self.out.len();
        len > EMPTY && self.spend(prefix, len)
    }

    /// Appends samples of our discovery writers. Returns when to continue if fragments must wait.
    fn fill_of_writers(&mut self, now: Instant, prefix: GuidPrefix, limit: usize) -> Option<Instant> {
        let mut not_before: Option<Instant> = None;
        for (writer, reader) in DISCOVERY {
            let Some(writer) = self.writers.get_mut(&writer) else { continue };
            if self.out.len() + OF_WRITER > limit {
                break;
            }
            if let Filled::NotBefore(at) = writer.fill(now, prefix.with(reader), &mut self.out) {
                not_before = Some(not_before.map_or(at, |other| other.min(at)));
            }
        }
        not_before
    }

    /// Appends ACKNACKs of our discovery readers.
    fn fill_of_readers(&mut self, now: Instant, prefix: GuidPrefix, limit: usize) {
        for (writer, reader) in DISCOVERY {
            if self.out.len() + OF_READER > limit {
                break;
            }
            let proxy = self.readers.get_mut(&reader).and_then(|of| of.writer_mut(prefix.with(writer)));
            let Some((ack, nack)) = proxy.and_then(|proxy| proxy.take_acknack(now, reader)) else { continue };
            if let Some(nack) = nack {
                nack.emit(self.out.out());
            }
            ack.emit(self.out.out());
        }
    }

    /// Queues a participant if a discovery reader has an ACKNACK for it, and arms the timer.
    pub(super) fn wake_discovery_acknack(&mut self, reader: EntityId, prefix: GuidPrefix, writer: EntityId) {
        let proxy = self.readers.get(&reader).and_then(|of| of.writer(prefix.with(writer)));
        let Some(proxy) = proxy else { return };
        if proxy.is_acknack_due() {
            self.wake_discovery(prefix);
        }
        self.arm_discovery(prefix);
    }

    /// Handles an acknowledgement of our discovery by an unproved participant.
    pub(super) fn acknowledged_unproved(
        &mut self,
        now: Instant,
        from: core::net::SocketAddr,
        prefix: GuidPrefix,
        ack: &AckNack,
    ) {
        let is_of_discovery = DISCOVERY.iter().any(|(writer, _)| *writer == ack.writer);
        let Some(peer) = self.peers.get(prefix).filter(|peer| !peer.is_proved() && is_of_discovery) else {
            return;
        };
        let has_no_offset = peer.number_offset == 0;
        if self.proves_receipt(now, prefix, ack) {
            self.prove(now, from, prefix);
        } else if has_no_offset {
            // Some never send an INFO_DST with our prefix.
            self.put_on_trial(now, from, prefix);
        }
    }
}
