//! Announcements of participants and endpoints: parameter lists after an encapsulation header.
//!
//! Unknown parameters are skipped. An announcement with an invalid value of a known parameter is refused, with an error
//! that names the field. Strings and lists have limits.

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

/// Encapsulation of a little-endian parameter list.
pub(crate) const PL_CDR_LE: [u8; 4] = [0, 3, 0, 0];
const PL_CDR_BE: [u8; 2] = [0, 2];

/// Maximum bytes of the name of a topic or type: ROS names have at most 255.
pub const MAX_NAME: usize = 512;

/// Maximum bytes of the user data of a participant or endpoint.
pub const MAX_USER_DATA: usize = 4096;

/// Maximum number of addresses of each kind; further ones are skipped.
pub const MAX_ADDRESSES: usize = 16;

/// Parses the parameter list after the encapsulation header.
fn parameters(bytes: &[u8]) -> Result<Parameters<'_>, AnnounceError> {
    let (kind, list) = bytes.split_at_checked(4).ok_or(AnnounceError::Encapsulation)?;
    let little = match kind {
        [0, 3, ..] => true,
        kind if kind.starts_with(&PL_CDR_BE) => false,
        _ => return Err(AnnounceError::Encapsulation),
    };
    Ok(Parameters::parse(&mut Cursor::new(list, little))?)
}

/// Returns the key of a disposed endpoint or participant, as a sample carries it.
pub(crate) fn key(disposed: Guid) -> Vec<u8> {
    let mut out = PL_CDR_LE.to_vec();
    let mut list = ParametersOut::new(&mut out);
    let id =
        if disposed.entity == EntityId::PARTICIPANT { pid::PARTICIPANT_GUID } else { pid::ENDPOINT_GUID };
    list.bytes(id, &disposed.to_bytes());
    list.end();
    out
}

/// Returns the GUID that a discovery sample without an announcement disposes of. The payload holds the key, or the
/// inline QoS its hash, which is the key itself since it has 16 bytes.
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

/// Returns whether the inline QoS marks the instance as disposed or unregistered.
pub(crate) fn is_disposed(inline_qos: Parameters<'_>) -> bool {
    let flags = inline_qos.find(pid::STATUS_INFO).and_then(|mut value| value.array::<4>().ok());
    flags.is_some_and(|[.., last]| last & 3 != 0)
}
