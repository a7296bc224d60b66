//! Virtual network: one master and any number of nodes, on a clock that the test advances.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use runnel_core::time::Instant;

use super::super::{Master, MasterConfig, MasterEvent};
use crate::net::{ConnId, Endpoint, Transmit};
use crate::rpc::{CallId, CallOptions, RpcConfig, RpcEvent, RpcPeer, Uri};
use crate::xmlrpc::Value;

const MASTER_PORT: u16 = 11311;
const FIRST_PORT: u16 = 1000;

/// A host name that has no address.
pub(super) const UNKNOWN_HOST: &str = "nowhere";

/// A call that a node received.
pub(super) type Got = (String, Vec<Value>);

/// One node: it answers every call with success, or not at all while it is stopped.
pub(super) struct FakeNode {
    peer: RpcPeer,
    pub(super) pid: i32,
    pub(super) listens: bool,
    pub(super) stopped: bool,
    /// It closes a connection on which `getPid` is called.
    pub(super) refuses_get_pid: bool,
    pub(super) got: Vec<Got>,
    /// Bytes that the master sent it, plus 240 for each connection attempt.
    pub(super) bytes_received: usize,
    /// Bytes of its requests to the master.
    pub(super) bytes_sent: usize,
    unanswered: Vec<(ConnId, String)>,
    replies: BTreeMap<CallId, Value>,
}

/// Both ends of a connection: the master's, and that of the node with this index.
#[derive(Clone, Copy)]
struct Link {
    at_master: ConnId,
    node: usize,
    at_node: ConnId,
}

/// The network.
pub(super) struct Network {
    pub(super) now: Instant,
    pub(super) master: Master,
    pub(super) nodes: Vec<FakeNode>,
    links: Vec<Link>,
    /// Look-ups of [`UNKNOWN_HOST`] by the master.
    pub(super) lookups: usize,
}

pub(super) fn strings(list: &[&str]) -> Vec<Value> {
    list.iter().map(|text| Value::from(*text)).collect()
}

fn client_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 5))
}

impl FakeNode {
    fn new(pid: i32) -> Self {
        Self {
            peer: RpcPeer::new(RpcConfig::default()),
            pid,
            listens: true,
            stopped: false,
            refuses_get_pid: false,
            got: Vec::new(),
            bytes_received: 0,
            bytes_sent: 0,
            unanswered: Vec::new(),
            replies: BTreeMap::new(),
        }
    }

    /// Forgets the calls that arrived while it was stopped.
    pub(super) fn unanswered_are_lost(&mut self) {
        self.unanswered.clear();
    }

    /// Takes its events; true if there were any.
    fn take_events(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.peer.poll_event() {
            any = true;
            match event {
                RpcEvent::Called { conn, method, params, .. } => {
                    self.got.push((method.clone(), params));
                    self.unanswered.push((conn, method));
                }
                RpcEvent::Answered { call, result: Ok(reply) } => {
                    self.replies.insert(call, reply);
                }
                RpcEvent::Answered { .. } | RpcEvent::KeptConnectionLost | RpcEvent::Refused { .. } => {}
            }
        }
        any
    }

    fn answer_all(&mut self, now: Instant) {
        if self.stopped {
            return;
        }
        for (conn, method) in self.unanswered.drain(..) {
            let value = if method == "getPid" { self.pid } else { 0 };
            self.peer.reply(now, conn, Ok(vec![1.into(), "".into(), value.into()].into()));
        }
    }
}

