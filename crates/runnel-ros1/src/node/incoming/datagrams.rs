//! Subscribers that ask for datagrams (UDPROS) in `requestTopic`: their offer, our answer, and the link that comes of it.
//!
//! ```text
//! offer    ['UDPROS', header, host, port, longest datagram]
//! answer   ['UDPROS', host, port, number of the link, longest datagram, header]
//! ```
//! The headers are connection headers without their total length. Nothing else goes before the messages.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use runnel_core::time::Instant;

use crate::header::ConnectionHeader;
use crate::net::{ConnId, Transmit};
use crate::node::event::{LinkStats, NodeEvent, SubscriberLink};
use crate::node::fault::{HandshakeFault, OfferFault, PeerFault};
use crate::node::origin;
use crate::node::{Caller, Conn, Limits, Linked, Node};
use crate::udpros::{DATAGRAM, DATAGRAM_IPV6, Fragmenter, LONGEST, SHORTEST};
use crate::xmlrpc::Value;

/// What subscribers ask for when nothing else is said. They mean the size of an Ethernet packet and forget the
/// headers of UDP and IP.
const ETHERNET: usize = 1500;

/// A subscriber that asks for datagrams and may have them.
#[derive(Debug)]
pub(in crate::node) struct Asking {
    /// The call to answer.
    pub(in crate::node) caller: ConnId,
    /// Where its datagrams go.
    pub(in crate::node) to: SocketAddr,
    pub(in crate::node) topic: String,
    pub(in crate::node) subscriber: String,
    /// By what it is known in ROS 2.
    origin: Option<u64>,
    /// Of a datagram, in bytes.
    longest: usize,
    /// It has offered a connection, too.
    pub(in crate::node) takes_tcpros: bool,
    /// The number of the link.
    link: u32,
    /// The link that it takes the place of.
    former: Option<ConnId>,
}

impl Node {
    /// Has a socket opened for a subscriber that may have datagrams; its call is answered when it is.
    pub(in crate::node) fn open_for_subscriber(
        &mut self,
        caller: Caller,
        topic: &str,
        offer: &[Value],
        offers: &[Value],
    ) -> Result<(), OfferFault> {
        let asking = self.check_offer(caller, topic, offer, offers);
        let asking = asking.inspect_err(|fault| {
            let (topic, fault) = (topic.to_owned(), fault.clone());
            self.tell_trouble(PeerFault::DatagramOffer { peer: caller.peer, topic, fault });
        })?;
        match asking.former {
            Some(former) => self.end_datagrams(former, topic),
            None => self.make_room_for(asking.to.ip())?,
        }
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
    ) -> Result<Asking, OfferFault> {
        let [_, Value::Binary(header), Value::String(_), Value::Int(port), Value::Int(longest), ..] = offer
        else {
            return Err(OfferFault::NotAnOffer);
        };
        let header = ConnectionHeader::parse(header).map_err(HandshakeFault::from)?;
        let former = self.former_link(caller, topic, &header);
        let (of, subscriber) = self.check_subscriber(&header, former)?;
        if of != topic {
            return Err(OfferFault::OtherTopic(of));
        }
        let port = u16::try_from(*port).ok().filter(|port| *port != 0);
        let port = port.ok_or(OfferFault::NoPort)?;
        // Not to the host that it names: anybody could have our datagrams sent to somebody who never asked for them. The
        // address that the call came from is its own, since the connection of the call stands.
        let mut to = caller.peer;
        to.set_ip(to.ip().to_canonical());
        to.set_port(port);
        let longest = agreed(*longest, to.ip())?;
        let is_tcpros =
            |offer: &Value| offer.as_array().and_then(|offer| offer.first()?.as_str()) == Some("TCPROS");
        self.last_datagram_link = (self.last_datagram_link + 1) & 0x7fff_ffff;
        Ok(Asking {
            caller: caller.conn,
            to,
            topic: of,
            subscriber,
            origin: origin::told_in(&header),
            longest,
            takes_tcpros: offers.iter().any(is_tcpros),
            link: self.last_datagram_link,
            former,
        })
    }

    /// The link that a subscriber has already. One that asks again, perhaps after its host was away, gets a new link in
    /// its place instead of one more.
    fn former_link(&self, caller: Caller, topic: &str, header: &ConnectionHeader) -> Option<ConnId> {
        let (ip, node) = (caller.peer.ip().to_canonical(), header.get("callerid")?);
        let is_former = |(conn, role): (&ConnId, &Conn)| match role {
            Conn::Subscriber(link) if link.topic == topic && link.node == node => {
                (datagrams_to(role)? == ip).then_some(*conn)
            }
            _ => None,
        };
        self.conns.iter().find_map(is_former)
    }

