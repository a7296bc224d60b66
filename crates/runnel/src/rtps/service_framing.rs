//! Framing of requests and replies in ROS 2: where a message carries the identity of its request.
//!
//! ```text
//! rmw_cyclonedds: | encapsulation (4) | client (8) | number (8) | message |
//! rmw_fastrtps:   | encapsulation (4) | message |, and the related sample identity in the inline QoS
//! ```
//! Runnel participants use the header among themselves. A Runnel server that fails to answer replies to a Runnel client
//! with the negative number and the error text as a string. Alignment counts from the client field, so that the header
//! does not move a message's fields.

use runnel_core::wire::{Encoding, cdr};
use runnel_rtps::wire::VendorId;

/// Length of the encapsulation.
const ENCAPSULATION: usize = cdr::HEADER_LEN;

/// Where the identity of a request travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// In the inline QoS.
    InlineQos,
    /// In a header before the message.
    Header,
}

impl Framing {
    /// The framing that participants of a vendor use.
    pub(crate) fn of(vendor: VendorId) -> Self {
        match vendor {
            VendorId::CYCLONE_DDS | VendorId::RUNNEL => Self::Header,
            _ => Self::InlineQos,
        }
    }
}

/// Header of a request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallHeader {
    /// Number that the client has chosen for itself.
    pub(crate) client: u64,
    /// Number of the request at its client.
    pub(crate) number: i64,
}

impl CallHeader {
    /// Inserts the header into a payload, after the encapsulation.
    pub(crate) fn insert(self, payload: &mut Vec<u8>) {
        let [client, number] = [self.client.to_le_bytes(), self.number.to_le_bytes()];
        let place = ENCAPSULATION.min(payload.len());
        payload.splice(place..place, client.into_iter().chain(number));
    }

    /// Splits a payload into its header and the payload without it. `None` if it has none, or one in big-endian order,
    /// in which no message is read.
    pub(crate) fn split(payload: &[u8]) -> Option<(Self, Vec<u8>)> {
        let (encapsulation, rest) = payload.split_first_chunk::<ENCAPSULATION>()?;
        let (client, rest) = rest.split_first_chunk()?;
        let (number, message) = rest.split_first_chunk()?;
        let header = Self { client: u64::from_le_bytes(*client), number: i64::from_le_bytes(*number) };
        let is_little_endian = encapsulation[1] & 1 == 1;
        is_little_endian.then(|| (header, [encapsulation, message].concat()))
    }

    /// The header of the reply that there is no response.
    pub(crate) fn of_failure(self) -> Self {
        Self { number: self.number.saturating_neg(), ..self }
    }
}

/// The payload of the reply that there is no response, for this reason.
pub(crate) fn failure(why: &str) -> Vec<u8> {
    cdr::encode(&why.to_owned(), Encoding::Xcdr1).unwrap_or_default()
}

/// The reason in such a payload.
pub(crate) fn failure_in(payload: &[u8]) -> String {
    cdr::decode(payload).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_follows_encapsulation() {
        let mut payload = vec![0, 1, 0, 0, 7];
        let header = CallHeader { client: 0x0102, number: 3 };
        header.insert(&mut payload);
        assert_eq!(payload, [0, 1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(CallHeader::split(&payload), Some((header, vec![0, 1, 0, 0, 7])));
        (0..20).for_each(|len| assert_eq!(CallHeader::split(&payload[..len]), None));
        payload[1] = 0;
        assert_eq!(CallHeader::split(&payload), None);
    }

    #[test]
    fn failure_has_negative_number_and_text() {
        let header = CallHeader { client: 1, number: 4 }.of_failure();
        let mut payload = failure("no such motor");
        header.insert(&mut payload);
        let (read, rest) = CallHeader::split(&payload).unwrap();
        assert_eq!((read.number, failure_in(&rest)), (-4, "no such motor".to_owned()));
        assert_eq!(failure_in(&[1, 2]), "");
    }
}