impl Network {
    /// A network of `nodes` nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Self::with(MasterConfig::new("http://master:11311/", 1), nodes)
    }

    pub(super) fn with(config: MasterConfig, nodes: usize) -> Self {
        let nodes = (0..nodes).map(|index| FakeNode::new(100 + index as i32)).collect();
        Self { now: Instant(1), master: Master::new(config), nodes, links: Vec::new(), lookups: 0 }
    }

    /// The URI of a node.
    pub(super) fn uri(&self, node: usize) -> String {
        format!("http://node:{}/", FIRST_PORT + node as u16)
    }

    /// Calls the master from a node over its kept connection; returns the reply.
    pub(super) fn call(&mut self, node: usize, method: &str, params: &[Value]) -> Value {
        self.call_over(node, method, params, true)
    }

    /// Calls the master from a node over a separate connection, which is then closed.
    pub(super) fn call_once(&mut self, node: usize, method: &str, params: &[Value]) -> Value {
        self.call_over(node, method, params, false)
    }

    fn call_over(&mut self, node: usize, method: &str, params: &[Value], keep_open: bool) -> Value {
        let to = Uri::parse("http://master:11311/").expect("an address");
        let options =
            CallOptions { timeout: Duration::from_secs(5), total_timeout: Duration::from_secs(5), keep_open };
        let call = self.nodes[node].peer.call(self.now, &to, method, params, options);
        self.settle();
        self.nodes[node].replies.remove(&call).expect("a reply of the master")
    }

    /// Registers node `node` in a role for `std_msgs/String`, as `/n` and its index.
    pub(super) fn register(&mut self, node: usize, method: &str, topic: &str) -> Value {
        let (name, uri) = (format!("/n{node}"), self.uri(node));
        self.call(node, method, &strings(&[&name, topic, "std_msgs/String", &uri]))
    }

    /// The calls that a node received since the last request, without probes.
    pub(super) fn got(&mut self, node: usize) -> Vec<Got> {
        let got = std::mem::take(&mut self.nodes[node].got);
        got.into_iter().filter(|(method, _)| method != "getPid").collect()
    }

    /// The publishers in the updates that a node received since the last request.
    pub(super) fn publishers(&mut self, node: usize, topic: &str) -> Vec<Value> {
        let updates = self.got(node).into_iter().filter(|(method, _)| method == "publisherUpdate");
        let of_topic = updates.filter(|(_, params)| params.get(1) == Some(&topic.into()));
        of_topic.filter_map(|(_, params)| params.get(2).cloned()).collect()
    }

    /// The events of the master.
    pub(super) fn events(&mut self) -> Vec<MasterEvent> {
        std::iter::from_fn(|| self.master.poll_event()).collect()
    }

    /// Kills a node: its port and its connections close.
    pub(super) fn kill(&mut self, node: usize) {
        self.nodes[node].listens = false;
        self.disconnect(node);
        self.nodes[node].peer = RpcPeer::new(RpcConfig::default());
    }

    /// Ends a node's connections from its side.
    pub(super) fn disconnect(&mut self, node: usize) {
        let (ended, kept) = self.links.iter().partition(|link| link.node == node);
        self.links = kept;
        let ended: Vec<Link> = ended;
        for link in ended {
            self.master.handle_closed(self.now, link.at_master, None);
            self.nodes[node].peer.handle_closed(self.now, link.at_node, None);
        }
        self.settle();
    }

    /// Lets a stopped node answer the calls that arrived meanwhile, and everything that follows.
    pub(super) fn resume(&mut self, node: usize) {
        self.nodes[node].stopped = false;
        self.settle();
    }

    /// Advances the clock, with everything that becomes due.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.settle();
            let due = self.nodes.iter().map(|node| node.peer.poll_timeout());
            let next = due.chain([self.master.poll_timeout()]).flatten().min().filter(|next| *next <= end);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            self.master.handle_timeout(self.now);
            self.nodes.iter_mut().for_each(|node| node.peer.handle_timeout(self.now));
        }
        self.now = end;
    }

    /// Transfers bytes until nothing moves.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            let mut busy = false;
            while let Some(transmit) = self.master.poll_transmit() {
                busy = true;
                self.handle_master_transmit(transmit);
            }
            for index in 0..self.nodes.len() {
                busy |= self.nodes[index].take_events();
                self.close_on_questions(index);
                self.nodes[index].answer_all(self.now);
                while let Some(transmit) = self.nodes[index].peer.poll_transmit() {
                    busy = true;
                    self.handle_node_transmit(index, transmit);
                }
            }
            if !busy {
                return;
            }
        }
        panic!("the network does not come to rest");
    }

    fn close_on_questions(&mut self, node: usize) {
        let FakeNode { refuses_get_pid: true, unanswered, peer, .. } = &mut self.nodes[node] else { return };
        let questions = unanswered.extract_if(.., |(_, method)| method == "getPid");
        for (at_node, _) in questions.collect::<Vec<_>>() {
            peer.handle_closed(self.now, at_node, None);
            let is_asked = |link: &Link| (link.node, link.at_node) == (node, at_node);
            let place = self.links.iter().position(is_asked).expect("an open connection");
            self.master.handle_closed(self.now, self.links.remove(place).at_master, None);
        }
    }

    fn handle_master_transmit(&mut self, transmit: Transmit) {
        match transmit {
            Transmit::Connect { conn, to } if to.host == UNKNOWN_HOST => {
                self.lookups += 1;
                self.master.handle_unresolved(self.now, conn, "unknown host");
            }
            Transmit::Connect { conn, to } => match self.connect_to(&to) {
                Some(node) => {
                    let peer = &mut self.nodes[node].peer;
                    let at_node = peer.handle_accepted(self.now, client_address()).expect("a connection");
                    self.links.push(Link { at_master: conn, node, at_node });
                    self.master.handle_connected(self.now, conn);
                }
                None => self.master.handle_closed(self.now, conn, Some("Connection refused (os error 111)")),
            },
            Transmit::OpenDatagram { .. } => panic!("a master has no datagrams"),
            Transmit::Send { conn, bytes } => {
                if let Some(link) = self.links.iter().find(|link| link.at_master == conn) {
                    self.nodes[link.node].bytes_received += bytes.len();
                    self.nodes[link.node].peer.handle_data(self.now, link.at_node, &bytes);
                }
            }
            Transmit::Close { conn } => {
                let Some(place) = self.links.iter().position(|link| link.at_master == conn) else { return };
                let link = self.links.remove(place);
                self.nodes[link.node].peer.handle_closed(self.now, link.at_node, None);
            }
        }
    }

    fn handle_node_transmit(&mut self, node: usize, transmit: Transmit) {
        match transmit {
            Transmit::Connect { conn, to } => {
                assert_eq!(to.port, MASTER_PORT);
                let at_master =
                    self.master.handle_accepted(self.now, client_address()).expect("a connection");
                self.links.push(Link { at_master, node, at_node: conn });
                self.nodes[node].peer.handle_connected(self.now, conn);
            }
            Transmit::OpenDatagram { .. } => panic!("calls have no datagrams"),
            Transmit::Send { conn, bytes } => {
                let link = self.links.iter().find(|link| link.node == node && link.at_node == conn);
                if let Some(at_master) = link.map(|link| link.at_master) {
                    self.nodes[node].bytes_sent += bytes.len();
                    self.master.handle_data(self.now, at_master, &bytes);
                }
            }
            Transmit::Close { conn } => {
                let place = self.links.iter().position(|link| link.node == node && link.at_node == conn);
                let Some(place) = place else { return };
                let link = self.links.remove(place);
                self.master.handle_closed(self.now, link.at_master, None);
            }
        }
    }

    /// The node that a connection of the master reaches, if one listens there.
    fn connect_to(&mut self, to: &Endpoint) -> Option<usize> {
        let node = usize::from(to.port.checked_sub(FIRST_PORT)?);
        let reached = self.nodes.get_mut(node)?;
        reached.bytes_received += 240;
        reached.listens.then_some(node)
    }
}
