//! What peers of a node do that is not accepted, or not what was asked of them: one enum for each kind of exchange. A text is
//! made of them only where one is shown or sent.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use crate::answer::NotAnAnswer;
use crate::header::HeaderError;
use crate::rpc::{CallError, ClientFault, UriError};
use crate::tcpros::FrameError;
use crate::told::told;
use crate::udpros::SHORTEST;

/// Why the connection header of a peer is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeFault {
    /// It gives way to newer connections, since its header has not come.
    Displaced,
    /// Its header was not whole in time.
    HeaderTimedOut {
        /// How long it may take.
        within: Duration,
    },
    /// Its header announces a length that is not accepted.
    Length(FrameError),
    /// Its header is malformed, or lacks a field.
    Header(HeaderError),
    /// As many subscribers and clients as are allowed are connected.
    TooManyLinks {
        /// How many those are.
        links: usize,
        /// Our name.
        node: String,
    },
    /// A subscriber asks for a topic that we do not publish.
    NotPublished {
        /// Which.
        topic: String,
        /// Our name.
        node: String,
    },
    /// A client asks for a service that we do not provide.
    NotProvided {
        /// Which.
        service: String,
        /// Our name.
        node: String,
    },
    /// A subscriber wants another type than we publish.
    SubscriberType(Box<AskedType>),
    /// A client wants another type than we provide.
    ClientType(Box<AskedType>),
    /// A publisher or provider has another type than we want.
    OfferedType(Box<TypesDiffer>),
    /// A publisher or provider refuses us, for this reason.
    RefusesUs(String),
}

/// Who asks for a topic or service of ours by another type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedType {
    /// The topic or service.
    pub name: String,
    /// The subscriber or client.
    pub peer: String,
    /// Our name.
    pub node: String,
    /// Both types.
    pub types: TypesDiffer,
}

/// The types of the two ends of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypesDiffer {
    /// That of the subscriber or client.
    pub wanted: TypeSum,
    /// That of the publisher or provider.
    pub offered: TypeSum,
}

/// A type as a connection header tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeSum {
    /// Its name, such as `std_msgs/String`.
    pub type_name: String,
    /// Its MD5 sum.
    pub md5: String,
}

impl TypeSum {
    /// The type of this name and sum.
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
            Self::Displaced => f.write_str("closed for newer connections: no header came"),
            Self::HeaderTimedOut { within } => {
                write!(f, "no whole connection header within {} s", within.as_secs())
            }
            Self::Length(error) => write!(f, "connection header: {error}"),
            Self::Header(error) => error.fmt(f),
            Self::TooManyLinks { links, node } => {
                write!(f, "refused, {links} subscribers and clients are connected to [{node}]")
            }
            Self::NotPublished { topic, node } => {
                write!(f, "node [{node}] is not a publisher of topic [{topic}]")
            }
            Self::NotProvided { service, node } => {
                write!(f, "service [{service}] is not provided by node [{node}]")
            }
            Self::SubscriberType(asked) => {
                let AskedType { name, peer, node, types: TypesDiffer { wanted, offered } } = &**asked;
                write!(
                    f,
                    "topic [{name}]: subscriber [{peer}] wants {wanted}, but publisher [{node}] has {offered}"
                )
            }
            Self::ClientType(asked) => {
                let AskedType { name, peer, node, types: TypesDiffer { wanted, offered } } = &**asked;
                write!(f, "service [{name}]: client [{peer}] wants {wanted}, but node [{node}] has {offered}")
            }
            Self::OfferedType(types) => {
                let TypesDiffer { wanted, offered } = &**types;
                write!(f, "it has {offered}, but we want {wanted}")
            }
            Self::RefusesUs(why) => write!(f, "it refuses us: {why}"),
        }
    }
}

impl std::error::Error for HandshakeFault {}

/// Why a subscriber that asks for datagrams (UDPROS) gets none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferFault {
    /// What it offers is not `[UDPROS, header, host, port, size]`.
    NotAnOffer,
    /// Its header is not accepted.
    Handshake(HandshakeFault),
    /// Its header is for another topic than its call, this one.
    OtherTopic(String),
    /// It names no port.
    NoPort,
    /// It takes no datagrams of [`SHORTEST`] bytes.
    DatagramsTooShort,
    /// As many subscribers as are allowed ask at once.
    TooManyAsking,
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
            Self::OtherTopic(topic) => write!(f, "its header is for topic {topic}"),
            Self::NoPort => f.write_str("the offer has no port"),
            Self::DatagramsTooShort => write!(f, "it takes no datagrams of {SHORTEST} bytes"),
            Self::TooManyAsking => f.write_str("too many subscribers ask for datagrams at once"),
        }
    }
}

