//! Test messages: samples, and messages of nonexistent participants.

use std::net::SocketAddr;
use std::time::Duration;

use runnel_rtps::announce::{BuiltinEndpoints, Endpoint, ParticipantData, Role};
use runnel_rtps::wire::{
    self, AckNack, Data, EntityId, GuidPrefix, Heartbeat, Message, Payload, SequenceNumber, SequenceSet,
    Submessage, VendorId,
};

/// Returns a distinguishable sample of at least eight bytes.
pub fn sample(number: u32, len: usize) -> Vec<u8> {
    // Each bit of the number affects the rest.
    let mixed = number.wrapping_mul(0x9e37_79b1).to_le_bytes();
    let mut bytes: Vec<u8> = (0..len.max(8)).map(|index| index as u8 ^ mixed[index % 4]).collect();
    bytes[..4].copy_from_slice(&[0, 1, 0, 0]);
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

pub fn number_of(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[4..8].try_into().unwrap())
}

/// Returns the prefix of a nonexistent participant.
pub fn forged_prefix(number: u32) -> GuidPrefix {
    let mut prefix = [0xee; 12];
    prefix[..4].copy_from_slice(&number.to_be_bytes());
    GuidPrefix(prefix)
}

/// Returns its announcement.
pub fn announcement(prefix: GuidPrefix, address: SocketAddr, lease: Option<Duration>) -> Vec<u8> {
    announcement_at(prefix, (&[address], &[address]), lease)
}

/// Returns an announcement with these discovery addresses and user addresses.
pub fn announcement_at(
    prefix: GuidPrefix,
    (metatraffic, unicast): (&[SocketAddr], &[SocketAddr]),
    lease: Option<Duration>,
) -> Vec<u8> {
    let data = ParticipantData {
        prefix,
        version: (2, 3),
        vendor: VendorId([1, 15]),
        domain: Some(0),
        domain_tag: String::new(),
        lease,
        builtin: BuiltinEndpoints::OURS,
        metatraffic: metatraffic.to_vec(),
        unicast: unicast.to_vec(),
        name: "/".into(),
        user_data: b"enclave=/;".to_vec(),
    };
    let (mut payload, mut out) = (vec![], vec![]);
    data.emit(&mut payload);
    wire::begin(&mut out, VendorId([1, 15]), prefix);
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    Data::emit(&mut out, ends, SequenceNumber::FIRST, &[], Payload::Value(&payload));
    out
}

/// Returns the announcement of an endpoint, by a participant with one.
pub fn endpoint_announcement(endpoint: &Endpoint) -> Vec<u8> {
    let (mut payload, mut out) = (vec![], vec![]);
    endpoint.emit(&mut payload);
    wire::begin(&mut out, VendorId([1, 15]), endpoint.guid.prefix);
    let (reader, writer) = match endpoint.role() {
        Role::Writer => (EntityId::PUBLICATIONS_READER, EntityId::PUBLICATIONS_WRITER),
        Role::Reader => (EntityId::SUBSCRIPTIONS_READER, EntityId::SUBSCRIPTIONS_WRITER),
    };
    let first = SequenceNumber::FIRST;
    Data::emit(&mut out, (reader, writer), first, &[], Payload::Value(&payload));
    let heartbeat =
        Heartbeat { reader, writer, first, last: first, count: 1, is_final: true, liveliness: false };
    heartbeat.emit(&mut out);
    out
}

/// Returns a message of a participant.
pub fn message(from: GuidPrefix, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![];
    wire::begin(&mut out, VendorId([1, 15]), from);
    fill(&mut out);
    out
}

/// Returns the answer of a participant without samples to a message: an acknowledgement of each heartbeat that requests
/// one.
pub fn acknowledgement(of: &[u8]) -> Option<Vec<u8>> {
    let message = Message::parse(of).ok()?;
    let (mut us, mut heartbeats) = (None, vec![]);
    for submessage in message.submessages().flatten() {
        match submessage {
            Submessage::InfoDestination(info) => us = Some(info.prefix),
            Submessage::Heartbeat(heartbeat) if !heartbeat.is_final => heartbeats.push(heartbeat),
            _ => {}
        }
    }
    let acknowledge = |heartbeat: &Heartbeat, out: &mut Vec<u8>| {
        let (reader, writer, count) = (heartbeat.reader, heartbeat.writer, heartbeat.count);
        AckNack { reader, writer, missing: SequenceSet::new(heartbeat.first), count, is_final: true }
            .emit(out);
    };
    let us = us.filter(|_| !heartbeats.is_empty())?;
    Some(super::message(us, |out| {
        wire::InfoDestination { prefix: message.prefix }.emit(out);
        heartbeats.iter().for_each(|heartbeat| acknowledge(heartbeat, out));
    }))
}

/// Returns fragments of a sample of `len` bytes: `count` from the first on, of `fragment_len` bytes each.
pub fn fragments(
    (from, writer): (GuidPrefix, EntityId),
    len: u32,
    fragment_len: u16,
    (first, count): (u32, u16),
) -> Vec<u8> {
    let body = vec![0; usize::from(fragment_len) * usize::from(count)];
    message(from, |out| {
        let submessage = 32 + body.len() as u16;
        out.extend([0x16, 1]);
        out.extend(submessage.to_le_bytes());
        out.extend([0, 0, 28, 0]);
        out.extend(EntityId::UNKNOWN.0);
        out.extend(writer.0);
        SequenceNumber::FIRST.emit(out);
        out.extend(first.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend(fragment_len.to_le_bytes());
        out.extend(len.to_le_bytes());
        out.extend(body);
    })
}
