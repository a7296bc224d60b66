//! Construction of the messages that it sends.

use std::net::Ipv4Addr;

use super::{
    DiscoveryReader, EmbeddedRtps, Entity, GROUP, PARTICIPANT_WRITER, PUBLICATIONS_READER,
    PUBLICATIONS_WRITER, Prefix, SUBSCRIPTIONS_WRITER, Sent,
};

/// Buffers of user data: a whole message, and a fragment.
const WHOLE: usize = 100;
const FRAGMENT: usize = 64;

const PARTICIPANT_READER: Entity = [0, 1, 0, 0xc7];

fn parameter(out: &mut Vec<u8>, id: u16, value: &[u8]) {
    out.extend(id.to_le_bytes());
    out.extend((value.len().next_multiple_of(4) as u16).to_le_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn locator(ip: Ipv4Addr, port: u16) -> Vec<u8> {
    [&1u32.to_le_bytes()[..], &u32::from(port).to_le_bytes(), &[0; 12], &ip.octets()].concat()
}

fn number(of: u64) -> [u8; 8] {
    let (high, low) = (((of >> 32) as u32).to_le_bytes(), (of as u32).to_le_bytes());
    [high, low].concat().try_into().unwrap()
}

fn submessage(out: &mut Vec<u8>, kind: u8, flags: u8, body: &[u8]) {
    out.extend([kind, flags]);
    out.extend((body.len() as u16).to_le_bytes());
    out.extend(body);
}

impl EmbeddedRtps {
    fn message(&self) -> Vec<u8> {
        let mut out = b"RTPS\x02\x02\x0d\x25".to_vec();
        out.extend(self.prefix);
        out
    }

    /// The current second as a timestamp, whenever the message was written.
    fn stamp(&self) -> [u8; 8] {
        self.now.as_secs().to_le_bytes()
    }

    fn data(&self, (reader, writer): (Entity, Entity), of: u64, payload: &[u8]) -> Vec<u8> {
        let mut out = self.message();
        submessage(&mut out, 9, 1, &self.stamp());
        let head = [&[0, 0, 16, 0][..], &reader, &writer, &number(of)].concat();
        submessage(&mut out, 0x15, 5, &[&head, payload].concat());
        out
    }

    pub(super) fn announcement(&self) -> Vec<u8> {
        let mut list = vec![0, 3, 0, 0];
        let [metatraffic, user] = Self::ports();
        parameter(&mut list, 0x15, &[2, 2]);
        parameter(&mut list, 0x16, &[13, 37]);
        parameter(&mut list, 0x31, &locator(self.ip, user));
        parameter(&mut list, 0x32, &locator(self.ip, metatraffic));
        parameter(&mut list, 0x33, &locator(*GROUP.ip(), GROUP.port()));
        parameter(&mut list, 0x02, &[100, 0, 0, 0, 0, 0, 0, 0]);
        parameter(&mut list, 0x50, &[&self.prefix[..], &[0, 0, 1, 0xc1]].concat());
        parameter(&mut list, 0x58, &[0x3f, 0, 0, 0]);
        list.extend([1, 0, 0, 0]);
        self.data((PARTICIPANT_READER, PARTICIPANT_WRITER), 1, &list)
    }

    pub(super) fn endpoint_data(&self, entity: Entity, topic: &str, type_name: &str, kept: bool) -> Vec<u8> {
        let text = |text: &str| [&(text.len() as u32 + 1).to_le_bytes()[..], text.as_bytes(), &[0]].concat();
        let guid = [&self.prefix[..], &entity].concat();
        let mut list = vec![0, 3, 0, 0];
        parameter(&mut list, 0x2f, &locator(self.ip, Self::ports()[1]));
        parameter(&mut list, 0x05, &text(topic));
        parameter(&mut list, 0x07, &text(type_name));
        parameter(&mut list, 0x70, &guid);
        parameter(&mut list, 0x5a, &guid);
        parameter(&mut list, 0x1a, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        parameter(&mut list, 0x1d, &[u8::from(kept), 0, 0, 0]);
        list.extend([1, 0, 0, 0]);
        list
    }

    /// Sends a heartbeat, if the writer has samples.
    pub(super) fn send_heartbeat(&mut self, index: usize) {
        let (reader, to) = (self.discovery_readers[index].entity, self.discovery_readers[index].address);
        let (writer, last) = self.history(reader);
        if last == 0 {
            return;
        }
        let mut bytes = self.message();
        let body = [&reader[..], &writer, &number(1), &number(last), &self.heartbeats.to_le_bytes()].concat();
        submessage(&mut bytes, 7, 1, &body);
        self.out.push_back(Sent { from: Self::ports()[0], to, bytes });
    }

    /// The discovery writer for a reader, and its number of samples.
    fn history(&self, reader: Entity) -> (Entity, u64) {
        match reader {
            PUBLICATIONS_READER => (PUBLICATIONS_WRITER, self.publications.len() as u64),
            _ => (SUBSCRIPTIONS_WRITER, self.subscriptions.len() as u64),
        }
    }

    /// Answers a heartbeat that is newer than earlier ones: the expected sample, and whether it is missing.
    pub(super) fn answer(
        &mut self,
        prefix: Prefix,
        (reader, writer): (Entity, Entity),
        last: u64,
        count: u32,
    ) {
        let Some(found) =
            self.discovery_writers.iter_mut().find(|it| (it.prefix, it.entity) == (prefix, writer))
        else {
            return;
        };
        if count <= found.heartbeats {
            return;
        }
        (found.heartbeats, found.acknowledgements) = (count, found.acknowledgements + 1);
        let (expected, acknowledgements, to) = (found.expected, found.acknowledgements, found.address);
        let mut body = [&reader[..], &writer, &number(expected)].concat();
        if last < expected {
            body.extend(0u32.to_le_bytes());
        } else {
            body.extend(1u32.to_le_bytes());
            body.extend((1u32 << 31).to_le_bytes());
        }
        body.extend(acknowledgements.to_le_bytes());
        let mut bytes = self.message();
        submessage(&mut bytes, 6, 1, &body);
        self.out.push_back(Sent { from: Self::ports()[0], to, bytes });
    }

    /// Sends the requested sample and all later ones.
    pub(super) fn send_asked(
        &mut self,
        prefix: Prefix,
        (reader, writer): (Entity, Entity),
        (next, asked): (u64, Vec<u64>),
        count: u32,
    ) {
        let is_it = |found: &&mut DiscoveryReader| (found.prefix, found.entity) == (prefix, reader);
        let Some(found) =
            self.discovery_readers.iter_mut().find(is_it).filter(|found| count > found.acknowledgements)
        else {
            return;
        };
        found.acknowledgements = count;
        let to = found.address;
        let history = if writer == PUBLICATIONS_WRITER { &self.publications } else { &self.subscriptions };
        let wanted = asked.into_iter().chain(next..=history.len() as u64);
        let payloads: Vec<_> =
            wanted.filter_map(|of| Some((of, history.get(of.checked_sub(1)? as usize)?.clone()))).collect();
        for (of, payload) in payloads {
            let bytes = self.data((reader, writer), of, &payload);
            self.out.push_back(Sent { from: Self::ports()[0], to, bytes });
        }
    }

    /// A user sample, whole or in fragments of which each announces its own size.
    pub(super) fn sample(&self, ends: (Entity, Entity), of: u64, payload: &[u8]) -> Vec<Vec<u8>> {
        if payload.len() <= WHOLE {
            return vec![self.data(ends, of, payload)];
        }
        let mut whole = payload.to_vec();
        whole.resize(whole.len().next_multiple_of(4), 0);
        let total = (whole.len() as u32).to_le_bytes();
        let fragment = |(index, bytes): (usize, &[u8])| {
            let mut out = self.message();
            submessage(&mut out, 9, 1, &self.stamp());
            // Length 0: up to the end of the message.
            out.extend([0x16, 1, 0, 0, 0, 0, 28, 0]);
            out.extend(ends.0);
            out.extend(ends.1);
            out.extend(number(of));
            out.extend((index as u32 + 1).to_le_bytes());
            out.extend(1u16.to_le_bytes());
            out.extend((bytes.len() as u16).to_le_bytes());
            out.extend(total);
            out.extend(bytes);
            out
        };
        whole.chunks(FRAGMENT).enumerate().map(fragment).collect()
    }
}