impl std::error::Error for OfferFault {}

/// Why a link to a publisher does not stand, or no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// Its node was asked for its address, and the call failed.
    Call(Box<CallError>),
    /// Its node answered `requestTopic` with something that is no address: the beginning of that.
    NotAnAddress(String),
    /// Its node declined `requestTopic`, for this reason.
    RequestDeclined(String),
    /// Its node promises datagrams that it was not asked for.
    UnaskedDatagrams,
    /// It did not answer in time.
    TimedOut {
        /// How long it may take.
        within: Duration,
    },
    /// Its connection header is not accepted.
    Handshake(HandshakeFault),
    /// Its connection ended. The text is what the operating system said, if that was an error.
    Closed(Option<String>),
    /// There is no socket for its datagrams, for this reason.
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
            Self::RequestDeclined(why) => write!(f, "requestTopic: {why}"),
            Self::UnaskedDatagrams => f.write_str("it was not asked for UDPROS"),
            Self::TimedOut { within } => write!(f, "no answer within {} s", within.as_secs()),
            Self::Handshake(fault) => fault.fmt(f),
            Self::Closed(None) => f.write_str("the connection was closed"),
            Self::Closed(Some(why)) => f.write_str(why),
            Self::NoDatagramSocket(why) => write!(f, "no datagrams: {why}"),
        }
    }
}

impl std::error::Error for LinkFault {}

/// What a node does about a link to a publisher that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// It is tried again, ever more slowly.
    Retry,
    /// It is given up, since the master does not list the publisher.
    GiveUp,
    /// The publisher is asked for a connection in place of datagrams.
    AskForTcpros,
    /// Nothing, since another try would change nothing.
    Nothing,
}

/// What the master does that is of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterFault {
    /// A call of it failed.
    Call(Box<CallError>),
    /// What it answers is no answer of a master.
    NotAnAnswer(NotAnAnswer),
    /// It declines what was asked, for this reason.
    Declined(String),
    /// It answers `lookupService` with something that is no address: the beginning of that.
    NotAServiceAddress(String),
    /// It answers `lookupService` with an address that is none of a service.
    ServiceUri(UriError),
}

impl From<CallError> for MasterFault {
    fn from(error: CallError) -> Self {
        Self::Call(Box::new(error))
    }
}

impl From<NotAnAnswer> for MasterFault {
    fn from(error: NotAnAnswer) -> Self {
        Self::NotAnAnswer(error)
    }
}

impl fmt::Display for MasterFault {
    /// On one line, whatever the master said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Call(error) => error.to_string(),
            Self::NotAnAnswer(error) => error.to_string(),
            Self::Declined(why) => why.clone(),
            Self::NotAServiceAddress(answer) => format!("not the address of a service: {answer}"),
            Self::ServiceUri(error) => error.to_string(),
        };
        f.write_str(&told(&text))
    }
}

impl std::error::Error for MasterFault {}

