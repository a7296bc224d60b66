use std::net::SocketAddr;

use super::*;
use crate::node::ServiceFailure;
use crate::rpc::{CallTarget, ClientFault, Uri};

fn text(fault: &impl ToString) -> String {
    fault.to_string()
}

fn requested(name: &str, peer: &str) -> Box<RequestedType> {
    let types = TypeMismatch { requested: TypeSum::new("a/A", "1"), offered: TypeSum::new("b/B", "2") };
    let [name, peer, node] = [name, peer, "/n"].map(str::to_owned);
    Box::new(RequestedType { name, peer, node, types })
}

#[test]
fn handshake_faults_are_readable() {
    use HandshakeFault::{ClientType, Displaced, Header, HeaderTimedOut, Length, NotProvided};
    use HandshakeFault::{NotPublished, OfferedType, Rejected, SubscriberType, TooManyLinks};
    let node = || "/n".to_owned();
    let table = [
        (Displaced, "closed without a header, to accept a newer connection"),
        (
            HeaderTimedOut { within: Duration::from_secs(10) },
            "no whole connection header arrived within 10 s",
        ),
        (
            Length(FrameError::WrongLength { announced: 3, fixed: 4 }),
            "connection header: the peer announced a message of 3 bytes, but messages of this type have exactly 4",
        ),
        (Header(HeaderError::Missing("type")), "connection header: the field 'type' is missing"),
        (
            TooManyLinks { links: 3, node: node() },
            "refused: node [/n] has its limit of 3 subscribers and clients",
        ),
        (NotPublished { topic: "/t".to_owned(), node: node() }, "node [/n] is not a publisher of topic [/t]"),
        (NotProvided { service: "/s".to_owned(), node: node() }, "service [/s] is not provided by node [/n]"),
        (
            SubscriberType(requested("/t", "/p")),
            "topic [/t]: subscriber [/p] wants a/A with md5sum 1, but publisher [/n] has b/B with md5sum 2",
        ),
        (
            ClientType(requested("/s", "/p")),
            "service [/s]: client [/p] wants a/A with md5sum 1, but node [/n] has b/B with md5sum 2",
        ),
        (
            OfferedType(Box::new(requested("", "").types)),
            "it offers b/B with md5sum 2, but this node requests a/A with md5sum 1",
        ),
        (Rejected("no".to_owned()), "it refused the connection: no"),
    ];
    table.iter().for_each(|(fault, expected)| assert_eq!(text(fault), *expected));
}

#[test]
fn master_faults_say_what_is_missing() {
    let master = Uri::parse("http://robot7:11311").expect("an address");
    let fault = |why: Option<&str>, is_attempted| {
        let call = CallTarget { uri: master.clone(), method: "lookupService".to_owned() };
        MasterFault::from(CallError::Unreachable { call, why: why.map(str::to_owned), is_attempted })
    };
    let refused = fault(Some("Connection refused (os error 111)"), true);
    assert_eq!(refused.summary(&master), "no master at http://robot7:11311/ (connection refused)");
    let unknown = fault(Some("unknown"), false).summary(&master);
    assert_eq!(unknown, "the host name robot7 of ROS_MASTER_URI does not resolve");
    assert_eq!(
        ServiceFailure::MasterSilent { master: Box::new(master.clone()), why: refused }.to_string(),
        "its provider is unknown: no master at http://robot7:11311/ (connection refused). Try: runnel master"
    );
    assert_eq!(
        MasterFault::NotAServiceAddress("5".to_owned()).summary(&master),
        "the answer of the master at http://robot7:11311/ is not valid: not the URI of a service: 5"
    );
}

#[test]
fn link_faults_name_next_step() {
    let line = |next| {
        let (topic, uri) = ("/t".to_owned(), "http://p:1/".to_owned());
        text(&PeerFault::Publisher { topic, uri, fault: LinkFault::Closed(None), next })
    };
    let lines = [NextStep::Retry, NextStep::GiveUp, NextStep::AskForTcpros, NextStep::Nothing].map(line);
    assert_eq!(
        lines,
        [
            "publisher of /t at http://p:1/: the connection was closed; retrying",
            "publisher of /t at http://p:1/: the connection was closed; giving up",
            "publisher of /t at http://p:1/: no UDPROS: the connection was closed; asking for TCPROS",
            "publisher of /t at http://p:1/: the connection was closed",
        ]
    );
    let table = [
        (LinkFault::NotAnAddress("Int(3)".into()), "its answer to requestTopic is not an address: Int(3)"),
        (LinkFault::RequestDeclined("no".into()), "it declined requestTopic: no"),
        (LinkFault::UnaskedDatagrams, "it offers UDPROS without a request for it"),
        (LinkFault::TimedOut { within: Duration::from_secs(10) }, "no answer within 10 s"),
        (LinkFault::Closed(Some("reset".into())), "reset"),
        (LinkFault::NoDatagramSocket("none".into()), "no socket for datagrams: none"),
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
            "10.0.0.9:7: closed: it sent more than 9 bytes ahead of an answer".to_owned(),
        ),
        (
            PeerFault::DatagramOffer { peer, topic: topic(), fault: OfferFault::OtherTopic("/o".into()) },
            "10.0.0.9:7: UDPROS subscriber of /t: the header in the offer is for topic /o".to_owned(),
        ),
        (many(0), "not linked: http://p:1/, since topic /t already has its limit of 2 publishers".to_owned()),
        (
            many(4),
            "not linked: http://p:1/ and 4 more, since topic /t already has its limit of 2 publishers"
                .to_owned(),
        ),
        (
            PeerFault::PublisherUris { topic: topic(), faults: vec![wrong.clone(), wrong.clone()] },
            format!("publishers of /t: {wrong}; {wrong}"),
        ),
        (
            PeerFault::NoDatagramSocket { to: peer, subscriber: "/s\n".into(), why: "none".into() },
            r"10.0.0.9:7: no socket for the datagrams of subscriber [/s\n]: none".to_owned(),
        ),
    ];
    table.iter().for_each(|(fault, expected)| assert_eq!(text(fault), *expected));
}
