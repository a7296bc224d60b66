//! One ROS 1 node without I/O: registrations with the master, slave API, and handshakes of its links.
//!
//! A link belongs to the node until both headers are accepted. Then an event hands its connection to the driver,
//! which transfers the messages and calls [`Node::handle_closed`] when the connection ends.
//!
//! ```text
//!  advertise, subscribe ─► registrar ─► rpc ─► master
//!  publisherUpdate ─► outgoing ─► requestTopic, connect, header ─► PublisherJoined
//!  accepted connection ─► incoming ─► header, answer ─────────────► SubscriberJoined
//!  requestTopic ─► incoming ─► open a socket, answer ────────────► SubscriberJoined, over UDPROS
//! ```

mod config;
mod conn;
mod connect_limit;
mod dual_node_id;
mod event;
mod fault;
mod incoming;
mod master_calls;
mod name;
mod outgoing;
mod params;
mod registrar;
mod same_host;
mod service_links;
mod services;
mod slave_api;
mod timer;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_core::time::Instant;
use runnel_core::timers::Timers;

pub use config::{Limits, NodeConfig, ServiceSpec, TopicError, TopicSpec};
pub use event::{
    LinkStats, NodeEvent, PublisherLink, Role, ServiceClientLink, ServiceServerLink, SubscriberLink,
};
pub use fault::{
    HandshakeFault, LinkFault, MasterFault, NextStep, OfferFault, PeerFault, RequestedType, TypeMismatch,
    TypeSum,
};
pub use service_links::{ServiceClientSpec, ServiceFailure, ServiceLinkId};

use crate::net::{ConnId, Transmit};
use crate::rpc::{CallError, CallId, RpcConfig, RpcEvent, RpcPeer, Uri, UriError};
use crate::xmlrpc::Value;
use conn::{Caller, Conn, Linked, Purpose};
use connect_limit::ConnectLimiter;
use incoming::HalfOpen;
use name::FormerName;
use outgoing::Subscription;
use params::Parameters;
use registrar::Registrar;
use service_links::ServiceLink;
use timer::Timer;

/// The listening socket on which a connection arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// The slave API.
    Rpc,
    /// Topics and services.
    Tcpros,
}

/// One ROS 1 node.
#[derive(Debug)]
pub struct Node {
    config: NodeConfig,
    rpc: RpcPeer,
    registrar: Registrar,
    publications: SortedMap<String, TopicSpec>,
    subscriptions: SortedMap<String, Subscription>,
    services: SortedMap<String, ServiceSpec>,
    parameters: Parameters,
    service_links: SortedMap<ServiceLinkId, ServiceLink>,
    last_service_link: u64,
    /// URIs of the nodes of this process, this one included.
    local_nodes: SortedSet<String>,
    conns: BTreeMap<ConnId, Conn>,
    connect_limit: ConnectLimiter,
    half_open: HalfOpen,
    /// Incoming connections whose header was accepted, and UDPROS subscribers.
    linked_count: usize,
    /// The connection id of the last UDPROS link to a subscriber.
    last_datagram_link: u32,
    /// The number of the last token.
    last_token: u64,
    /// Registrations under the name that the node had while it was on standby.
    former: Option<FormerName>,
    calls: SortedMap<CallId, Purpose>,
    timers: Timers<Timer>,
    transmits: VecDeque<Transmit>,
    events: VecDeque<NodeEvent>,
}

