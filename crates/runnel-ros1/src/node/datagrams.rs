//! UDPROS links: what subscribers offer and publishers answer in `requestTopic`, and the links that come of it.
//!
//! ```text
//! offer    ['UDPROS', header, host, port, longest datagram]
//! answer   ['UDPROS', host, port, number of the link, longest datagram, header]
//! ```
//! The headers are connection headers without their total length. Nothing else goes before the messages.

use std::net::SocketAddr;
use std::sync::Arc;

use runnel_core::time::Instant;

use super::event::{LinkStats, NodeEvent, SubscriberLink};
use super::{Caller, Conn, Linked, Node};
use crate::header::ConnectionHeader;
use crate::net::{ConnId, Endpoint, Transmit};
use crate::udpros::{DATAGRAM, Fragmenter, LONGEST, SHORTEST};
use crate::xmlrpc::Value;

/// What subscribers ask for when nothing else is said. They mean the size of an Ethernet packet and forget the
/// headers of UDP and IP.
const ETHERNET: usize = 1500;

/// Bytes of a connection header's total length, which headers in calls go without.
const TOTAL: usize = 4;

/// Where a publisher's messages are to be had.
#[derive(Debug)]
pub(super) enum Address {
    Tcpros(Endpoint),
    Udpros(Offered),
}

/// The datagrams that a publisher will send.
#[derive(Debug)]
pub(super) struct Offered {
    /// Where it says that they come from; roscpp's come from another port.
    pub(super) from: Endpoint,
    /// The number that they bear.
    pub(super) link: u32,
    /// What the publisher says of itself and the topic.
    pub(super) header: Vec<u8>,
}

impl Address {
    /// Reads the answer to `requestTopic`.
    pub(super) fn of(answer: &Value) -> Result<Self, String> {
        let bad = || format!("its answer to requestTopic is not an address: {}", super::brief(answer));
        let [status, message, protocol] = answer.as_array().ok_or_else(bad)? else { return Err(bad()) };
        if status.as_int() != Some(1) {
            return Err(format!("requestTopic: {}", message.as_str().unwrap_or("refused")));
        }
        let [name, host, port, rest @ ..] = protocol.as_array().ok_or_else(bad)? else { return Err(bad()) };
        let port = port.as_int().and_then(|port| u16::try_from(port).ok()).ok_or_else(bad)?;
        let from = Endpoint { host: host.as_str().ok_or_else(bad)?.to_owned(), port };
        match (name.as_str(), rest) {
            (Some("TCPROS"), _) => Ok(Self::Tcpros(from)),
            (Some("UDPROS"), [Value::Int(link), Value::Int(_), Value::Binary(header), ..]) => {
                Ok(Self::Udpros(Offered { from, link: link.cast_unsigned(), header: header.clone() }))
            }
            _ => Err(bad()),
        }
    }
}

/// A subscriber that asks for datagrams and may have them.
#[derive(Debug)]
pub(super) struct Asking {
    /// The call to answer.
    caller: ConnId,
    /// Where its datagrams go.
    to: SocketAddr,
    topic: String,
    subscriber: String,
    /// Of a datagram, in bytes.
    longest: usize,
    /// It has offered a connection, too.
    takes_tcpros: bool,
    link: u32,
}

impl Asking {
    pub(super) fn caller(&self) -> ConnId {
        self.caller
    }

    pub(super) fn to(&self) -> SocketAddr {
        self.to
    }

    pub(super) fn topic(&self) -> &str {
        &self.topic
    }

    pub(super) fn subscriber(&self) -> &str {
        &self.subscriber
    }

    pub(super) fn takes_tcpros(&self) -> bool {
        self.takes_tcpros
    }
}

/// The subscriber's side.
impl Node {
    /// Has a socket opened for the datagrams of a publisher.
    pub(super) fn open_for_publisher(&mut self, topic: &str, uri: &str) -> ConnId {
        let conn = self.rpc.new_conn_id();
        self.transmits.push_back(Transmit::OpenDatagram { conn, to: None });
        let (topic, uri) = (topic.to_owned(), uri.to_owned());
        self.conns.insert(conn, Conn::PublisherDatagrams { topic, uri, port: 0 });
        conn
    }

    /// The socket is open: the publisher is asked to send there.
    pub(super) fn ask_for_datagrams(
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
        let offer = vec![
            "UDPROS".into(),
            without_total(&header),
            self.config.host.as_str().into(),
            i32::from(bound).into(),
            (DATAGRAM as i32).into(),
        ];
        self.request_topic_of(now, topic, uri, Some(conn), vec![offer.into()]);
    }

    /// Our port of the socket that a publisher was asked to send to.
    pub(super) fn datagram_port(&self, conn: ConnId) -> u16 {
        match self.conns.get(&conn) {
            Some(Conn::PublisherDatagrams { port, .. }) => *port,
            _ => 0,
        }
    }

    /// Whether it is a socket for datagrams of a publisher.
    pub(super) fn is_of_datagrams(&self, conn: ConnId) -> bool {
        match self.conns.get(&conn) {
            Some(Conn::LinkedPublisher(link)) => link.datagram_port.is_some(),
            other => matches!(other, Some(Conn::PublisherDatagrams { .. })),
        }
    }

    /// Closes such a socket.
    pub(super) fn close_datagrams(&mut self, conn: ConnId) {
        if self.conns.remove(&conn).is_some() {
            self.close(conn);
        }
    }
}

