//! UDPROS subscribers: their offer in `requestTopic`, the answer, and the resulting link.
//!
//! ```text
//! offer    ['UDPROS', header, host, port, longest datagram]
//! answer   ['UDPROS', host, port, connection id, longest datagram, header]
//! ```
//! The headers are connection headers without their total length. No other header precedes the messages.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use runnel_core::time::Instant;

use crate::header::ConnectionHeader;
use crate::net::{ConnId, Transmit};
use crate::node::dual_node_id;
use crate::node::event::{LinkStats, NodeEvent, SubscriberLink};
use crate::node::fault::{HandshakeFault, OfferFault, PeerFault};
use crate::node::{Caller, Conn, Limits, Linked, Node};
use crate::udpros::{DATAGRAM_LEN_IPV4, DATAGRAM_LEN_IPV6, Fragmenter, MAX_DATAGRAM_LEN, MIN_DATAGRAM_LEN};
use crate::xmlrpc::Value;

/// The datagram size that subscribers offer by default. It is the size of an Ethernet packet, without regard to the
/// headers of UDP and IP.
const ETHERNET: usize = 1500;

/// A UDPROS subscriber whose offer is accepted.
#[derive(Debug)]
pub(in crate::node) struct DatagramRequest {
    /// The call to answer.
    pub(in crate::node) caller: ConnId,
    /// Destination of its datagrams.
    pub(in crate::node) to: SocketAddr,
    pub(in crate::node) topic: String,
    pub(in crate::node) subscriber: String,
    /// Its id if it is in ROS 2, too.
    dual_node_id: Option<u64>,
    /// Longest datagram, in bytes.
    longest: usize,
    /// It has offered TCPROS, too.
    pub(in crate::node) takes_tcpros: bool,
    /// The connection id of the link.
    link: u32,
    /// The link that this one replaces.
    former: Option<ConnId>,
}

impl Node {
    /// Requests a socket for an accepted subscriber; its call is answered once the socket is open.
    pub(in crate::node) fn open_for_subscriber(
        &mut self,
        caller: Caller,
        topic: &str,
        offer: &[Value],
        offers: &[Value],
    ) -> Result<(), OfferFault> {
        let request = self.check_offer(caller, topic, offer, offers);
        let request = request.inspect_err(|fault| {
            let (topic, fault) = (topic.to_owned(), fault.clone());
            self.report_fault(PeerFault::DatagramOffer { peer: caller.peer, topic, fault });
        })?;
        match request.former {
            Some(former) => self.end_datagrams(former, topic),
            None => self.evict_for(request.to.ip())?,
        }
        let conn = self.rpc.new_conn_id();
        self.transmits.push_back(Transmit::OpenDatagram { conn, to: Some(request.to) });
        self.conns.insert(conn, Conn::SubscriberDatagrams(Box::new(request)));
        self.linked_count += 1;
        Ok(())
    }

    fn check_offer(
        &mut self,
        caller: Caller,
        topic: &str,
        offer: &[Value],
        offers: &[Value],
    ) -> Result<DatagramRequest, OfferFault> {
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
        // Not to the host in the offer: a peer could direct datagrams at a third party. The caller's address is
        // proved by its TCP connection.
        let mut to = caller.peer;
        to.set_ip(to.ip().to_canonical());
        to.set_port(port);
        let longest = agreed(*longest, to.ip())?;
        let is_tcpros =
            |offer: &Value| offer.as_array().and_then(|offer| offer.first()?.as_str()) == Some("TCPROS");
        self.last_datagram_link = (self.last_datagram_link + 1) & 0x7fff_ffff;
        Ok(DatagramRequest {
            caller: caller.conn,
            to,
            topic: of,
            subscriber,
            dual_node_id: dual_node_id::announced_in(&header),
            longest,
            takes_tcpros: offers.iter().any(is_tcpros),
            link: self.last_datagram_link,
            former,
        })
    }

    /// The subscriber's existing link. A subscriber that asks again, perhaps after an outage of its host, gets a new
    /// link in its place.
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

