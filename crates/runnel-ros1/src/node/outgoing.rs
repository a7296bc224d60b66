//! Links to publishers: request the topic's address from the publisher's node, connect, exchange headers. Failed
//! steps are retried with growing pauses for as long as the publisher is listed.

mod datagrams;
mod link;
mod lists;

use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;

use super::event::{LinkStats, NodeEvent, PublisherLink};
use super::fault::{HandshakeFault, LinkFault, NextStep, PeerFault, TypeMismatch, TypeSum};
use super::timer::Timer;
use super::{Conn, Linked, Node, Purpose};
use super::{dual_node_id, same_host};
use crate::header::{ConnectionHeader, MAX_HEADER};
use crate::net::{ConnId, Endpoint, Transmit};
use crate::peer_text::sanitize;
use crate::rpc::{CallError, CallId, CallOptions, Uri};
use crate::tcpros::FrameReader;
use crate::xmlrpc::Value;
use datagrams::Address;
pub(super) use link::Subscription;
use link::{Link, LinkState};

/// Time for a publisher to complete one step.
const STEP_DEADLINE: Duration = Duration::from_secs(10);

/// Time for a node to answer `requestTopic` while other topics of it are requested.
const LONGEST_REQUEST: Duration = Duration::from_secs(60);

/// Pause from which a link that the publisher has closed counts as lost. The master reports the end of a publisher a
/// moment later, or a second later on a busy machine.
const ENDED_PAUSE: Duration = Duration::from_secs(1);

/// Longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

impl Node {
    fn link_mut(&mut self, topic: &str, uri: &str) -> Option<&mut Link> {
        self.subscriptions.get_mut(topic)?.links.get_mut(uri)
    }

    /// Requests the address of a topic from a publisher, after opening a socket for UDPROS.
    fn ask_address(&mut self, now: Instant, topic: &str, uri: &str) {
        let Some(subscription) = self.subscriptions.get(topic) else { return };
        let udpros = subscription.spec.udpros;
        if udpros && subscription.links.get(uri).is_some_and(|link| !link.tcpros_only) {
            let conn = self.open_for_publisher(topic, uri);
            self.set_link(topic, uri, LinkState::ExpectPort { conn });
        } else {
            self.request_topic_of(now, topic, uri, None, Vec::new());
        }
    }

    /// Calls `requestTopic` with these offers, and TCPROS as the last.
    pub(super) fn request_topic_of(
        &mut self,
        now: Instant,
        topic: &str,
        uri: &str,
        datagrams: Option<ConnId>,
        mut offers: Vec<Value>,
    ) {
        let to = match Uri::parse(uri) {
            Ok(to) => to,
            Err(fault) => {
                return self.report_fault(PeerFault::PublisherUri { topic: topic.to_owned(), fault });
            }
        };
        offers.push(Value::Array(vec!["TCPROS".into()]));
        let params = [self.config.name.as_str().into(), topic.into(), offers.into()];
        let options =
            CallOptions { timeout: STEP_DEADLINE, total_timeout: LONGEST_REQUEST, keep_open: false };
        let call = self.rpc.call(now, &to, "requestTopic", &params, options);
        let (of, at) = (topic.to_owned(), uri.to_owned());
        self.calls.insert(call, Purpose::RequestTopic { topic: of, uri: at });
        self.set_link(topic, uri, LinkState::ExpectAddress { call, datagrams });
    }