/// The publisher's side.
impl Node {
    /// Has a socket opened for a subscriber that may have datagrams; its call is answered when it is.
    pub(super) fn open_for_subscriber(
        &mut self,
        caller: Caller,
        topic: &str,
        offer: &[Value],
        offers: &[Value],
    ) -> Result<(), String> {
        let asking = self.check_offer(caller, topic, offer, offers);
        let asking = asking.inspect_err(|why| {
            self.refuse_peer(format!("{}: UDPROS subscriber of {topic}: {why}", caller.peer));
        })?;
        self.replace_link_of(&asking);
        let conn = self.rpc.new_conn_id();
        self.transmits.push_back(Transmit::OpenDatagram { conn, to: Some(asking.to) });
        self.conns.insert(conn, Conn::SubscriberDatagrams(Box::new(asking)));
        self.linked_count += 1;
        Ok(())
    }

    fn check_offer(
        &mut self,
        caller: Caller,
        topic: &str,
        offer: &[Value],
        offers: &[Value],
    ) -> Result<Asking, String> {
        let [_, Value::Binary(header), Value::String(_), Value::Int(port), Value::Int(longest), ..] = offer
        else {
            return Err("the offer is not [UDPROS, header, host, port, size]".to_owned());
        };
        let header = ConnectionHeader::parse(header).map_err(|error| error.to_string())?;
        let (of, subscriber) = self.check_subscriber(&header)?;
        if of != topic {
            return Err(format!("its header is for topic {of}"));
        }
        let port = u16::try_from(*port).ok().filter(|port| *port != 0);
        let port = port.ok_or("the offer has no port")?;
        let longest = agreed(*longest)?;
        let is_tcpros =
            |offer: &Value| offer.as_array().and_then(|offer| offer.first()?.as_str()) == Some("TCPROS");
        self.last_datagram_link = (self.last_datagram_link + 1) & 0x7fff_ffff;
        Ok(Asking {
            caller: caller.conn,
            // Not to the host that it names: anybody could have our datagrams sent to somebody who never asked for
            // them. The address that the call came from is its own, since the connection of the call stands.
            to: SocketAddr::new(caller.peer.ip().to_canonical(), port),
            topic: of,
            subscriber,
            longest,
            takes_tcpros: offers.iter().any(is_tcpros),
            link: self.last_datagram_link,
        })
    }

    /// A subscriber that asks again, perhaps after its host was away, gets a new link instead of one more.
    fn replace_link_of(&mut self, asking: &Asking) {
        let ip = asking.to.ip();
        let is_former = |(_, conn): &(&ConnId, &Conn)| match conn {
            Conn::Subscriber(link) => {
                let to = link.datagram_port.and_then(|_| link.address.parse::<SocketAddr>().ok());
                to.is_some_and(|to| to.ip() == ip)
                    && link.topic == asking.topic
                    && link.node == asking.subscriber
            }
            _ => false,
        };
        let Some(conn) = self.conns.iter().find(is_former).map(|(conn, _)| *conn) else { return };
        self.conns.remove(&conn);
        self.linked_count -= 1;
        self.close(conn);
        self.events.push_back(NodeEvent::LinkClosed { topic: asking.topic.clone(), conn });
    }

    /// The socket for a subscriber's datagrams is open: the link stands with our answer.
    pub(super) fn join_datagram_subscriber(&mut self, now: Instant, conn: ConnId, port: u16) {
        let Some(Conn::SubscriberDatagrams(asking)) = self.conns.remove(&conn) else { return };
        self.answer_with_datagrams(now, &asking, port);
        let Asking { to, topic, subscriber, longest, link, .. } = *asking;
        let stats = Arc::new(LinkStats::default());
        let (of, node, uri) = (topic.clone(), subscriber.clone(), String::new());
        let address = to.to_string();
        let row =
            Linked { topic: of, node, uri, address, datagram_port: Some(port), stats: Arc::clone(&stats) };
        self.conns.insert(conn, Conn::Subscriber(row));
        let datagrams = Some(Fragmenter::new(link, longest));
        let link = SubscriberLink { topic, conn, subscriber, datagrams, stats };
        self.events.push_back(NodeEvent::SubscriberJoined(link));
    }

    /// The protocol part of the answer; `None` if the topic is published no longer.
    pub(super) fn datagram_answer(&self, asking: &Asking, port: u16) -> Option<Vec<Value>> {
        let header = self.publisher_header(&asking.topic)?;
        Some(vec![
            "UDPROS".into(),
            self.config.host.as_str().into(),
            i32::from(port).into(),
            asking.link.cast_signed().into(),
            (asking.longest as i32).into(),
            without_total(&header),
        ])
    }
}

/// The longest datagrams for a subscriber that takes no longer ones than this.
fn agreed(longest: i32) -> Result<usize, String> {
    let longest = usize::try_from(longest).unwrap_or(0);
    match longest {
        ..SHORTEST => Err(format!("it takes no datagrams of {SHORTEST} bytes")),
        // One packet of a datagram is lost less often than one of two.
        DATAGRAM..=ETHERNET => Ok(DATAGRAM),
        _ => Ok(longest.min(LONGEST)),
    }
}

fn without_total(header: &ConnectionHeader) -> Value {
    let mut bytes = header.emit();
    Value::Binary(bytes.split_off(TOTAL))
}
