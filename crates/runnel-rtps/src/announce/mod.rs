//! What participants and endpoints say of themselves: parameter lists behind an encapsulation header.
//!
//! What is not known is passed over; what is known and makes no sense refuses the announcement, by an error that names
//! the field. Texts and lists have limits.

mod endpoint;
mod fields;
mod participant;
mod plain;

pub use endpoint::{Endpoint, Role, XCDR1, XCDR2};
pub use fields::AnnounceError;
pub use participant::{BuiltinEndpoints, ParticipantData};
pub(crate) use plain::{FILLER, nearest, plain_endpoint, plain_participant};
pub use plain::{PLAIN_DATAGRAM, PLAIN_PAYLOAD};

use crate::wire::{Cursor, EntityId, Guid, Parameters, ParametersOut, Payload, pid};
use alloc::vec::Vec;

/// The encapsulation of a parameter list in little-endian.
pub(crate) const PL_CDR_LE: [u8; 4] = [0, 3, 0, 0];
const PL_CDR_BE: [u8; 2] = [0, 2];

/// The longest name of a topic or type that is taken in, in bytes: ROS names have at most 255.
pub const MAX_NAME: usize = 512;

/// The most user data of a participant or endpoint that is taken in, in bytes.
pub const MAX_USER_DATA: usize = 4096;

/// The most addresses that are taken in of each kind; more are passed over.
pub const MAX_ADDRESSES: usize = 16;

/// The parameter list behind its encapsulation header.
fn parameters(bytes: &[u8]) -> Result<Parameters<'_>, AnnounceError> {
    let (kind, list) = bytes.split_at_checked(4).ok_or(AnnounceError::Encapsulation)?;
    let little = match kind {
        [0, 3, ..] => true,
        kind if kind.starts_with(&PL_CDR_BE) => false,
        _ => return Err(AnnounceError::Encapsulation),
    };
    Ok(Parameters::parse(&mut Cursor::new(list, little))?)
}

/// The key of what is gone, as a sample carries it: of an endpoint, or of a participant.
pub(crate) fn key(gone: Guid) -> Vec<u8> {
    let mut out = PL_CDR_LE.to_vec();
    let mut list = ParametersOut::new(&mut out);
    let id = if gone.entity == EntityId::PARTICIPANT { pid::PARTICIPANT_GUID } else { pid::ENDPOINT_GUID };
    list.bytes(id, &gone.to_bytes());
    list.end();
    out
}

/// Whom a sample of discovery concerns that carries no announcement: one that is gone. It is told by the key, or by a
/// hash of it, which is the key itself since it is 16 bytes long.
pub(crate) fn key_of(inline_qos: Parameters<'_>, payload: Payload<'_>) -> Option<Guid> {
    let of_payload = |bytes| {
        let list = parameters(bytes).ok()?;
        list.find(pid::ENDPOINT_GUID).or_else(|| list.find(pid::PARTICIPANT_GUID))
    };
    let key = match payload {
        Payload::Key(bytes) | Payload::Value(bytes) => of_payload(bytes),
        Payload::Nothing => None,
    };
    let mut key = key.or_else(|| inline_qos.find(pid::KEY_HASH))?;
    key.array().ok().map(Guid::from_bytes)
}

/// True if the inline QoS says that what the sample tells of is gone: disposed of or unregistered.
pub(crate) fn is_gone(inline_qos: Parameters<'_>) -> bool {
    let flags = inline_qos.find(pid::STATUS_INFO).and_then(|mut value| value.array::<4>().ok());
    flags.is_some_and(|[.., last]| last & 3 != 0)
}
