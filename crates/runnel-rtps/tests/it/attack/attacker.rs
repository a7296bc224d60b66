//! Attacker: sees every datagram, knows every GUID, and sends from three addresses.

use std::net::SocketAddr;

use runnel_rtps::wire::{
    self, AckNack, Data, EntityId, FragmentSet, Gap, Guid, Heartbeat, InfoDestination, NackFrag,
    ParametersOut, Payload, SequenceNumber, SequenceSet, VendorId, pid,
};

use super::forge::{self, Field, Place, altered, places};
use super::{Attack, Pair, Scene};
use crate::net::{Captured, announcement, forged_prefix, secs};

/// Maximum number of forged datagrams in a report, the last ones.
const MAX_REPORTED: usize = 20;

const OWN_HOST: [u8; 4] = [10, 9, 9, 9];

impl Scene {
    /// Sends the datagram that the numbers select, or nothing if there is no material for it.
    pub(super) fn attack(&mut self, attack: Attack, args: [u8; 4]) {
        match attack {
            Attack::Replay => self.replay(args),
            Attack::AlterCount => self.alter(args, |place, _| place.count().into_iter().collect()),
            Attack::AlterNumber => self.alter(args, |place, _| control_numbers(place)),
            Attack::AlterIdentity => self.alter(args, |place, _| place.entities().to_vec()),
            Attack::AlterSample => self.alter(args, |place, bytes| words_of_data(place, bytes, false)),
            Attack::AlterAnnouncement => self.alter(args, |place, bytes| words_of_data(place, bytes, true)),
            Attack::Heartbeat | Attack::Gap => self.speak_as_writer(attack, args),
            Attack::AckNack | Attack::NackFrag => self.speak_as_reader(attack, args),
            Attack::DisposeEndpoint => self.dispose_endpoint(args),
            Attack::DisposeParticipant => self.dispose_participant(args),
            Attack::Invent => self.invent(args),
        }
    }

    /// Returns the source address: a process of the pretended sender's host, the attacker's own, or another host.
    fn source(&self, pretended: SocketAddr, choice: u8) -> SocketAddr {
        match choice % 4 {
            0 | 1 => SocketAddr::new(pretended.ip(), 40_000),
            2 => pretended,
            _ => (OWN_HOST, 7410).into(),
        }
    }

    pub(super) fn forged(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        self.forged.push(Captured { from, to, bytes: bytes.to_vec() });
        if self.forged.len() > MAX_REPORTED {
            self.forged.remove(0);
        }
        self.net.send(from, to, bytes);
    }

    fn captured(&self, choice: u8) -> Option<Captured> {
        let index = usize::from(choice) % self.net.capture.len().max(1);
        self.net.capture.get(index).cloned()
    }

    fn replay(&mut self, [choice, _, _, source]: [u8; 4]) {
        let Some(Captured { from, to, bytes }) = self.captured(choice) else { return };
        self.forged(self.source(from, source), to, &bytes);
    }

    /// Alters one of the fields that `fields` returns, in the first captured datagram from the selected one on that has
    /// any.
    fn alter(&mut self, args: [u8; 4], fields: impl Fn(&Place, &[u8]) -> Vec<Field>) {
        let [choice, field, value, source] = args;
        let count = self.net.capture.len();
        for index in 0..count {
            let Captured { from, to, mut bytes } =
                self.net.capture[(index + usize::from(choice)) % count].clone();
            let found: Vec<(Place, Field)> = places(&bytes)
                .iter()
                .flat_map(|place| fields(place, &bytes).into_iter().map(|field| (*place, field)))
                .collect();
            if found.is_empty() {
                continue;
            }
            let (place, field) = found[usize::from(field) % found.len()];
            let now = place.read(&bytes, field);
            place.write(&mut bytes, field, altered(now, field.1, value));
            self.forged(self.source(from, source), to, &bytes);
            return;
        }
    }

    /// Returns the last sequence number and count seen of a writer.
    fn seen(&self, writer: Guid) -> (u64, u32) {
        let of_writer = self.net.capture.iter().filter(|captured| captured.bytes[8..20] == writer.prefix.0);
        let (mut last, mut count) = (0, 0);
        for Captured { bytes, .. } in of_writer {
            for place in places(bytes) {
                let names =
                    |at: usize| bytes.get(place.begin + at..place.begin + at + 4) == Some(&writer.entity.0);
                match place.id {
                    forge::HEARTBEAT if names(4) => {
                        last = last.max(place.read(bytes, (16, 8)));
                        count = count.max(place.read(bytes, (24, 4)) as u32);
                    }
                    forge::DATA | forge::DATA_FRAG if names(8) => last = last.max(place.read(bytes, (12, 8))),
                    _ => {}
                }
            }
        }
        (last, count)
    }

    fn pair_of(&self, choice: u8) -> Pair {
        let pairs = self.pairs();
        pairs[usize::from(choice) % pairs.len()]
    }

    fn speak_as_writer(&mut self, attack: Attack, [pair, number, how, source]: [u8; 4]) {
        let Pair { node, writer, reader } = self.pair_of(pair);
        let (last, count) = self.seen(self.net.nodes[node].participant.prefix().with(writer));
        let far = SequenceNumber(altered(last, 8, number) as i64);
        let count = greater(count, how >> 2);
        let reader = if how & 2 == 0 { reader } else { EntityId::UNKNOWN };
        self.send_as(node, source, |out| match attack {
            Attack::Gap => {
                let start = if how & 1 == 0 { last as i64 + 1 } else { 1 };
                Gap::range(reader, writer, SequenceNumber(start), far).emit(out);
            }
            _ => {
                let first = if how & 1 == 0 { SequenceNumber::FIRST } else { far };
                let heartbeat =
                    Heartbeat { reader, writer, first, last: far, count, is_final: false, liveliness: false };
                heartbeat.emit(out);
            }
        });
    }

