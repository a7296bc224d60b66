//! Incoming connections: handshake with a subscriber, or with a client (see `services`).

pub(super) mod datagrams;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::sorted::SortedSet;
use runnel_core::time::Instant;

use super::dual_node_id;
use super::event::{LinkStats, NodeEvent, SubscriberLink};
use super::fault::{HandshakeFault, PeerFault, RequestedType, TypeMismatch, TypeSum};
use super::same_host::{announce_statements, announced_delivery_id, requested_peer};
use super::timer::Timer;
use super::{Conn, Linked, Node};
use crate::header::{ConnectionHeader, MAX_HEADER};
use crate::net::ConnId;
use crate::tcpros::FrameReader;

/// Time for a peer to send its header.
const HEADER_DEADLINE: Duration = Duration::from_secs(10);

/// A connection whose header is incomplete.
#[derive(Debug)]
pub(super) struct ExpectHeader {
    peer: SocketAddr,
    reader: FrameReader,
}

/// Incoming connections without a header. Ids grow, so the first is the oldest.
pub(super) type HalfOpen = SortedSet<ConnId>;

impl Node {
    pub(super) fn accept_tcpros(&mut self, now: Instant, peer: SocketAddr) -> Option<ConnId> {
        if self.linked_count >= self.config.limits.subscribers {
            self.report_fault(PeerFault::Incoming { peer, fault: self.too_many_links() });
            return None;
        }
        if self.half_open.len() >= self.config.limits.half_open {
            self.drop_oldest_half_open();
        }
        let conn = self.rpc.new_conn_id();
        self.half_open.insert(conn);
        self.timers.schedule(Timer::IncomingHeader(conn), now + HEADER_DEADLINE);
        self.conns.insert(conn, Conn::Incoming(ExpectHeader { peer, reader: FrameReader::new(MAX_HEADER) }));
        Some(conn)
    }

    pub(super) fn too_many_links(&self) -> HandshakeFault {
        HandshakeFault::TooManyLinks { links: self.linked_count, node: self.config.name.clone() }
    }

    fn drop_oldest_half_open(&mut self) {
        if let Some(oldest) = self.half_open.first().copied() {
            self.refuse_incoming(oldest, HandshakeFault::Displaced);
        }
    }

    /// The time for a header has passed.
    pub(super) fn incoming_header_due(&mut self, conn: ConnId) {
        if matches!(self.conns.get(&conn), Some(Conn::Incoming(_))) {
            self.refuse_incoming(conn, HandshakeFault::HeaderTimedOut { within: HEADER_DEADLINE });
        }
    }

    fn refuse_incoming(&mut self, conn: ConnId, fault: HandshakeFault) {
        self.remove_half_open(conn);
        if let Some(Conn::Incoming(waiting)) = self.conns.remove(&conn) {
            self.close(conn);
            self.report_fault(PeerFault::Incoming { peer: waiting.peer, fault });
        }
    }

    /// Removes a connection from those that expect a header.
    pub(super) fn remove_half_open(&mut self, conn: ConnId) {
        self.half_open.remove(&conn);
        self.timers.cancel(&Timer::IncomingHeader(conn));
    }

    /// Bytes have arrived on a connection that expects a header.
    pub(super) fn incoming_data(&mut self, conn: ConnId, mut bytes: &[u8]) {
        let Some(Conn::Incoming(waiting)) = self.conns.get_mut(&conn) else { return };
        match waiting.reader.take(&mut bytes, Vec::new) {
            Ok(None) => {}
            Ok(Some(header)) => self.answer_header(conn, &header, bytes),
            Err(error) => self.refuse_incoming(conn, HandshakeFault::Length(error)),
        }
    }

    fn answer_header(&mut self, conn: ConnId, header: &[u8], rest: &[u8]) {
        if let Err(fault) = self.join_incoming(conn, header, rest) {
            self.send(conn, ConnectionHeader::error(&fault.to_string()).emit());
            self.refuse_incoming(conn, fault);
        }
    }

