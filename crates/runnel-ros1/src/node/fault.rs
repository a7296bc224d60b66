//! Faults of a node's peers: protocol violations and failed exchanges, one enum per exchange. The text is produced
//! only where one is logged or sent.

mod master;
mod peer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use crate::header::HeaderError;
use crate::rpc::CallError;
use crate::tcpros::FrameError;
use crate::udpros::MIN_DATAGRAM_LEN;

pub use master::MasterFault;
pub use peer::{NextStep, PeerFault};

/// Reason why a peer's connection header is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeFault {
    /// It sent no header, and was evicted for a newer connection.
    Displaced,
    /// Its header was not complete in time.
    HeaderTimedOut {
        /// Time allowed.
        within: Duration,
    },
    /// Its header announces a length that is not accepted.
    Length(FrameError),
    /// Its header is malformed, or lacks a field.
    Header(HeaderError),
    /// The limit of connected subscribers and clients is reached.
    TooManyLinks {
        /// The number connected.
        links: usize,
        /// The node's name.
        node: String,
    },
    /// A subscriber requests a topic that the node does not publish.
    NotPublished {
        /// The topic.
        topic: String,
        /// The node's name.
        node: String,
    },
    /// A client requests a service that the node does not provide.
    NotProvided {
        /// The service.
        service: String,
        /// The node's name.
        node: String,
    },
    /// A subscriber requests a type other than the published one.
    SubscriberType(Box<RequestedType>),
    /// A client requests a type other than the provided one.
    ClientType(Box<RequestedType>),
    /// A publisher or provider offers a type other than the requested one.
    OfferedType(Box<TypeMismatch>),
    /// A publisher or provider has refused the connection, for this reason.
    Rejected(String),
}

/// A request for a topic or service by another type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedType {
    /// The topic or service.
    pub name: String,
    /// The subscriber or client.
    pub peer: String,
    /// The node's name.
    pub node: String,
    /// Both types.
    pub types: TypeMismatch,
}

/// The types at the two ends of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMismatch {
    /// The type of the subscriber or client.
    pub requested: TypeSum,
    /// The type of the publisher or provider.
    pub offered: TypeSum,
}

/// A type as named in a connection header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeSum {
    /// Its name, such as `std_msgs/String`.
    pub type_name: String,
    /// Its MD5 sum.
    pub md5: String,
}

impl TypeSum {
    /// The type with this name and MD5 sum.
    pub fn new(type_name: &str, md5: &str) -> Self {
        Self { type_name: type_name.to_owned(), md5: md5.to_owned() }
    }
}

impl fmt::Display for TypeSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with md5sum {}", self.type_name, self.md5)
    }
}

impl From<HeaderError> for HandshakeFault {
    fn from(error: HeaderError) -> Self {
        Self::Header(error)
    }
}

impl fmt::Display for HandshakeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Displaced => f.write_str("closed without a header, to accept a newer connection"),
            Self::HeaderTimedOut { within } => {
                write!(f, "no whole connection header arrived within {} s", within.as_secs())
            }
            Self::Length(error) => write!(f, "connection header: {error}"),
            Self::Header(error) => error.fmt(f),
            Self::TooManyLinks { links, node } => {
                write!(f, "refused: node [{node}] has its limit of {links} subscribers and clients")
            }
            Self::NotPublished { topic, node } => {
                write!(f, "node [{node}] is not a publisher of topic [{topic}]")
            }
            Self::NotProvided { service, node } => {
                write!(f, "service [{service}] is not provided by node [{node}]")
            }
            Self::SubscriberType(requested) => {
                let RequestedType { name, peer, node, types: TypeMismatch { requested, offered } } =
                    &**requested;
                write!(
                    f,
                    "topic [{name}]: subscriber [{peer}] wants {requested}, but publisher [{node}] has {offered}"
                )
            }
            Self::ClientType(requested) => {
                let RequestedType { name, peer, node, types: TypeMismatch { requested, offered } } =
                    &**requested;
                write!(
                    f,
                    "service [{name}]: client [{peer}] wants {requested}, but node [{node}] has {offered}"
                )
            }
            Self::OfferedType(types) => {
                let TypeMismatch { requested, offered } = &**types;
                write!(f, "it offers {offered}, but this node requests {requested}")
            }
            Self::Rejected(why) => write!(f, "it refused the connection: {why}"),
        }
    }
}

impl std::error::Error for HandshakeFault {}

/// Reason why a subscriber does not get UDPROS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferFault {
    /// The offer is not `[UDPROS, header, host, port, size]`.
    NotAnOffer,
    /// The header is not accepted.
    Handshake(HandshakeFault),
    /// The header is for this topic, not the one of the call.
    OtherTopic(String),
    /// The offer has no port.
    NoPort,
    /// The offer does not accept datagrams of [`MIN_DATAGRAM_LEN`] bytes.
    DatagramsTooShort,
    /// Too many subscribers request datagrams at a time.
    TooManyRequests,
}

impl From<HandshakeFault> for OfferFault {
    fn from(fault: HandshakeFault) -> Self {
        Self::Handshake(fault)
    }
}

impl fmt::Display for OfferFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnOffer => f.write_str("the offer is not [UDPROS, header, host, port, size]"),
            Self::Handshake(fault) => fault.fmt(f),
            Self::OtherTopic(topic) => write!(f, "the header in the offer is for topic {topic}"),
            Self::NoPort => f.write_str("the offer has no port"),
            Self::DatagramsTooShort => {
                write!(f, "the offer does not accept datagrams of {MIN_DATAGRAM_LEN} bytes")
            }
            Self::TooManyRequests => f.write_str("too many subscribers request datagrams at a time"),
        }
    }
}

impl std::error::Error for OfferFault {}

/// Reason why a link to a publisher failed or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// The call of `requestTopic` failed.
    Call(Box<CallError>),
    /// The answer to `requestTopic` is not an address; holds its beginning.
    NotAnAddress(String),
    /// The publisher's node declined `requestTopic`, for this reason.
    RequestDeclined(String),
    /// The publisher's node offers UDPROS without a request for it.
    UnaskedDatagrams,
    /// A step was not completed in time.
    TimedOut {
        /// Time allowed.
        within: Duration,
    },
    /// The publisher's connection header is not accepted.
    Handshake(HandshakeFault),
    /// The connection ended; holds the operating system's error, if there was one.
    Closed(Option<String>),
    /// No socket can be opened for the datagrams, for this reason.
    NoDatagramSocket(String),
}

impl From<HandshakeFault> for LinkFault {
    fn from(fault: HandshakeFault) -> Self {
        Self::Handshake(fault)
    }
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::NotAnAddress(answer) => {
                write!(f, "its answer to requestTopic is not an address: {answer}")
            }
            Self::RequestDeclined(why) => write!(f, "it declined requestTopic: {why}"),
            Self::UnaskedDatagrams => f.write_str("it offers UDPROS without a request for it"),
            Self::TimedOut { within } => write!(f, "no answer within {} s", within.as_secs()),
            Self::Handshake(fault) => fault.fmt(f),
            Self::Closed(None) => f.write_str("the connection was closed"),
            Self::Closed(Some(why)) => f.write_str(why),
            Self::NoDatagramSocket(why) => write!(f, "no socket for datagrams: {why}"),
        }
    }
}

impl std::error::Error for LinkFault {}