    /// The publisher's node has answered `requestTopic`.
    pub(super) fn address_answered(
        &mut self,
        now: Instant,
        topic: &str,
        uri: &str,
        call: CallId,
        answer: Result<Value, CallError>,
    ) {
        let requested = match self.link_mut(topic, uri).map(|link| &link.state) {
            Some(LinkState::ExpectAddress { call: expected, datagrams }) if *expected == call => *datagrams,
            _ => return,
        };
        // A node that could not be reached, or did not answer, has declined nothing.
        let answered = matches!(answer, Ok(_) | Err(CallError::Fault { .. } | CallError::BadResponse { .. }));
        let address = match answer {
            Ok(value) => Address::of(&value),
            Err(error) => Err(LinkFault::Call(Box::new(error))),
        };
        match (address, requested) {
            (Ok(Address::Tcpros(to)), _) => {
                requested.into_iter().for_each(|conn| self.close_datagrams(conn));
                self.connect_link(now, topic, uri, to);
            }
            (Ok(Address::Udpros(offer)), Some(conn)) => self.take_datagrams(now, conn, topic, uri, offer),
            (Ok(Address::Udpros(_)), None) => self.try_later(now, topic, uri, LinkFault::UnaskedDatagrams),
            (Err(fault), Some(conn)) => {
                self.close_datagrams(conn);
                if answered {
                    self.datagrams_declined(now, topic, uri, fault);
                } else {
                    self.try_later(now, topic, uri, fault);
                }
            }
            (Err(fault), None) => self.try_later(now, topic, uri, fault),
        }
    }

    /// Connects to a publisher, or queues the link if too many attempts are in progress there.
    fn connect_link(&mut self, now: Instant, topic: &str, uri: &str, to: Endpoint) {
        if !self.connect_limit.begin(&to, (topic.to_owned(), uri.to_owned())) {
            return self.set_link(topic, uri, LinkState::ExpectSlot { to });
        }
        let (conn, until) = (self.rpc.new_conn_id(), now + STEP_DEADLINE);
        self.transmits.push_back(Transmit::Connect { conn, to: to.clone() });
        self.conns.insert(conn, Conn::Publisher { topic: topic.to_owned(), uri: uri.to_owned(), to });
        self.set_link(topic, uri, LinkState::ExpectConnection { conn, until });
    }

    /// Removes a connection that has ended or changed its role.
    pub(super) fn remove_conn(&mut self, conn: ConnId) -> Option<Conn> {
        let removed = self.conns.remove(&conn);
        if let Some(Conn::Publisher { to, .. }) = &removed {
            self.connect_limit.end(to);
        }
        removed
    }

    /// Connects waiting links for which a slot is free.
    pub(super) fn start_waiting_connections(&mut self, now: Instant) {
        while let Some((to, (topic, uri))) = self.connect_limit.next() {
            // The link may have ended or started again meanwhile.
            let state = self.link_mut(&topic, &uri).map(|link| &link.state);
            if matches!(state, Some(LinkState::ExpectSlot { to: waiting }) if *waiting == to) {
                self.connect_link(now, &topic, &uri, to);
            }
        }
    }

    fn set_link(&mut self, topic: &str, uri: &str, state: LinkState) {
        self.clear_link_timer(topic, uri);
        if let Some(until) = state.until() {
            self.timers.schedule(Timer::Link { topic: topic.to_owned(), uri: uri.to_owned() }, until);
        }
        if let Some(link) = self.link_mut(topic, uri) {
            let former = std::mem::replace(&mut link.state, state);
            self.cancel_call_of(&former);
        }
    }

    /// Cancels the call of a state that has ended.
    fn cancel_call_of(&mut self, state: &LinkState) {
        if let LinkState::ExpectAddress { call, .. } = state {
            self.rpc.cancel(*call);
            self.calls.remove(call);
        }
    }

    /// Removes the deadline of the link's current state.
    fn clear_link_timer(&mut self, topic: &str, uri: &str) {
        self.timers.cancel(&Timer::Link { topic: topic.to_owned(), uri: uri.to_owned() });
    }

    /// The deadline of a link has passed: a step has timed out, or the pause before the next attempt is over.
    pub(super) fn link_due(&mut self, now: Instant, topic: &str, uri: &str) {
        let Some(link) = self.link_mut(topic, uri) else { return };
        match link.state {
            LinkState::Waiting { until } if until <= now => self.ask_address(now, topic, uri),
            LinkState::ExpectConnection { conn, until } | LinkState::ExpectHeader { conn, until, .. }
                if until <= now =>
            {
                self.remove_conn(conn);
                self.close(conn);
                self.try_later(now, topic, uri, LinkFault::TimedOut { within: STEP_DEADLINE });
            }
            LinkState::Linked { .. } => self.silence_due(now, topic, uri),
            _ => {}
        }
    }

