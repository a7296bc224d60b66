//! Faults of peers: invalid or untrue messages, which are refused.

use crate::announce::AnnounceError;
use crate::wire::{GuidPrefix, WireError};
use core::fmt;
use core::net::{IpAddr, SocketAddr};

/// Fault of a peer. Its text is a line for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerFault {
    /// A message is malformed; the submessages before the error count.
    MalformedMessage {
        /// The participant that the message names as its sender.
        participant: GuidPrefix,
        /// Source address.
        from: SocketAddr,
        /// The error.
        error: WireError,
    },
    /// A participant announcement is invalid.
    BadAnnouncement {
        /// Source address.
        from: SocketAddr,
        /// The error.
        error: AnnounceError,
    },
    /// An endpoint announcement is invalid.
    BadEndpoint {
        /// The participant.
        participant: GuidPrefix,
        /// The error.
        error: AnnounceError,
    },
    /// A participant announces an endpoint of another one.
    ForeignEndpoint {
        /// The sender.
        participant: GuidPrefix,
        /// The participant of the endpoint's GUID.
        owner: GuidPrefix,
    },
    /// A participant has more endpoints than the limit.
    TooManyEndpoints {
        /// The participant.
        participant: GuidPrefix,
        /// The limit.
        limit: usize,
    },
    /// All participants together have more endpoints than the limit.
    EndpointMemoryExceeded {
        /// The participant of the refused endpoint.
        participant: GuidPrefix,
    },
    /// A participant is not matched, since its datagrams come from other addresses than those that it announces.
    AddressMismatch {
        /// The participant.
        participant: GuidPrefix,
        /// The announced address.
        announced: SocketAddr,
        /// The source address.
        source: IpAddr,
    },
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MalformedMessage { participant, from, error } => {
                write!(f, "a message of {participant} ({from}) is malformed: {error}")
            }
            Self::BadAnnouncement { from, error } => {
                write!(f, "an announcement from {from} is refused: {error}")
            }
            Self::BadEndpoint { participant, error } => {
                write!(f, "an endpoint of {participant} is refused: {error}")
            }
            Self::ForeignEndpoint { participant, owner } => {
                write!(f, "{participant} announces an endpoint of {owner}, which is refused")
            }
            Self::TooManyEndpoints { participant, limit } => {
                write!(f, "{participant} has more than {limit} endpoints")
            }
            Self::EndpointMemoryExceeded { participant } => {
                write!(
                    f,
                    "the limit of discovered endpoints is reached: another endpoint of {participant} is refused"
                )
            }
            Self::AddressMismatch { participant, announced, source } => write!(
                f,
                "{participant} is not matched: it announces the address {announced}, but sends only from {source}"
            ),
        }
    }
}

impl core::error::Error for PeerFault {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn faults_name_the_peer() {
        let [participant, owner] = [1, 2].map(|byte| GuidPrefix([byte; 12]));
        let from = SocketAddr::from(([10, 0, 0, 9], 7));
        let (error, missing) = (WireError::NotRtps, AnnounceError::Missing("topic"));
        let [first, second] = ["01.01.01.01.01.01.01.01.01.01.01.01", "02.02.02.02.02.02.02.02.02.02.02.02"];
        let table = [
            (
                PeerFault::MalformedMessage { participant, from, error },
                "a message of PEER (10.0.0.9:7) is malformed: not an RTPS message",
            ),
            (
                PeerFault::BadAnnouncement { from, error: missing },
                "an announcement from 10.0.0.9:7 is refused: it has no topic",
            ),
            (
                PeerFault::BadEndpoint { participant, error: missing },
                "an endpoint of PEER is refused: it has no topic",
            ),
            (
                PeerFault::ForeignEndpoint { participant, owner },
                "PEER announces an endpoint of OWNER, which is refused",
            ),
            (PeerFault::TooManyEndpoints { participant, limit: 9 }, "PEER has more than 9 endpoints"),
            (
                PeerFault::EndpointMemoryExceeded { participant },
                "the limit of discovered endpoints is reached: another endpoint of PEER is refused",
            ),
            (
                PeerFault::AddressMismatch { participant, announced: from, source: [10, 0, 0, 8].into() },
                "PEER is not matched: it announces the address 10.0.0.9:7, but sends only from 10.0.0.8",
            ),
        ];
        assert_eq!([participant.to_string(), owner.to_string()], [first, second]);
        for (fault, line) in table {
            assert_eq!(fault.to_string(), line.replace("PEER", first).replace("OWNER", second));
        }
    }
}
