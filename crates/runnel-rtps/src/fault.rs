//! What peers say that is refused, or that is not so.

use crate::announce::AnnounceError;
use crate::wire::{GuidPrefix, WireError};
use core::fmt;
use core::net::{IpAddr, SocketAddr};

/// A peer said something that is refused, or that is not so. Its text is a line for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerFault {
    /// A message is malformed; what comes before that in it counts.
    MalformedMessage {
        /// The participant that it names as its sender.
        participant: GuidPrefix,
        /// Where it came from.
        from: SocketAddr,
        /// What is wrong.
        error: WireError,
    },
    /// What somebody announces as a participant is refused.
    BadAnnouncement {
        /// Where it came from.
        from: SocketAddr,
        /// What is wrong.
        error: AnnounceError,
    },
    /// What a participant says of an endpoint is refused.
    BadEndpoint {
        /// Which.
        participant: GuidPrefix,
        /// What is wrong.
        error: AnnounceError,
    },
    /// A participant tells of an endpoint of another one.
    ForeignEndpoint {
        /// Which.
        participant: GuidPrefix,
        /// Whose the endpoint would be.
        owner: GuidPrefix,
    },
    /// A participant has more endpoints than are taken in.
    TooManyEndpoints {
        /// Which.
        participant: GuidPrefix,
        /// How many are.
        limit: usize,
    },
    /// Participants have more endpoints together than are taken in.
    NoRoomForEndpoint {
        /// Whose endpoint it is.
        participant: GuidPrefix,
    },
    /// A participant is not met, since it is heard from other addresses only than where it says that it is reached.
    HeardElsewhere {
        /// Which.
        participant: GuidPrefix,
        /// Where it says that it is reached.
        announced: SocketAddr,
        /// Where it is heard from.
        heard_from: IpAddr,
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
                write!(f, "{participant} tells of an endpoint of {owner}, which is refused")
            }
            Self::TooManyEndpoints { participant, limit } => {
                write!(f, "{participant} has more than {limit} endpoints")
            }
            Self::NoRoomForEndpoint { participant } => {
                write!(f, "there is no room for another endpoint of {participant}")
            }
            Self::HeardElsewhere { participant, announced, heard_from } => write!(
                f,
                "{participant} is not met: it says that it is reached at {announced}, but is heard from {heard_from} only"
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
                "PEER tells of an endpoint of OWNER, which is refused",
            ),
            (PeerFault::TooManyEndpoints { participant, limit: 9 }, "PEER has more than 9 endpoints"),
            (PeerFault::NoRoomForEndpoint { participant }, "there is no room for another endpoint of PEER"),
            (
                PeerFault::HeardElsewhere { participant, announced: from, heard_from: [10, 0, 0, 8].into() },
                "PEER is not met: it says that it is reached at 10.0.0.9:7, but is heard from 10.0.0.8 only",
            ),
        ];
        assert_eq!([participant.to_string(), owner.to_string()], [first, second]);
        for (fault, line) in table {
            assert_eq!(fault.to_string(), line.replace("PEER", first).replace("OWNER", second));
        }
    }
}
