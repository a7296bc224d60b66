//! UDPROS links to publishers. A socket is opened for each publisher, which is then requested to send its
//! datagrams there, or to return its TCPROS address. TCPROS is requested from a publisher that declines UDPROS. A fault that may be
//! temporary is retried.

use std::net::Ipv6Addr;
use std::time::Duration;

use runnel_core::sorted::SortedSet;
use runnel_core::time::Instant;

use super::{AcceptedHeader, Link};
use crate::answer::Answer;
use crate::net::{ConnId, Endpoint, Transmit};
use crate::node::event::NodeEvent;
use crate::node::fault::{LinkFault, NextStep};
use crate::node::timer::Timer;
use crate::node::{Conn, Node};
use crate::peer_text::{sanitize, sanitize_value};
use crate::udpros::{DATAGRAM_LEN_IPV4, DATAGRAM_LEN_IPV6};
use crate::xmlrpc::Value;

/// Time in which a UDPROS publisher that the master lists again must send a message.
const SILENCE: Duration = Duration::from_secs(1);

/// Addresses at which a publisher's messages can be received.
#[derive(Debug)]
pub(in crate::node) enum Address {
    Tcpros(Endpoint),
    Udpros(DatagramOffer),
}

/// A publisher's agreement to send datagrams.
#[derive(Debug)]
pub(in crate::node) struct DatagramOffer {
    /// The announced source; roscpp sends from another port.
    pub(in crate::node) from: Endpoint,
    /// The connection id of the datagrams.
    pub(in crate::node) link: u32,
    /// The publisher's header.
    pub(in crate::node) header: Vec<u8>,
}

impl Address {
    /// Parses the answer to `requestTopic`.
    pub(in crate::node) fn of(answer: &Value) -> Result<Self, LinkFault> {
        let bad = || LinkFault::NotAnAddress(sanitize_value(answer));
        let answer_value = Answer::parse(answer).map_err(|_| bad())?.into_result();
        let protocol = answer_value.map_err(|why| LinkFault::RequestDeclined(sanitize(why)))?;
        let [name, host, port, rest @ ..] = protocol.as_array().ok_or_else(bad)? else { return Err(bad()) };
        let port = port.as_int().and_then(|port| u16::try_from(port).ok()).ok_or_else(bad)?;
        let from = Endpoint { host: host.as_str().ok_or_else(bad)?.to_owned(), port };
        match (name.as_str(), rest) {
            (Some("TCPROS"), _) => Ok(Self::Tcpros(from)),
            (Some("UDPROS"), [Value::Int(link), Value::Int(_), Value::Binary(header), ..]) => {
                Ok(Self::Udpros(DatagramOffer { from, link: link.cast_unsigned(), header: header.clone() }))
            }
            _ => Err(bad()),
        }
    }
}

impl Node {
    /// Requests a socket for the datagrams of a publisher.
    pub(in crate::node) fn open_for_publisher(&mut self, topic: &str, uri: &str) -> ConnId {
        let conn = self.rpc.new_conn_id();
        self.transmits.push_back(Transmit::OpenDatagram { conn, to: None });
        let (topic, uri) = (topic.to_owned(), uri.to_owned());
        self.conns.insert(conn, Conn::PublisherDatagrams { topic, uri, port: 0 });
        conn
    }

    /// The socket is open: ask the publisher to send there.
    pub(in crate::node) fn ask_for_datagrams(
        &mut self,
        now: Instant,
        conn: ConnId,
        topic: &str,
        uri: &str,
        bound: u16,
    ) {
        if let Some(Conn::PublisherDatagrams { port, .. }) = self.conns.get_mut(&conn) {
            *port = bound;
        }
        let Some(header) = self.subscriber_header(topic) else { return };
        let is_ipv6 = self.config.host.parse::<Ipv6Addr>().is_ok();
        let longest = if is_ipv6 { DATAGRAM_LEN_IPV6 as i32 } else { DATAGRAM_LEN_IPV4 as i32 };
        let offer = vec![
            "UDPROS".into(),
            Value::Binary(header.emit_fields()),
            self.config.host.as_str().into(),
            i32::from(bound).into(),
            longest.into(),
        ];
        self.request_topic_of(now, topic, uri, Some(conn), vec![offer.into()]);
    }

    /// The local port of a publisher's datagram socket.
    pub(in crate::node) fn datagram_port(&self, conn: ConnId) -> u16 {
        match self.conns.get(&conn) {
            Some(Conn::PublisherDatagrams { port, .. }) => *port,
            _ => 0,
        }
    }

    /// Whether this is the datagram socket of a publisher.
    pub(in crate::node) fn is_datagram_socket(&self, conn: ConnId) -> bool {
        match self.conns.get(&conn) {
            Some(Conn::LinkedPublisher(link)) => link.datagram_port.is_some(),
            other => matches!(other, Some(Conn::PublisherDatagrams { .. })),
        }
    }

