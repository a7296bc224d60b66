//! Faults of peers as log lines.

use std::fmt;
use std::net::SocketAddr;

use super::{HandshakeFault, LinkFault, OfferFault};
use crate::peer_text::sanitize;
use crate::rpc::{ClientFault, UriError};

/// What a node does after a link to a publisher failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// It retries, with growing pauses.
    Retry,
    /// It gives the link up, since the master does not list the publisher.
    GiveUp,
    /// It asks the publisher for TCPROS instead of UDPROS.
    AskForTcpros,
    /// Nothing: a retry would not help.
    Nothing,
}

/// A peer's fault, formatted as one log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerFault {
    /// A client of the slave API is refused.
    Client {
        /// Its address.
        peer: SocketAddr,
        /// The fault.
        fault: ClientFault,
    },
    /// A TCPROS connection of a subscriber or client is refused.
    Incoming {
        /// Its address.
        peer: SocketAddr,
        /// The fault.
        fault: HandshakeFault,
    },
    /// A UDPROS subscriber is refused.
    DatagramOffer {
        /// Its address.
        peer: SocketAddr,
        /// The topic.
        topic: String,
        /// The fault.
        fault: OfferFault,
    },
    /// A subscriber's UDPROS link was evicted for a newer one.
    DatagramLinkDisplaced {
        /// Destination of its datagrams.
        address: String,
        /// Its name.
        subscriber: String,
        /// The topic.
        topic: String,
        /// The limit of links.
        limit: usize,
    },
    /// No socket can be opened for the datagrams of a subscriber.
    NoDatagramSocket {
        /// Destination of the datagrams.
        to: SocketAddr,
        /// Its name.
        subscriber: String,
        /// The operating system's error.
        why: String,
    },
    /// The master lists publishers with invalid URIs.
    PublisherUris {
        /// The topic.
        topic: String,
        /// The errors of the first ones.
        faults: Vec<UriError>,
    },
    /// The master lists more publishers than the limit of links.
    TooManyPublishers {
        /// The topic.
        topic: String,
        /// The URI of the first publisher that is not linked.
        first: String,
        /// Number of further ones.
        others: usize,
        /// The limit of links.
        limit: usize,
    },
    /// A publisher cannot be reached, since its URI is invalid.
    PublisherUri {
        /// The topic.
        topic: String,
        /// The fault.
        fault: UriError,
    },
    /// A link to a publisher has failed.
    Publisher {
        /// The topic.
        topic: String,
        /// The URI of the publisher's node.
        uri: String,
        /// The fault.
        fault: LinkFault,
        /// The node's next action.
        next: NextStep,
    },
    /// The master's answer to a subscription is not a list of publishers.
    NotAPublisherList {
        /// The topic.
        topic: String,
        /// The beginning of the answer.
        answer: String,
    },
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client { peer, fault } => write!(f, "{peer}: {}", sanitize(&fault.to_string())),
            Self::Incoming { peer, fault } => write!(f, "{peer}: {}", sanitize(&fault.to_string())),
            Self::DatagramOffer { peer, topic, fault } => {
                write!(f, "{peer}: UDPROS subscriber of {topic}: {}", sanitize(&fault.to_string()))
            }
            Self::DatagramLinkDisplaced { address, subscriber, topic, limit } => write!(
                f,
                "{address}: UDPROS link of subscriber [{}] of {topic} ended for a newer one: the limit is {limit}",
                sanitize(subscriber)
            ),
            Self::NoDatagramSocket { to, subscriber, why } => {
                write!(f, "{to}: no socket for the datagrams of subscriber [{}]: {why}", sanitize(subscriber))
            }
            Self::PublisherUris { topic, faults } => {
                let faults: Vec<String> = faults.iter().map(UriError::to_string).collect();
                write!(f, "publishers of {topic}: {}", sanitize(&faults.join("; ")))
            }
            Self::TooManyPublishers { topic, first, others: 0, limit } => {
                write!(
                    f,
                    "not linked: {first}, since topic {topic} already has its limit of {limit} publishers"
                )
            }
            Self::TooManyPublishers { topic, first, others, limit } => write!(
                f,
                "not linked: {first} and {others} more, since topic {topic} already has its limit of {limit} publishers"
            ),
            Self::PublisherUri { topic, fault } => write!(f, "publisher of {topic}: {fault}"),
            Self::Publisher { topic, uri, fault, next } => {
                let fault = sanitize(&fault.to_string());
                write!(f, "publisher of {topic} at {uri}: ")?;
                match next {
                    NextStep::Retry => write!(f, "{fault}; retrying"),
                    NextStep::GiveUp => write!(f, "{fault}; giving up"),
                    NextStep::AskForTcpros => write!(f, "no UDPROS: {fault}; asking for TCPROS"),
                    NextStep::Nothing => f.write_str(&fault),
                }
            }
            Self::NotAPublisherList { topic, answer } => {
                write!(
                    f,
                    "master: its answer to the subscription to {topic} is not a list of publishers: {answer}"
                )
            }
        }
    }
}