    /// Retries a link after a pause. A link to a publisher that the master does not list, which died with or after a
    /// former master, is given up once the pauses are long.
    fn try_later(&mut self, now: Instant, topic: &str, uri: &str, fault: LinkFault) {
        let Some(subscription) = self.subscriptions.get_mut(topic) else { return };
        let Some(link) = subscription.links.get_mut(uri) else { return };
        if link.pause == LONGEST_PAUSE && !subscription.listed.contains(uri) {
            if let Some(link) = subscription.links.remove(uri) {
                self.cancel_call_of(&link.state);
            }
            return self.report_link_fault(topic, uri, fault, NextStep::GiveUp);
        }
        let news = link.report_at.take_if(|at| link.pause >= *at).is_some();
        self.pause_link(now, topic, uri);
        if news {
            self.report_link_fault(topic, uri, fault, NextStep::Retry);
        }
    }

    fn report_link_fault(&mut self, topic: &str, uri: &str, fault: LinkFault, next: NextStep) {
        let (topic, uri) = (topic.to_owned(), uri.to_owned());
        self.report_fault(PeerFault::Publisher { topic, uri, fault, next });
    }

    fn pause_link(&mut self, now: Instant, topic: &str, uri: &str) {
        let Some(link) = self.link_mut(topic, uri) else { return };
        let until = now + link.pause;
        link.pause = (link.pause * 2).min(LONGEST_PAUSE);
        self.set_link(topic, uri, LinkState::Waiting { until });
    }

    /// The connection to a publisher is open: send the header.
    pub(super) fn link_connected(&mut self, now: Instant, conn: ConnId, topic: &str, uri: &str) {
        let Some(mut header) = self.subscriber_header(topic) else { return };
        let token = self.announce_process(&mut header);
        if token.is_some() || self.config.dual_node_id.is_some() {
            same_host::announce_statements(&mut header);
        }
        self.send(conn, header.emit());
        let until = now + STEP_DEADLINE;
        let reader = FrameReader::new(MAX_HEADER);
        self.set_link(topic, uri, LinkState::ExpectHeader { conn, until, reader, token });
    }

    /// The header that describes a subscription of this node.
    pub(super) fn subscriber_header(&self, topic: &str) -> Option<ConnectionHeader> {
        let spec = &self.subscriptions.get(topic)?.spec;
        let mut header = ConnectionHeader::new([
            ("callerid", self.config.name.as_str()),
            ("md5sum", &spec.md5),
            ("tcp_nodelay", "1"),
            ("topic", topic),
            ("type", &spec.type_name),
        ]);
        dual_node_id::announce(&mut header, self.config.dual_node_id);
        Some(header)
    }

    /// Bytes of the publisher's header have arrived.
    pub(super) fn link_data(&mut self, conn: ConnId, topic: &str, uri: &str, mut bytes: &[u8]) {
        let Some(Link { state: LinkState::ExpectHeader { reader, token, .. }, .. }) =
            self.link_mut(topic, uri)
        else {
            return;
        };
        let token = *token;
        let checked = match reader.take(&mut bytes, Vec::new) {
            Ok(None) => return,
            Ok(Some(header)) => self.check_publisher(topic, &header),
            Err(error) => Err(HandshakeFault::Length(error)),
        };
        match checked {
            Ok(header) => {
                let address = match self.conns.get(&conn) {
                    Some(Conn::Publisher { to, .. }) => to.to_string(),
                    _ => String::new(),
                };
                let accepted = AcceptedHeader { conn, address, datagrams: None, token, rest: bytes };
                self.join_publisher(topic, uri, &header, accepted);
            }
            Err(fault) => {
                self.remove_conn(conn);
                self.close(conn);
                self.set_link(topic, uri, LinkState::Refused);
                self.report_link_fault(topic, uri, fault.into(), NextStep::Nothing);
            }
        }
    }