    /// A link of datagrams costs its subscriber nothing and may outlive it, so the oldest gives way when there are many.
    fn make_room_for(&mut self, ip: IpAddr) -> Result<(), OfferFault> {
        let Limits { datagram_subscribers, datagram_subscribers_per_ip, .. } = self.config.limits;
        self.make_room_among(datagram_subscribers_per_ip, |of| of == ip)?;
        self.make_room_among(datagram_subscribers, |_| true)
    }

    fn make_room_among(&mut self, limit: usize, counts: impl Fn(IpAddr) -> bool) -> Result<(), OfferFault> {
        let links = self.conns.iter().filter(|(_, role)| datagrams_to(role).is_some_and(&counts));
        if links.clone().count() < limit {
            return Ok(());
        }
        let standing = |(conn, role): (&ConnId, &Conn)| match role {
            Conn::Subscriber(link) => {
                Some((*conn, link.topic.clone(), link.node.clone(), link.address.clone()))
            }
            _ => None,
        };
        // Names grow, so the first is the oldest.
        let oldest = links.into_iter().find_map(standing);
        let (conn, topic, subscriber, address) = oldest.ok_or(OfferFault::TooManyAsking)?;
        self.end_datagrams(conn, &topic);
        self.tell_trouble(PeerFault::DatagramLinkDisplaced { address, subscriber, topic, limit });
        Ok(())
    }

    fn end_datagrams(&mut self, conn: ConnId, topic: &str) {
        self.conns.remove(&conn);
        self.linked_count -= 1;
        self.close(conn);
        self.events.push_back(NodeEvent::LinkClosed { topic: topic.to_owned(), conn });
    }

    /// The socket for a subscriber's datagrams is open: the link stands with our answer.
    pub(in crate::node) fn join_datagram_subscriber(&mut self, now: Instant, conn: ConnId, port: u16) {
        let Some(Conn::SubscriberDatagrams(asking)) = self.conns.remove(&conn) else { return };
        self.answer_with_datagrams(now, &asking, port);
        let Asking { to, topic, subscriber, origin, longest, link, .. } = *asking;
        let stats = Arc::new(LinkStats::default());
        let (of, node, uri) = (topic.clone(), subscriber.clone(), String::new());
        let address = to.to_string();
        let row =
            Linked { topic: of, node, uri, address, datagram_port: Some(port), stats: Arc::clone(&stats) };
        self.conns.insert(conn, Conn::Subscriber(row));
        let datagrams = Some(Fragmenter::new(link, longest));
        let (answer, same_host, delivery) = (Vec::new(), None, None);
        let link =
            SubscriberLink { topic, conn, subscriber, answer, datagrams, same_host, delivery, origin, stats };
        self.events.push_back(NodeEvent::SubscriberJoined(link));
    }

    /// The protocol part of the answer; `None` if the topic is published no longer.
    pub(in crate::node) fn datagram_answer(&self, asking: &Asking, port: u16) -> Option<Vec<Value>> {
        let header = self.publisher_header(&asking.topic)?;
        Some(vec![
            "UDPROS".into(),
            self.config.host.as_str().into(),
            i32::from(port).into(),
            asking.link.cast_signed().into(),
            (asking.longest as i32).into(),
            Value::Binary(header.emit_fields()),
        ])
    }
}

/// Where a link to a subscriber, or one that is asked for, sends datagrams.
fn datagrams_to(role: &Conn) -> Option<IpAddr> {
    match role {
        Conn::Subscriber(Linked { datagram_port: Some(_), address, .. }) => {
            Some(address.parse::<SocketAddr>().ok()?.ip())
        }
        Conn::SubscriberDatagrams(asking) => Some(asking.to.ip()),
        _ => None,
    }
}

/// The longest datagrams for a subscriber at this address that takes no longer ones than this.
fn agreed(longest: i32, ip: IpAddr) -> Result<usize, OfferFault> {
    let longest = usize::try_from(longest).unwrap_or(0);
    let packet = if ip.is_ipv6() { DATAGRAM_IPV6 } else { DATAGRAM };
    match longest {
        ..SHORTEST => Err(OfferFault::DatagramsTooShort),
        // One packet of a datagram is lost less often than one of two.
        _ if (packet..=ETHERNET).contains(&longest) => Ok(packet),
        _ => Ok(longest.min(LONGEST)),
    }
}