    /// Evicts the oldest UDPROS links at the limits. Such a link costs its subscriber nothing and may outlive it.
    fn evict_for(&mut self, ip: IpAddr) -> Result<(), OfferFault> {
        let Limits { datagram_subscribers, datagram_subscribers_per_ip, .. } = self.config.limits;
        self.evict_oldest(datagram_subscribers_per_ip, |of| of == ip)?;
        self.evict_oldest(datagram_subscribers, |_| true)
    }

    fn evict_oldest(&mut self, limit: usize, counts: impl Fn(IpAddr) -> bool) -> Result<(), OfferFault> {
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
        // Ids grow, so the first is the oldest.
        let oldest = links.into_iter().find_map(standing);
        let (conn, topic, subscriber, address) = oldest.ok_or(OfferFault::TooManyRequests)?;
        self.end_datagrams(conn, &topic);
        self.report_fault(PeerFault::DatagramLinkDisplaced { address, subscriber, topic, limit });
        Ok(())
    }

    fn end_datagrams(&mut self, conn: ConnId, topic: &str) {
        self.conns.remove(&conn);
        self.linked_count -= 1;
        self.close(conn);
        self.events.push_back(NodeEvent::LinkClosed { topic: topic.to_owned(), conn });
    }

    /// The socket for a subscriber's datagrams is open: the link is established by the answer.
    pub(in crate::node) fn join_datagram_subscriber(&mut self, now: Instant, conn: ConnId, port: u16) {
        let Some(Conn::SubscriberDatagrams(request)) = self.conns.remove(&conn) else { return };
        self.answer_with_datagrams(now, &request, port);
        let DatagramRequest { to, topic, subscriber, dual_node_id, longest, link, .. } = *request;
        let stats = Arc::new(LinkStats::default());
        let (of, node, uri) = (topic.clone(), subscriber.clone(), String::new());
        let address = to.to_string();
        let row =
            Linked { topic: of, node, uri, address, datagram_port: Some(port), stats: Arc::clone(&stats) };
        self.conns.insert(conn, Conn::Subscriber(row));
        let datagrams = Some(Fragmenter::new(link, longest));
        let (answer, same_host, delivery) = (Vec::new(), None, None);
        let link = SubscriberLink {
            topic,
            conn,
            subscriber,
            answer,
            datagrams,
            same_host,
            delivery,
            dual_node_id,
            stats,
        };
        self.events.push_back(NodeEvent::SubscriberJoined(link));
    }

    /// The protocol part of the answer; `None` if the topic is no longer published.
    pub(in crate::node) fn datagram_answer(
        &self,
        request: &DatagramRequest,
        port: u16,
    ) -> Option<Vec<Value>> {
        let header = self.publisher_header(&request.topic)?;
        Some(vec![
            "UDPROS".into(),
            self.config.host.as_str().into(),
            i32::from(port).into(),
            request.link.cast_signed().into(),
            (request.longest as i32).into(),
            Value::Binary(header.emit_fields()),
        ])
    }
}

/// The destination of the datagrams of an established or requested link.
fn datagrams_to(role: &Conn) -> Option<IpAddr> {
    match role {
        Conn::Subscriber(Linked { datagram_port: Some(_), address, .. }) => {
            Some(address.parse::<SocketAddr>().ok()?.ip())
        }
        Conn::SubscriberDatagrams(request) => Some(request.to.ip()),
        _ => None,
    }
}

/// The datagram size for a subscriber at this address with this limit.
fn agreed(longest: i32, ip: IpAddr) -> Result<usize, OfferFault> {
    let longest = usize::try_from(longest).unwrap_or(0);
    let packet = if ip.is_ipv6() { DATAGRAM_LEN_IPV6 } else { DATAGRAM_LEN_IPV4 };
    match longest {
        ..MIN_DATAGRAM_LEN => Err(OfferFault::DatagramsTooShort),
        // A datagram of one packet is lost less often than one of two.
        _ if (packet..=ETHERNET).contains(&longest) => Ok(packet),
        _ => Ok(longest.min(MAX_DATAGRAM_LEN)),
    }
}