    /// Closes the datagram socket of a publisher.
    pub(in crate::node) fn close_datagrams(&mut self, conn: ConnId) {
        if self.conns.remove(&conn).is_some() {
            self.close(conn);
        }
    }

    /// A publisher has agreed to send datagrams. Its header is checked as for TCPROS.
    pub(in crate::node) fn take_datagrams(
        &mut self,
        now: Instant,
        conn: ConnId,
        topic: &str,
        uri: &str,
        offer: DatagramOffer,
    ) {
        match self.check_publisher(topic, &offer.header) {
            Ok(header) => {
                let (address, datagrams) = (offer.from.to_string(), Some(offer.link));
                let accepted = AcceptedHeader { conn, address, datagrams, token: None, rest: &[] };
                self.join_publisher(topic, uri, &header, accepted);
            }
            Err(fault) => {
                self.close_datagrams(conn);
                self.datagrams_declined(now, topic, uri, fault.into());
            }
        }
    }

    /// No socket can be opened for the datagrams of a publisher, perhaps only at the moment.
    pub(in crate::node) fn no_datagrams(&mut self, now: Instant, topic: &str, uri: &str, why: &str) {
        self.try_later(now, topic, uri, LinkFault::NoDatagramSocket(why.to_owned()));
    }

    /// A publisher has declined UDPROS: TCPROS is requested.
    pub(in crate::node) fn datagrams_declined(
        &mut self,
        now: Instant,
        topic: &str,
        uri: &str,
        fault: LinkFault,
    ) {
        let Some(link) = self.link_mut(topic, uri) else { return };
        link.tcpros_only = true;
        self.ask_address(now, topic, uri);
        self.report_link_fault(topic, uri, fault, NextStep::AskForTcpros);
    }

    /// A subscription of this node needs every message of a topic: its UDPROS links, current or pending, are made
    /// again with TCPROS.
    pub(in crate::node) fn switch_to_tcpros(&mut self, now: Instant, topic: &str) {
        let Some(subscription) = self.subscriptions.get_mut(topic) else { return };
        if !std::mem::replace(&mut subscription.spec.udpros, false) {
            return;
        }
        for uri in self.datagram_publishers(topic) {
            self.renew_link(now, topic, &uri);
        }
    }

    /// The master has listed UDPROS publishers. One that ended and restarted its publication before the master
    /// reported it has lost its link, and only its silence shows that.
    pub(in crate::node) fn watch_for_silence(&mut self, now: Instant, topic: &str, uris: &SortedSet<String>) {
        let until = now + SILENCE;
        for uri in uris {
            let Some(received_before) = self.datagram_messages(topic, uri) else { continue };
            if let Some(link) = self.link_mut(topic, uri) {
                link.silent = Some((until, received_before));
                self.timers.schedule(Timer::Link { topic: topic.to_owned(), uri: uri.clone() }, until);
            }
        }
    }

    /// Asks a publisher again that has been silent since the master listed it. A living publisher replaces the link.
    pub(in crate::node) fn silence_due(&mut self, now: Instant, topic: &str, uri: &str) {
        let received = self.datagram_messages(topic, uri);
        let Some(link) = self.link_mut(topic, uri) else { return };
        let Some((_, before)) = link.silent.take_if(|(until, _)| *until <= now) else { return };
        if received == Some(before) {
            self.renew_link(now, topic, uri);
        }
    }

    /// Ends a UDPROS link and makes it again.
    fn renew_link(&mut self, now: Instant, topic: &str, uri: &str) {
        let Some(conn) = self.link_mut(topic, uri).and_then(|link| link.state.conn()) else { return };
        self.close_datagrams(conn);
        self.events.push_back(NodeEvent::LinkClosed { topic: topic.to_owned(), conn });
        self.ask_address(now, topic, uri);
    }

    /// Messages received on an established UDPROS link.
    fn datagram_messages(&self, topic: &str, uri: &str) -> Option<u64> {
        let conn = self.subscriptions.get(topic)?.links.get(uri)?.state.conn()?;
        match self.conns.get(&conn) {
            Some(Conn::LinkedPublisher(link)) => link.datagram_port.map(|_| link.stats.messages()),
            _ => None,
        }
    }

    /// Publishers of a topic with a current or pending UDPROS link.
    pub(in crate::node) fn datagram_publishers(&self, topic: &str) -> Vec<String> {
        let Some(subscription) = self.subscriptions.get(topic) else { return Vec::new() };
        let is_datagram_socket =
            |link: &Link| link.state.conn().is_some_and(|conn| self.is_datagram_socket(conn));
        let links = subscription.links.iter().filter(|(_, link)| is_datagram_socket(link));
        links.map(|(uri, _)| uri.clone()).collect()
    }
}