    fn speak_as_reader(&mut self, attack: Attack, [pair, number, how, source]: [u8; 4]) {
        let Pair { node, writer, reader } = self.pair_of(pair);
        let (last, count) = self.seen(self.net.nodes[node].participant.prefix().with(writer));
        let far = SequenceNumber(altered(last, 8, number) as i64);
        let count = greater(count, how >> 2);
        self.send_as(1 - node, source, |out| match attack {
            Attack::AckNack => {
                let mut missing = SequenceSet::new(far);
                if how & 1 == 1 {
                    missing.insert(far);
                }
                AckNack { reader, writer, missing, count, is_final: how & 2 == 0 }.emit(out);
            }
            _ => {
                let mut missing = FragmentSet::new(1 + u32::from(how & 3));
                missing.insert(1 + u32::from(how & 3));
                NackFrag { reader, writer, number: far, missing, count }.emit(out);
            }
        });
    }

    fn dispose_endpoint(&mut self, [link, number, how, source]: [u8; 4]) {
        let link = self.links[usize::from(link) % self.links.len()];
        let (node, entity, writer_entity, listener) = match how & 1 {
            0 => (link.node, link.writer, EntityId::PUBLICATIONS_WRITER, EntityId::PUBLICATIONS_READER),
            _ => (1 - link.node, link.reader, EntityId::SUBSCRIPTIONS_WRITER, EntityId::SUBSCRIPTIONS_READER),
        };
        let prefix = self.net.nodes[node].participant.prefix();
        let next = self.seen(prefix.with(writer_entity)).0 + 1;
        let next = if how & 2 == 0 { next } else { altered(next, 8, number) };
        self.dispose(
            node,
            source,
            (listener, writer_entity),
            next,
            (pid::ENDPOINT_GUID, prefix.with(entity)),
        );
    }

    fn dispose_participant(&mut self, [node, number, _, source]: [u8; 4]) {
        let node = usize::from(node) % 2;
        let key = self.net.nodes[node].participant.prefix().with(EntityId::PARTICIPANT);
        let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
        self.dispose(node, source, ends, 1 + u64::from(number), (pid::PARTICIPANT_GUID, key));
    }

    fn dispose(
        &mut self,
        node: usize,
        source: u8,
        ends: (EntityId, EntityId),
        number: u64,
        (parameter, key): (u16, Guid),
    ) {
        let mut qos = Vec::new();
        let mut list = ParametersOut::new(&mut qos);
        list.bytes(pid::KEY_HASH, &key.to_bytes());
        list.bytes(pid::STATUS_INFO, &[0, 0, 0, 3]);
        list.end();
        let mut payload = vec![0, 3, 0, 0];
        let mut list = ParametersOut::new(&mut payload);
        list.bytes(parameter, &key.to_bytes());
        list.end();
        let number = SequenceNumber(number as i64);
        self.send_as(node, source, |out| Data::emit(out, ends, number, &qos, Payload::Key(&payload)));
    }

    fn invent(&mut self, [victim, count, first, source]: [u8; 4]) {
        let victim = usize::from(victim) % 2;
        let (to, prefix) = (self.net.nodes[victim].address, self.net.nodes[victim].participant.prefix());
        for number in 0..=u32::from(count % 32) {
            let number = number + u32::from(first);
            let from = match source % 4 {
                0 => SocketAddr::new(self.net.nodes[1 - victim].address.ip(), 40_000 + number as u16),
                _ => (OWN_HOST, 7000 + number as u16).into(),
            };
            let mut bytes = announcement(forged_prefix(number), from, (source & 8 == 0).then_some(secs(300)));
            InfoDestination { prefix }.emit(&mut bytes);
            self.forged(from, to, &bytes);
        }
    }

    /// Sends a message to one node that claims to be from the other.
    fn send_as(&mut self, node: usize, source: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut out = Vec::new();
        wire::begin(&mut out, VendorId::RUNNEL, self.net.nodes[node].participant.prefix());
        InfoDestination { prefix: self.net.nodes[1 - node].participant.prefix() }.emit(&mut out);
        fill(&mut out);
        let from = self.source(self.net.nodes[node].address, source);
        self.forged(from, self.net.nodes[1 - node].address, &out);
    }
}

fn greater(count: u32, how: u8) -> u32 {
    match how % 4 {
        0 => count + 1,
        1 => count.saturating_add(1000),
        2 => i32::MAX as u32,
        _ => u32::MAX,
    }
}

fn control_numbers(place: &Place) -> Vec<Field> {
    let is_data = matches!(place.id, forge::DATA | forge::DATA_FRAG);
    if is_data { Vec::new() } else { place.numbers().to_vec() }
}

/// Returns the sequence number and the words of the payload, of samples or of announcements.
fn words_of_data(place: &Place, datagram: &[u8], is_builtin: bool) -> Vec<Field> {
    let Some([.., kind]) = place.writer_of_data(datagram) else { return Vec::new() };
    if (kind & 0xc0 == 0xc0) != is_builtin {
        return Vec::new();
    }
    let words = (20..place.end - place.begin).step_by(4).map(|offset| (offset, 4));
    place.numbers().iter().copied().chain(words.take(100)).collect()
}
