//! Parsing of received submessages and parameter lists.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::{Entity, Prefix};

/// A submessage that it handles.
pub(super) enum Submessage<'a> {
    Data {
        reader: Entity,
        writer: Entity,
        number: u64,
        payload: &'a [u8],
    },
    Heartbeat {
        reader: Entity,
        writer: Entity,
        last: u64,
        count: u32,
    },
    AckNack {
        reader: Entity,
        writer: Entity,
        base: u64,
        asked: Vec<u64>,
        count: u32,
    },
    /// INFO_DST and INFO_TS, which it ignores.
    Passed,
    Unsupported,
}

/// The announcement of a participant.
pub(super) struct Participant {
    pub(super) prefix: Prefix,
    pub(super) builtin: u32,
    /// The first discovery address in its subnet.
    pub(super) address: Option<SocketAddrV4>,
}

/// An endpoint of another participant.
pub(super) struct Found {
    pub(super) prefix: Prefix,
    pub(super) entity: Entity,
    pub(super) topic: String,
    pub(super) type_name: String,
    pub(super) address: Option<SocketAddrV4>,
}

/// The sender's prefix, and the submessages.
pub(super) fn header(datagram: &[u8]) -> Option<(Prefix, &[u8])> {
    let rest = datagram.strip_prefix(b"RTPS\x02")?;
    Some((rest.get(3..15)?.try_into().ok()?, &rest[15..]))
}

pub(super) fn submessages(mut rest: &[u8]) -> Vec<Submessage<'_>> {
    let mut all = Vec::new();
    while let [kind, _, low, high, body @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high]));
        let Some(of) = body.get(..len).filter(|_| len > 0 || *kind == 9) else { break };
        all.push(submessage(*kind, of).unwrap_or(Submessage::Unsupported));
        rest = &body[len..];
    }
    all
}

fn submessage(kind: u8, body: &[u8]) -> Option<Submessage<'_>> {
    let entity = |at: usize| -> Option<Entity> { body.get(at..at + 4)?.try_into().ok() };
    let word = |at: usize| Some(u32::from_le_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let number = |at: usize| Some((u64::from(word(at)?) << 32) | u64::from(word(at + 4)?));
    Some(match kind {
        // It does not skip inline QoS, and takes it for the payload.
        0x15 => Submessage::Data {
            reader: entity(4)?,
            writer: entity(8)?,
            number: number(12)?,
            payload: body.get(20..)?,
        },
        0x07 => Submessage::Heartbeat {
            reader: entity(0)?,
            writer: entity(4)?,
            last: number(16)?,
            count: word(24)?,
        },
        0x06 => {
            let (base, bits) = (number(8)?, word(16)?);
            let words = bits.div_ceil(32) as usize;
            let is_asked = |bit: &u32| {
                let word = word(20 + 4 * (*bit as usize / 32)).unwrap_or(0);
                word & (1 << (31 - bit % 32)) != 0
            };
            let asked = (0..bits).filter(is_asked).map(|bit| base + u64::from(bit)).collect();
            let count = word(20 + 4 * words)?;
            Submessage::AckNack {
                reader: entity(0)?,
                writer: entity(4)?,
                base: base + u64::from(bits),
                asked,
                count,
            }
        }
        0x09 | 0x0e => Submessage::Passed,
        _ => Submessage::Unsupported,
    })
}

/// The parameters of a list up to its sentinel.
fn parameters(payload: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = payload.get(4..).unwrap_or_default();
    std::iter::from_fn(move || {
        let [a, b, c, d, body @ ..] = rest else { return None };
        let (id, len) = (u16::from_le_bytes([*a, *b]), usize::from(u16::from_le_bytes([*c, *d])));
        let value = body.get(..len).filter(|_| id != 1)?;
        rest = &body[len..];
        Some((id, value))
    })
}

/// Parses an announcement; `None` for a known participant, which it notices halfway.
pub(super) fn participant_of(
    payload: &[u8],
    known: &[Prefix],
    is_near: impl Fn(Ipv4Addr) -> bool,
) -> Result<Option<Participant>, String> {
    let mut found = Participant { prefix: [0; 12], builtin: 0, address: None };
    for (id, value) in parameters(payload) {
        match id {
            0x50 => {
                found.prefix = value.get(..12).and_then(|it| it.try_into().ok()).unwrap_or_default();
                if known.contains(&found.prefix) {
                    return Ok(None);
                }
            }
            0x58 => found.builtin = value.try_into().map(u32::from_le_bytes).unwrap_or(0),
            0x32 => found.address = found.address.or(locator(value).filter(|to| is_near(*to.ip()))),
            0x00 | 0x02 | 0x15 | 0x16 | 0x2c | 0x31 | 0x33 | 0x43 | 0x48 | 0x59 | 0x62 => {}
            id => return Err(format!("announcement with parameter {id:#06x}")),
        }
    }
    Ok(Some(found))
}

/// Parses endpoint data, ignoring unknown parameters.
pub(super) fn endpoint_of(payload: &[u8], is_near: impl Fn(Ipv4Addr) -> bool) -> Option<Found> {
    let mut found = Found {
        prefix: [0; 12],
        entity: [0; 4],
        topic: String::new(),
        type_name: String::new(),
        address: None,
    };
    for (id, value) in parameters(payload) {
        match id {
            0x5a => {
                found.prefix = value.get(..12)?.try_into().ok()?;
                found.entity = value.get(12..16)?.try_into().ok()?;
            }
            0x05 => found.topic = text(value)?,
            0x07 => found.type_name = text(value)?,
            0x2f => found.address = locator(value).filter(|to| is_near(*to.ip())).or(found.address),
            _ => {}
        }
    }
    Some(found)
}

fn text(value: &[u8]) -> Option<String> {
    let len = u32::from_le_bytes(value.get(..4)?.try_into().ok()?) as usize;
    let bytes = value.get(4..4 + len)?;
    String::from_utf8(bytes.strip_suffix(&[0]).unwrap_or(bytes).to_vec()).ok()
}

fn locator(value: &[u8]) -> Option<SocketAddrV4> {
    let word = |at: usize| Some(u32::from_le_bytes(value.get(at..at + 4)?.try_into().ok()?));
    let ip: [u8; 4] = value.get(20..24)?.try_into().ok()?;
    (word(0)? == 1).then_some(SocketAddrV4::new(ip.into(), word(4)? as u16))
}