impl Node {
    /// A node that has not registered with the master yet.
    pub fn new(config: NodeConfig) -> Self {
        Self {
            local_nodes: SortedSet::from([canonical(&config.uri()).unwrap_or_default()]),
            registrar: Registrar::new(config.standby_name.is_some()),
            config,
            rpc: RpcPeer::new(RpcConfig::default()),
            publications: SortedMap::new(),
            subscriptions: SortedMap::new(),
            services: SortedMap::new(),
            parameters: Parameters::default(),
            service_links: SortedMap::new(),
            last_service_link: 0,
            conns: BTreeMap::new(),
            connect_limit: ConnectLimiter::default(),
            half_open: HalfOpen::default(),
            linked_count: 0,
            last_datagram_link: 0,
            last_token: 0,
            former: None,
            calls: SortedMap::new(),
            timers: Timers::default(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// The URI of the slave API.
    pub fn uri(&self) -> String {
        self.config.uri()
    }

    /// Connections that are open or being opened, including those handed to the driver.
    pub fn connection_count(&self) -> usize {
        self.conns.len() + self.rpc.connection_count()
    }

    /// Whether [`Node::connection_count`] counts this connection.
    pub fn owns(&self, conn: ConnId) -> bool {
        self.conns.contains_key(&conn) || self.rpc.owns(conn)
    }

    /// Sets the other nodes of this process, with which messages need no connection.
    pub fn set_local_nodes(&mut self, uris: impl IntoIterator<Item = String>) {
        let same = |uri: String| canonical(&uri).unwrap_or(uri);
        self.local_nodes = uris.into_iter().chain([self.config.uri()]).map(same).collect();
    }

    /// Publishes a topic. A second call for the same topic checks the type, and latches if either call requested it.
    ///
    /// # Errors
    /// If the node publishes the topic with another type.
    pub fn advertise(&mut self, now: Instant, spec: TopicSpec) -> Result<(), TopicError> {
        if let Some(has) = self.publications.get_mut(&spec.topic) {
            same_type(has, &spec)?;
            has.latching |= spec.latching;
            return Ok(());
        }
        self.registrar.want(Role::Publisher, &spec.topic);
        self.publications.insert(spec.topic.clone(), spec);
        self.ask_master(now);
        Ok(())
    }

    /// Subscribes to a topic. A second call for the same topic checks the type, and leaves UDPROS unless both calls
    /// requested it.
    ///
    /// # Errors
    /// If the node subscribes to the topic with another type.
    pub fn subscribe(&mut self, now: Instant, spec: TopicSpec) -> Result<(), TopicError> {
        if let Some(has) = self.subscriptions.get(&spec.topic) {
            same_type(&has.spec, &spec)?;
            if !spec.udpros {
                self.switch_to_tcpros(now, &spec.topic);
            }
            return Ok(());
        }
        self.registrar.want(Role::Subscriber, &spec.topic);
        self.subscriptions.insert(spec.topic.clone(), Subscription::new(spec));
        self.ask_master(now);
        Ok(())
    }

    /// Stops publishing a topic and closes its links.
    pub fn unadvertise(&mut self, now: Instant, topic: &str) {
        if self.publications.remove(topic).is_none() {
            return;
        }
        for conn in self.subscribers_of(topic) {
            if let Some(Conn::SubscriberDatagrams(request)) = self.conns.remove(&conn) {
                self.answer_without_datagrams(now, *request, "the topic is no longer published");
            }
            self.linked_count -= 1;
            self.close(conn);
            self.events.push_back(NodeEvent::LinkClosed { topic: topic.to_owned(), conn });
        }
        self.registrar.forget(Role::Publisher, topic);
        self.ask_master(now);
    }

    /// Stops subscribing to a topic and closes its links.
    pub fn unsubscribe(&mut self, now: Instant, topic: &str) {
        self.end_links(topic);
        if self.subscriptions.remove(topic).is_none() {
            return;
        }
        self.registrar.forget(Role::Subscriber, topic);
        self.start_waiting_connections(now);
        self.ask_master(now);
    }

    /// Unregisters everything. [`NodeEvent::Closed`] follows once, within a second.
    pub fn begin_close(&mut self, now: Instant) {
        let Some(mut known) = self.registrar.end() else { return };
        known.retain(|(role, name)| self.ends_with_node(*role, name));
        if known.is_empty() {
            self.events.push_back(NodeEvent::Closed);
        } else {
            self.unregister_all(now, &known);
        }
    }

    /// A connection has arrived. `None`: too many connections, so this one must be closed.
    pub fn handle_accepted(&mut self, now: Instant, port: Port, peer: SocketAddr) -> Option<ConnId> {
        match port {
            Port::Rpc => {
                let conn = self.rpc.handle_accepted(now, peer);
                self.serve_rpc(now);
                conn
            }
            Port::Tcpros => self.accept_tcpros(now, peer),
        }
    }

    /// A requested connection is open.
    pub fn handle_connected(&mut self, now: Instant, conn: ConnId) {
        match self.conns.get(&conn) {
            Some(Conn::Publisher { topic, uri, .. }) => {
                let (topic, uri) = (topic.clone(), uri.clone());
                self.link_connected(now, conn, &topic, &uri);
            }
            Some(Conn::ServiceLink(link)) => self.service_connected(*link),
            _ => self.rpc.handle_connected(now, conn),
        }
    }

    /// A requested datagram socket is open at this port.
    pub fn handle_bound(&mut self, now: Instant, conn: ConnId, port: u16) {
        match self.conns.get(&conn) {
            Some(Conn::PublisherDatagrams { topic, uri, .. }) => {
                let (topic, uri) = (topic.clone(), uri.clone());
                self.ask_for_datagrams(now, conn, &topic, &uri, port);
            }
            Some(Conn::SubscriberDatagrams(_)) => self.join_datagram_subscriber(now, conn, port),
            _ => {}
        }
    }

    /// Bytes have arrived on a connection that is not handed to the driver.
    pub fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        match self.conns.get(&conn) {
            Some(Conn::Incoming(_)) => self.incoming_data(conn, bytes),
            Some(Conn::Publisher { topic, uri, .. }) => {
                let (topic, uri) = (topic.clone(), uri.clone());
                self.link_data(conn, &topic, &uri, bytes);
                self.start_waiting_connections(now);
            }
            Some(Conn::ServiceLink(link)) => self.service_data(now, *link, bytes),
            Some(_) => {}
            None => {
                self.rpc.handle_data(now, conn, bytes);
                self.serve_rpc(now);
            }
        }
    }

    /// A connection has ended or could not be opened.
    pub fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
        match self.remove_conn(conn) {
            Some(Conn::Incoming(_)) => self.remove_half_open(conn),
            Some(Conn::Publisher { topic, uri, .. }) => {
                self.link_closed(now, &topic, &uri, why);
                self.start_waiting_connections(now);
            }
            Some(Conn::PublisherDatagrams { topic, uri, .. }) => {
                self.no_datagrams(now, &topic, &uri, why.unwrap_or("no datagram socket"));
            }
            Some(Conn::SubscriberDatagrams(request)) => {
                self.linked_count -= 1;
                self.answer_without_datagrams(now, *request, why.unwrap_or("no datagram socket"));
            }
            Some(Conn::LinkedPublisher(link)) => self.link_ended(now, &link.topic, &link.uri, why),
            Some(Conn::Subscriber(_) | Conn::ServiceClient) => self.linked_count -= 1,
            Some(Conn::ServiceLink(link)) => self.service_closed(now, link, why),
            None => {
                self.rpc.handle_closed(now, conn, why);
                self.serve_rpc(now);
            }
        }
    }

    /// Does the work that is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, timer)) = self.timers.pop_due(now) {
            match timer {
                Timer::Lists => self.lists_count_again(now),
                Timer::IncomingHeader(conn) => self.incoming_header_due(conn),
                Timer::Link { topic, uri } => self.link_due(now, &topic, &uri),
                Timer::ServiceLink(link) => self.service_due(now, link),
            }
        }
        self.rpc.handle_timeout(now);
        self.serve_rpc(now);
        self.start_waiting_connections(now);
        self.ask_master(now);
    }

    /// When [`Node::handle_timeout`] is to be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.timers.next_deadline(), self.rpc.poll_timeout(), self.registrar.poll_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    /// The next socket operation.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front().or_else(|| self.rpc.poll_transmit())
    }

    /// The next event. Call it after [`Node::poll_transmit`] has returned `None`.
    pub fn poll_event(&mut self) -> Option<NodeEvent> {
        self.events.pop_front()
    }

    fn serve_rpc(&mut self, now: Instant) {
        while let Some(event) = self.rpc.poll_event() {
            match event {
                RpcEvent::Called { conn, peer, method, params, .. } => {
                    if let Some(answer) = self.answer_call(now, Caller { conn, peer }, &method, &params) {
                        self.rpc.reply(now, conn, answer);
                    }
                }
                RpcEvent::Answered { call, result } => self.answered(now, call, result),
                RpcEvent::KeptConnectionLost => {
                    if self.registrar.connection_lost() {
                        self.ask_owner(now);
                    }
                }
                RpcEvent::Refused { peer, why } => self.report_fault(PeerFault::Client { peer, fault: why }),
            }
        }
        // The master may have reported the end of publishers that other links waited for.
        self.start_waiting_connections(now);
    }

    fn answered(&mut self, now: Instant, call: CallId, result: Result<Value, CallError>) {
        match self.calls.remove(&call) {
            Some(Purpose::Register(role, topic)) => self.registration_answered(now, role, &topic, result),
            Some(Purpose::AskOwner) => self.owner_answered(now, result),
            Some(Purpose::RequestTopic { topic, uri }) => {
                self.address_answered(now, &topic, &uri, call, result);
            }
            Some(Purpose::LookupService(link)) => self.service_found(now, link, result),
            Some(Purpose::ReadParameter { key, token }) => self.parameter_read(now, key, token, result),
            Some(Purpose::Close) => self.events.push_back(NodeEvent::Closed),
            Some(Purpose::Unregister(role, topic)) => self.unregistration_answered(now, role, &topic, result),
            // A master that refuses does not know the former name, and one that is away forgets it.
            Some(Purpose::UnregisterFormer) | None => {}
        }
        self.ask_master(now);
    }

    fn subscribers_of(&self, topic: &str) -> Vec<ConnId> {
        let of_topic = |(conn, role): (&ConnId, &Conn)| match role {
            Conn::Subscriber(link) if link.topic == topic => Some(*conn),
            Conn::SubscriberDatagrams(request) if request.topic == topic => Some(*conn),
            _ => None,
        };
        self.conns.iter().filter_map(of_topic).collect()
    }

    fn send(&mut self, conn: ConnId, bytes: Vec<u8>) {
        self.transmits.push_back(Transmit::Send { conn, bytes });
    }

    fn close(&mut self, conn: ConnId) {
        self.transmits.push_back(Transmit::Close { conn });
    }

    fn report_fault(&mut self, why: PeerFault) {
        self.events.push_back(NodeEvent::PeerFault { why });
    }
}

/// The strings of an array of strings.
fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|element| element.as_str().map(str::to_owned)).collect()
}

/// The canonical form of a node's URI, in which nodes are compared by host and port.
fn canonical(uri: &str) -> Result<String, UriError> {
    let path = "/".to_owned();
    Uri::parse(uri).map(|uri| Uri { path, ..uri }.to_string())
}

fn same_type(has: &TopicSpec, requested: &TopicSpec) -> Result<(), TopicError> {
    if has.agrees_with(&requested.md5) {
        return Ok(());
    }
    let (topic, has, requested) =
        (requested.topic.clone(), has.type_name.clone(), requested.type_name.clone());
    Err(TopicError::TypeConflict { topic, has, requested })
}
