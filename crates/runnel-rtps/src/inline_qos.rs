//! Inline QoS of samples.

use crate::wire::{Guid, Parameters, ParametersOut, SampleIdentity, pid};
use alloc::vec::Vec;

/// Status flags: disposed and unregistered. Source: RTPS 2.5, section 9.6.4.9.
const DISPOSED: [u8; 4] = [0, 0, 0, 3];

/// Bytes of the sentinel that ends a list.
const SENTINEL_LEN: usize = 4;

/// Ids of the related sample identity; Fast DDS sends both and reads either.
const RELATED: [u16; 2] = [pid::RELATED_SAMPLE_IDENTITY, pid::FAST_DDS_RELATED_SAMPLE_IDENTITY];

/// Returns the inline QoS of a sample that disposes of an instance.
pub(crate) fn disposed(key: Guid) -> Vec<u8> {
    let mut out = Vec::new();
    let mut list = ParametersOut::new(&mut out);
    list.bytes(pid::KEY_HASH, &key.to_bytes());
    list.bytes(pid::STATUS_INFO, &DISPOSED);
    list.end();
    out
}

/// Returns the inline QoS of a request or reply.
pub(crate) fn related(identity: SampleIdentity) -> Vec<u8> {
    let mut out = Vec::with_capacity(RELATED.len() * (4 + SampleIdentity::LEN) + SENTINEL_LEN);
    let mut list = ParametersOut::new(&mut out);
    RELATED.into_iter().for_each(|id| list.put(id, |out| identity.emit(out)));
    list.end();
    out
}

/// Returns the related sample identity of a request or reply.
pub(crate) fn related_of(inline_qos: Parameters<'_>) -> Option<SampleIdentity> {
    let mut value = RELATED.into_iter().find_map(|id| inline_qos.find(id))?;
    SampleIdentity::parse(&mut value).ok()
}

/// Returns one list of the parameters of both, each a complete list or empty.
pub(crate) fn joined(first: &[u8], second: &[u8]) -> Vec<u8> {
    let without_end = if second.is_empty() { first.len() } else { first.len().saturating_sub(SENTINEL_LEN) };
    [first.get(..without_end).unwrap_or_default(), second].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Cursor, EntityId, GuidPrefix, SequenceNumber};

    /// Inline QoS of a request of rclpy (Fast DDS 3.2): both parameters name the client's reader, without a number.
    const REQUEST: [u8; 60] = [
        0x83, 0x00, 0x18, 0x00, 0x01, 0x0f, 0x4a, 0x9b, 0x1d, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x17, 0x04, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x0f, 0x80, 0x18, 0x00, 0x01, 0x0f,
        0x4a, 0x9b, 0x1d, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x17, 0x04, 0xff, 0xff, 0xff,
        0xff, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    ];

    fn reader() -> Guid {
        GuidPrefix([0x01, 0x0f, 0x4a, 0x9b, 0x1d, 0x2c, 0, 0, 0, 0, 0, 0]).with(EntityId([0, 0, 0x17, 0x04]))
    }

    fn parsed(bytes: &[u8], little: bool) -> Option<SampleIdentity> {
        related_of(Parameters::parse(&mut Cursor::new(bytes, little)).unwrap())
    }

    #[test]
    fn request_identity_bytes_match_fast_dds() {
        let identity = SampleIdentity { guid: reader(), number: SequenceNumber::UNKNOWN };
        assert_eq!(related(identity), REQUEST);
        assert_eq!(parsed(&REQUEST, true), Some(identity));
    }

    #[test]
    fn either_parameter_is_accepted() {
        let number = SequenceNumber(1 << 32 | 7);
        let reply = related(SampleIdentity { guid: reader(), number });
        assert_eq!(reply[20..28], [1, 0, 0, 0, 7, 0, 0, 0]);
        for id in [[0x84, 0], [0x83, 0]] {
            let mut one = reply.clone();
            one[..2].copy_from_slice(&id);
            assert_eq!(parsed(&one, true), Some(SampleIdentity { guid: reader(), number }));
        }
        assert_eq!(parsed(&disposed(reader()), true), None);
    }

    #[test]
    fn big_endian_and_short_identities_are_survived() {
        let mut big = REQUEST[4..28].to_vec();
        big[16..].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 9]);
        let list = [&[0, 0x83, 0, 0x18][..], &big, &[0, 1, 0, 0]].concat();
        assert_eq!(parsed(&list, false).map(|identity| identity.number), Some(SequenceNumber(9)));
        assert_eq!(parsed(&[0x83, 0, 4, 0, 1, 2, 3, 4, 1, 0, 0, 0], true), None);
    }

    #[test]
    fn joined_lists_end_once() {
        let identity = SampleIdentity { guid: reader(), number: SequenceNumber::FIRST };
        let both = joined(&disposed(reader()), &related(identity));
        assert_eq!(parsed(&both, true), Some(identity));
        assert_eq!(joined(&[], &REQUEST), REQUEST);
        assert_eq!(joined(&REQUEST, &[]), REQUEST);
    }
}