    fn join_incoming(&mut self, conn: ConnId, header: &[u8], rest: &[u8]) -> Result<(), HandshakeFault> {
        let header = ConnectionHeader::parse(header)?;
        if header.get("service").is_some() {
            let client = self.check_service_client(&header)?;
            self.join_service_client(conn, client, rest);
        } else {
            let (topic, subscriber) = self.check_subscriber(&header, None)?;
            self.join_subscriber(conn, topic, subscriber, &header);
        }
        Ok(())
    }

    /// Topic and name of a subscriber that may join, possibly in place of one of its links, or the reason of the
    /// refusal.
    fn check_subscriber(
        &self,
        header: &ConnectionHeader,
        former: Option<ConnId>,
    ) -> Result<(String, String), HandshakeFault> {
        let (topic, md5) = (header.require("topic")?, header.require("md5sum")?);
        let subscriber = header.require("callerid")?;
        let node = &self.config.name;
        let Some(spec) = self.publications.get(topic) else {
            return Err(HandshakeFault::NotPublished { topic: topic.to_owned(), node: node.clone() });
        };
        if self.linked_count >= self.config.limits.subscribers && former.is_none() {
            return Err(self.too_many_links());
        }
        if !spec.agrees_with(md5) {
            let requested = TypeSum::new(header.get("type").unwrap_or("*"), md5);
            let types = TypeMismatch { requested, offered: TypeSum::new(&spec.type_name, &spec.md5) };
            let (name, peer, node) = (topic.to_owned(), subscriber.to_owned(), node.clone());
            return Err(HandshakeFault::SubscriberType(Box::new(RequestedType { name, peer, node, types })));
        }
        Ok((topic.to_owned(), subscriber.to_owned()))
    }

    /// Counts a connection among the established links, after its header was accepted. Returns the peer's address.
    pub(super) fn count_as_linked(&mut self, conn: ConnId) -> String {
        self.remove_half_open(conn);
        self.linked_count += 1;
        match self.conns.get(&conn) {
            Some(Conn::Incoming(waiting)) => waiting.peer.to_string(),
            _ => String::new(),
        }
    }

    fn join_subscriber(
        &mut self,
        conn: ConnId,
        topic: String,
        subscriber: String,
        requested: &ConnectionHeader,
    ) {
        let Some(mut reply) = self.publisher_header(&topic) else { return };
        let same_host = self.answer_process(requested_peer(requested), &mut reply);
        let dual_node_id = dual_node_id::announced_in(requested);
        let is_used = same_host.is_some() || self.config.dual_node_id.is_some() && dual_node_id.is_some();
        let delivery = announced_delivery_id(requested).filter(|_| is_used);
        if delivery.is_some() {
            announce_statements(&mut reply);
        }
        let address = self.count_as_linked(conn);
        let stats = Arc::new(LinkStats::default());
        let (of, node, uri) = (topic.clone(), subscriber.clone(), String::new());
        let row = Linked { topic: of, node, uri, address, datagram_port: None, stats: Arc::clone(&stats) };
        self.conns.insert(conn, Conn::Subscriber(row));
        let answer = reply.emit();
        let link = SubscriberLink {
            topic,
            conn,
            subscriber,
            answer,
            datagrams: None,
            same_host,
            delivery,
            dual_node_id,
            stats,
        };
        self.events.push_back(NodeEvent::SubscriberJoined(link));
    }

    /// The header that describes a topic of this node.
    pub(super) fn publisher_header(&self, topic: &str) -> Option<ConnectionHeader> {
        let spec = self.publications.get(topic)?;
        let mut header = ConnectionHeader::new([
            ("callerid", self.config.name.as_str()),
            ("latching", if spec.latching { "1" } else { "0" }),
            ("md5sum", &spec.md5),
            ("message_definition", &spec.definition),
            ("topic", topic),
            ("type", &spec.type_name),
        ]);
        dual_node_id::announce(&mut header, self.config.dual_node_id);
        Some(header)
    }
}