    fn check_publisher(&self, topic: &str, bytes: &[u8]) -> Result<ConnectionHeader, HandshakeFault> {
        let header = ConnectionHeader::parse(bytes)?;
        if let Some(why) = header.get("error") {
            return Err(HandshakeFault::Rejected(sanitize(why)));
        }
        let (md5, type_name) = (header.require("md5sum")?, header.require("type")?);
        header.bounded("callerid")?;
        let spec = self.subscriptions.get(topic).map(|subscription| &subscription.spec);
        if let Some(spec) = spec.filter(|spec| !spec.agrees_with(md5)) {
            let (requested, offered) =
                (TypeSum::new(&spec.type_name, &spec.md5), TypeSum::new(type_name, md5));
            return Err(HandshakeFault::OfferedType(Box::new(TypeMismatch { requested, offered })));
        }
        Ok(header)
    }

    fn join_publisher(
        &mut self,
        topic: &str,
        uri: &str,
        header: &ConnectionHeader,
        accepted: AcceptedHeader<'_>,
    ) {
        let AcceptedHeader { conn, address, datagrams, token, rest } = accepted;
        self.clear_link_timer(topic, uri);
        if let Some(link) = self.link_mut(topic, uri) {
            *link = Link { state: LinkState::Linked { conn }, ..Link::new() };
        }
        let text = |key| header.get(key).unwrap_or_default().to_owned();
        let stats = Arc::new(LinkStats::default());
        let node = text("callerid");
        let datagram_port = datagrams.map(|_| self.datagram_port(conn));
        let (of, uri) = (topic.to_owned(), uri.to_owned());
        let row =
            Linked { topic: of, node: node.clone(), uri, address, datagram_port, stats: Arc::clone(&stats) };
        self.remove_conn(conn);
        self.conns.insert(conn, Conn::LinkedPublisher(row));
        self.events.push_back(NodeEvent::PublisherJoined(PublisherLink {
            topic: topic.to_owned(),
            conn,
            publisher: node,
            type_name: text("type"),
            md5: text("md5sum"),
            definition: text("message_definition"),
            latching: header.get("latching") == Some("1"),
            rest: rest.to_vec(),
            datagrams,
            same_host: same_host::answered_peer(header, token),
            delivery: (datagrams.is_none() && same_host::has_statements(header))
                .then(|| same_host::delivery_id(token)),
            dual_node_id: dual_node_id::announced_in(header),
            stats,
        }));
    }

    /// The connection to a publisher has ended before the link was established.
    pub(super) fn link_closed(&mut self, now: Instant, topic: &str, uri: &str, why: Option<&str>) {
        self.try_later(now, topic, uri, LinkFault::Closed(why.map(str::to_owned)));
    }

    /// An established link has ended. A publisher that shuts down closes its links a moment before the master reports
    /// it, so this is not yet a fault.
    pub(super) fn link_ended(&mut self, now: Instant, topic: &str, uri: &str, why: Option<&str>) {
        match why {
            Some(why) => self.try_later(now, topic, uri, LinkFault::Closed(Some(why.to_owned()))),
            None => {
                if let Some(link) = self.link_mut(topic, uri) {
                    link.report_at = Some(ENDED_PAUSE);
                }
                self.pause_link(now, topic, uri);
            }
        }
    }
}

/// State of a link to a publisher when its header is accepted.
struct AcceptedHeader<'a> {
    conn: ConnId,
    /// The address of the peer.
    address: String,
    /// The connection id of the datagrams.
    datagrams: Option<u32>,
    /// The token announced to the peer for shared memory.
    token: Option<u128>,
    /// Bytes that arrived after the header.
    rest: &'a [u8],
}