/// A peer did what is not accepted, or not what was asked of it. Its text is a line for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerFault {
    /// A client of the slave API is refused.
    Client {
        /// Its address.
        peer: SocketAddr,
        /// What it did.
        fault: ClientFault,
    },
    /// A connection for messages is refused: that of a subscriber, or of a service's client.
    Incoming {
        /// Its address.
        peer: SocketAddr,
        /// What is wrong.
        fault: HandshakeFault,
    },
    /// A subscriber that asks for datagrams is refused.
    DatagramOffer {
        /// Its address.
        peer: SocketAddr,
        /// The topic.
        topic: String,
        /// What is wrong.
        fault: OfferFault,
    },
    /// A subscriber's link of datagrams has ended for a newer one.
    DatagramLinkDisplaced {
        /// Where its datagrams went.
        address: String,
        /// Its name.
        subscriber: String,
        /// The topic.
        topic: String,
        /// How many links there may be.
        limit: usize,
    },
    /// There is no socket for the datagrams of a subscriber.
    NoDatagramSocket {
        /// Where its datagrams were to go.
        to: SocketAddr,
        /// Its name.
        subscriber: String,
        /// What the operating system said, if it said something.
        why: String,
    },
    /// The master lists publishers by addresses that are none.
    PublisherUris {
        /// The topic.
        topic: String,
        /// What is wrong with the first of them.
        faults: Vec<UriError>,
    },
    /// The master lists more publishers than there may be links.
    TooManyPublishers {
        /// The topic.
        topic: String,
        /// The address of the first that is not linked.
        first: String,
        /// How many more there are.
        others: usize,
        /// How many links there may be.
        limit: usize,
    },
    /// A publisher cannot be asked, since its address is none.
    PublisherUri {
        /// The topic.
        topic: String,
        /// What is wrong.
        fault: UriError,
    },
    /// A link to a publisher has failed.
    Publisher {
        /// The topic.
        topic: String,
        /// The address of the publisher's node.
        uri: String,
        /// What is wrong.
        fault: LinkFault,
        /// What follows.
        next: NextStep,
    },
    /// The master has answered a subscription with no list of publishers.
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
            Self::Client { peer, fault } => write!(f, "{peer}: {}", told(&fault.to_string())),
            Self::Incoming { peer, fault } => write!(f, "{peer}: {}", told(&fault.to_string())),
            Self::DatagramOffer { peer, topic, fault } => {
                write!(f, "{peer}: UDPROS subscriber of {topic}: {}", told(&fault.to_string()))
            }
            Self::DatagramLinkDisplaced { address, subscriber, topic, limit } => write!(
                f,
                "{address}: UDPROS link of subscriber [{}] of {topic} ended for a newer one: there are {limit}",
                told(subscriber)
            ),
            Self::NoDatagramSocket { to, subscriber, why } => {
                write!(f, "{to}: no datagrams for subscriber [{}]: {why}", told(subscriber))
            }
            Self::PublisherUris { topic, faults } => {
                let faults: Vec<String> = faults.iter().map(UriError::to_string).collect();
                write!(f, "publishers of {topic}: {}", told(&faults.join("; ")))
            }
            Self::TooManyPublishers { topic, first, others: 0, limit } => {
                write!(f, "not linked: {first}, since topic {topic} has {limit} publishers already")
            }
            Self::TooManyPublishers { topic, first, others, limit } => write!(
                f,
                "not linked: {first} and {others} more, since topic {topic} has {limit} publishers already"
            ),
            Self::PublisherUri { topic, fault } => write!(f, "publisher of {topic}: {fault}"),
            Self::Publisher { topic, uri, fault, next } => {
                let fault = told(&fault.to_string());
                write!(f, "publisher of {topic} at {uri}: ")?;
                match next {
                    NextStep::Retry => write!(f, "{fault}; it is tried again"),
                    NextStep::GiveUp => write!(f, "{fault}; it is given up"),
                    NextStep::AskForTcpros => write!(f, "no datagrams: {fault}; it is asked for TCPROS"),
                    NextStep::Nothing => f.write_str(&fault),
                }
            }
            Self::NotAPublisherList { topic, answer } => {
                write!(
                    f,
                    "master: it answered a subscription to {topic} with no list of publishers: {answer}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::Uri;

    fn text(fault: &impl ToString) -> String {
        fault.to_string()
    }

    fn asked(name: &str, peer: &str) -> Box<AskedType> {
        let types = TypesDiffer { wanted: TypeSum::new("a/A", "1"), offered: TypeSum::new("b/B", "2") };
        let [name, peer, node] = [name, peer, "/n"].map(str::to_owned);
        Box::new(AskedType { name, peer, node, types })
    }

    #[test]
    fn handshake_faults_read_as_sentences() {
        use HandshakeFault::{ClientType, Displaced, Header, HeaderTimedOut, Length, NotProvided};
        use HandshakeFault::{NotPublished, OfferedType, RefusesUs, SubscriberType, TooManyLinks};
        let node = || "/n".to_owned();
        let table = [
            (Displaced, "closed for newer connections: no header came"),
            (HeaderTimedOut { within: Duration::from_secs(10) }, "no whole connection header within 10 s"),
            (
                Length(FrameError::WrongLength { announced: 3, fixed: 4 }),
                "connection header: a length of 3 bytes was announced, messages of the type have exactly 4",
            ),
            (Header(HeaderError::Missing("type")), "connection header: the field 'type' is missing"),
            (
                TooManyLinks { links: 3, node: node() },
                "refused, 3 subscribers and clients are connected to [/n]",
            ),
            (
                NotPublished { topic: "/t".to_owned(), node: node() },
                "node [/n] is not a publisher of topic [/t]",
            ),
            (
                NotProvided { service: "/s".to_owned(), node: node() },
                "service [/s] is not provided by node [/n]",
            ),
            (
                SubscriberType(asked("/t", "/p")),
                "topic [/t]: subscriber [/p] wants a/A with md5sum 1, but publisher [/n] has b/B with md5sum 2",
            ),
            (
                ClientType(asked("/s", "/p")),
                "service [/s]: client [/p] wants a/A with md5sum 1, but node [/n] has b/B with md5sum 2",
            ),
            (
                OfferedType(Box::new(asked("", "").types)),
                "it has b/B with md5sum 2, but we want a/A with md5sum 1",
            ),
            (RefusesUs("no".to_owned()), "it refuses us: no"),
        ];
        table.iter().for_each(|(fault, expected)| assert_eq!(text(fault), *expected));
    }

    #[test]
    fn link_faults_say_what_follows() {
        let line = |next| {
            let (topic, uri) = ("/t".to_owned(), "http://p:1/".to_owned());
            text(&PeerFault::Publisher { topic, uri, fault: LinkFault::Closed(None), next })
        };
        let lines = [NextStep::Retry, NextStep::GiveUp, NextStep::AskForTcpros, NextStep::Nothing].map(line);
        assert_eq!(
            lines,
            [
                "publisher of /t at http://p:1/: the connection was closed; it is tried again",
                "publisher of /t at http://p:1/: the connection was closed; it is given up",
                "publisher of /t at http://p:1/: no datagrams: the connection was closed; it is asked for TCPROS",
                "publisher of /t at http://p:1/: the connection was closed",
            ]
        );
        let table = [
            (
                LinkFault::NotAnAddress("Int(3)".into()),
                "its answer to requestTopic is not an address: Int(3)",
            ),
            (LinkFault::RequestDeclined("no".into()), "requestTopic: no"),
            (LinkFault::UnaskedDatagrams, "it was not asked for UDPROS"),
            (LinkFault::TimedOut { within: Duration::from_secs(10) }, "no answer within 10 s"),
            (LinkFault::Closed(Some("reset".into())), "reset"),
            (LinkFault::NoDatagramSocket("none".into()), "no datagrams: none"),
        ];
        table.iter().for_each(|(fault, expected)| assert_eq!(text(fault), *expected));
    }

    #[test]
    fn peer_faults_name_the_peer() {
        let peer: SocketAddr = ([10, 0, 0, 9], 7).into();
        let topic = || "/t".to_owned();
        let many = |others| PeerFault::TooManyPublishers {
            topic: topic(),
            first: "http://p:1/".to_owned(),
            others,
            limit: 2,
        };
        let wrong = Uri::parse("p").expect_err("no address");
        let table = [
            (
                PeerFault::Client { peer, fault: ClientFault::PipelinedBeyondLimit { limit: 9 } },
                "10.0.0.9:7: sent more than 9 bytes ahead of an answer".to_owned(),
            ),
            (
                PeerFault::DatagramOffer { peer, topic: topic(), fault: OfferFault::OtherTopic("/o".into()) },
                "10.0.0.9:7: UDPROS subscriber of /t: its header is for topic /o".to_owned(),
            ),
            (many(0), "not linked: http://p:1/, since topic /t has 2 publishers already".to_owned()),
            (
                many(4),
                "not linked: http://p:1/ and 4 more, since topic /t has 2 publishers already".to_owned(),
            ),
            (
                PeerFault::PublisherUris { topic: topic(), faults: vec![wrong.clone(), wrong.clone()] },
                format!("publishers of /t: {wrong}; {wrong}"),
            ),
            (
                PeerFault::NoDatagramSocket { to: peer, subscriber: "/s\n".into(), why: "none".into() },
                r"10.0.0.9:7: no datagrams for subscriber [/s\n]: none".to_owned(),
            ),
        ];
        table.iter().for_each(|(fault, expected)| assert_eq!(text(fault), *expected));
    }
}
