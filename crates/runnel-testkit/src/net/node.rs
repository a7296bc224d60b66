//! ROS 1 nodes in a network, with a driver's data plane: after the handshake, this module transfers the messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use runnel_core::bounds::MAX_MESSAGE;
use runnel_core::time::Instant;
use runnel_ros1::net::{ConnId, Transmit};
use runnel_ros1::node::{
    Limits, LinkStats, Node, NodeConfig, NodeEvent, Port, PublisherLink, SubscriberLink, TopicSpec,
};
use runnel_ros1::rpc::Uri;
use runnel_ros1::tcpros::{FrameReader, frame};
use runnel_ros1::udpros::{Fragmenter, Reassembler};

use super::program::Program;
use super::service::Services;
use super::{App, MASTER_PORT, Net};

/// A message that a node received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// The topic.
    pub topic: String,
    /// The publisher's node name.
    pub publisher: String,
    /// The message, without its length.
    pub message: Vec<u8>,
}

/// A node and its links.
pub(super) struct NodeProgram {
    pub(super) node: Node,
    inputs: BTreeMap<ConnId, Input>,
    outputs: BTreeMap<ConnId, Output>,
    /// Publishers of the same process, by topic and URI.
    locals: BTreeSet<(String, String)>,
    latching: BTreeSet<String>,
    /// The last message of each latched topic.
    latched: BTreeMap<String, Vec<u8>>,
    received: Vec<ReceivedMessage>,
    events: Vec<NodeEvent>,
    services: Services,
    outbox: VecDeque<Transmit>,
    pub(super) finished: bool,
}

struct Input {
    topic: String,
    publisher: String,
    reader: Reader,
    stats: Arc<LinkStats>,
}

/// Splits received bytes into messages.
enum Reader {
    Stream(FrameReader),
    Datagrams(Reassembler),
}

struct Output {
    topic: String,
    subscriber: String,
    datagrams: Option<Fragmenter>,
    stats: Arc<LinkStats>,
}

/// A topic of `std_msgs/String`, not latched.
pub fn text_topic(topic: &str) -> TopicSpec {
    TopicSpec {
        topic: topic.to_owned(),
        type_name: "std_msgs/String".to_owned(),
        md5: "992ce8a1687cec8c8bd883ec73ca41d1".to_owned(),
        definition: "string data\n".to_owned(),
        latching: false,
        udpros: false,
    }
}

impl NodeProgram {
    fn new(config: NodeConfig) -> Self {
        Self {
            node: Node::new(config),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            locals: BTreeSet::new(),
            latching: BTreeSet::new(),
            latched: BTreeMap::new(),
            received: Vec::new(),
            events: Vec::new(),
            services: Services::default(),
            outbox: VecDeque::new(),
            finished: false,
        }
    }

    pub(super) fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        if self.inputs.contains_key(&conn) {
            self.read(now, conn, bytes);
        } else if self.services.owns(conn) {
            let transmits = self.services.take_data(conn, bytes);
            self.follow_services(now, transmits);
        } else if !self.outputs.contains_key(&conn) {
            self.node.handle_data(now, conn, bytes);
        }
    }

    pub(super) fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
        self.inputs.remove(&conn);
        self.outputs.remove(&conn);
        self.services.forget(conn);
        self.node.handle_closed(now, conn, why);
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        self.node.poll_transmit().or_else(|| self.outbox.pop_front())
    }

    pub(super) fn take_event(&mut self, now: Instant) -> bool {
        let Some(mut event) = self.node.poll_event() else { return false };
        let transmits = self.services.take_event(&event);
        self.follow_services(now, transmits);
        match &mut event {
            NodeEvent::PublisherJoined(link) => self.join_publisher(now, link),
            NodeEvent::SubscriberJoined(link) => self.join_subscriber(link),
            NodeEvent::LinkClosed { conn, .. } => {
                self.inputs.remove(conn);
                self.outputs.remove(conn);
            }
            NodeEvent::LocalPublisherJoined { topic, uri } => {
                self.locals.insert((topic.clone(), uri.clone()));
            }
            NodeEvent::LocalPublisherLeft { topic, uri } => {
                self.locals.remove(&(topic.clone(), uri.clone()));
            }
            // As the driver does: unregister, then end.
            NodeEvent::Stopped { .. } => self.node.begin_close(now),
            NodeEvent::Closed => self.finished = true,
            _ => {}
        }
        self.events.push(event);
        true
    }

    /// Carries out the operations of the services, and reports ended connections and links to the engine.
    fn follow_services(&mut self, now: Instant, transmits: Vec<Transmit>) {
        for transmit in transmits {
            let closed = match transmit {
                Transmit::Close { conn } => Some(conn),
                _ => None,
            };
            self.outbox.push_back(transmit);
            if let Some(conn) = closed {
                self.handle_closed(now, conn, None);
            }
        }
        self.services.done().into_iter().for_each(|link| self.node.close_service(link));
    }

    fn join_publisher(&mut self, now: Instant, link: &mut PublisherLink) {
        let (topic, publisher) = (link.topic.clone(), link.publisher.clone());
        let reader = match link.datagrams {
            Some(number) => Reader::Datagrams(Reassembler::new(number)),
            None => Reader::Stream(FrameReader::new(MAX_MESSAGE)),
        };
        let stats = Arc::clone(&link.stats);
        self.inputs.insert(link.conn, Input { topic, publisher, reader, stats });
        self.read(now, link.conn, &link.rest);
    }

    fn join_subscriber(&mut self, link: &mut SubscriberLink) {
        let (topic, subscriber, stats) =
            (link.topic.clone(), link.subscriber.clone(), Arc::clone(&link.stats));
        let latched = self.latched.get(&topic).cloned();
        let datagrams = link.datagrams.take();
        if !link.answer.is_empty() {
            let (conn, bytes) = (link.conn, std::mem::take(&mut link.answer));
            self.outbox.push_back(Transmit::Send { conn, bytes });
        }
        self.outputs.insert(link.conn, Output { topic, subscriber, datagrams, stats });
        if let Some(message) = latched {
            self.send(link.conn, &message);
        }
    }

    /// Splits bytes from a publisher into messages; a publisher of too long ones is disconnected.
    fn read(&mut self, now: Instant, conn: ConnId, mut bytes: &[u8]) {
        let Some(input) = self.inputs.get_mut(&conn) else { return };
        let Input { topic, publisher, reader, stats } = input;
        let mut receive = |message: Vec<u8>| {
            stats.count(1, message.len() as u64 + 4);
            self.received.push(ReceivedMessage {
                topic: topic.clone(),
                publisher: publisher.clone(),
                message,
            });
        };
        let reader = match reader {
            Reader::Stream(reader) => reader,
            Reader::Datagrams(reassembler) => {
                let taken = reassembler.take(bytes, Vec::new);
                stats.count_dropped(taken.lost);
                return taken.message.into_iter().for_each(receive);
            }
        };
        while !bytes.is_empty() {
            match reader.take(&mut bytes, Vec::new) {
                Ok(Some(message)) => receive(message),
                Ok(None) => {}
                Err(error) => {
                    self.outbox.push_back(Transmit::Close { conn });
                    return self.handle_closed(now, conn, Some(&error.to_string()));
                }
            }
        }
    }

    fn publish(&mut self, topic: &str, message: &[u8]) {
        let conns = self.outputs.iter().filter(|(_, output)| output.topic == topic).map(|(conn, _)| *conn);
        conns.collect::<Vec<_>>().into_iter().for_each(|conn| self.send(conn, message));
        if self.latching.contains(topic) {
            self.latched.insert(topic.to_owned(), message.to_vec());
        }
    }

    fn send(&mut self, conn: ConnId, message: &[u8]) {
        let mut bytes = Vec::new();
        frame(&mut bytes, |out| out.extend_from_slice(message));
        if let Some(output) = self.outputs.get_mut(&conn) {
            output.stats.count(1, bytes.len() as u64);
            if let Some(fragmenter) = &mut output.datagrams {
                let cut = fragmenter.fragment(message).expect("messages of tests are short");
                let datagrams = cut.map(|(head, part)| [head.as_ref(), part].concat());
                let send = |bytes| Transmit::Send { conn, bytes };
                return self.outbox.extend(datagrams.map(send));
            }
        }
        self.outbox.push_back(Transmit::Send { conn, bytes });
    }
}

impl Net {
    /// Starts a node on a host, with the master on host `hub`.
    pub fn node(&mut self, name: &str, host: &str) -> App {
        let config = self.node_config(name, host);
        self.start_node(config)
    }

    /// The configuration that [`Net::node`] uses: its own ports, the master on host `hub`, default limits.
    pub fn node_config(&mut self, name: &str, host: &str) -> NodeConfig {
        let master = Uri::parse(&format!("http://hub:{MASTER_PORT}/")).expect("an address");
        NodeConfig {
            name: name.to_owned(),
            host: host.to_owned(),
            rpc_port: self.free_port(host),
            tcpros_port: self.free_port(host),
            master,
            pid: 1000 + self.running.len() as i32,
            limits: Limits::default(),
            same_host: None,
            dual_node_id: None,
            standby_name: None,
        }
    }

    /// Starts a node with this configuration. Its name in the trace has a number if it is not the first of its name.
    pub fn start_node(&mut self, config: NodeConfig) -> App {
        self.host("hub");
        let twins = self
            .running
            .iter()
            .filter(|running| running.name.split('#').next() == Some(&config.name))
            .count();
        let name = if twins == 0 { config.name.clone() } else { format!("{}#{}", config.name, twins + 1) };
        let doors = [(config.rpc_port, Port::Rpc), (config.tcpros_port, Port::Tcpros)];
        let host = config.host.clone();
        self.start(&name, &host, &doors, Program::Node(Box::new(NodeProgram::new(config))))
    }

    /// The engine of a node.
    ///
    /// # Panics
    /// If the program is not a node.
    pub fn node_of(&self, app: App) -> &Node {
        &self.node_program(app).node
    }

    /// Runs `act` on the engine of a node, and processes the consequences.
    pub fn with_node<T>(&mut self, app: App, act: impl FnOnce(&mut Node, Instant) -> T) -> T {
        let now = self.now;
        let result = act(&mut self.node_program_mut(app).node, now);
        self.pump(app);
        result
    }

    /// Makes a node publish a topic of texts.
    pub fn advertise(&mut self, app: App, topic: &str) {
        self.advertise_as(app, text_topic(topic));
    }

    /// Makes a node publish a topic.
    ///
    /// # Panics
    /// If it publishes the topic with another type.
    pub fn advertise_as(&mut self, app: App, spec: TopicSpec) {
        if spec.latching {
            self.node_program_mut(app).latching.insert(spec.topic.clone());
        }
        self.with_node(app, |node, now| node.advertise(now, spec)).expect("one type for the topic");
    }

    /// Makes a node subscribe to a topic of texts.
    pub fn subscribe(&mut self, app: App, topic: &str) {
        self.subscribe_as(app, text_topic(topic));
    }

    /// Makes a node subscribe to a topic.
    ///
    /// # Panics
    /// If it subscribes to the topic with another type.
    pub fn subscribe_as(&mut self, app: App, spec: TopicSpec) {
        self.with_node(app, |node, now| node.subscribe(now, spec)).expect("one type for the topic");
    }

    /// Makes a node unregister everything and end.
    pub fn stop(&mut self, app: App) {
        self.with_node(app, |node, now| node.begin_close(now));
    }

    /// Publishes a message on all links of a node's topic, and to nodes of the same process.
    pub fn publish(&mut self, app: App, topic: &str, message: &str) {
        self.note(format!("{} publishes {message} on {topic}", self.running[app.0].name));
        self.node_program_mut(app).publish(topic, message.as_bytes());
        self.pump(app);
        let (publisher, uri) = (self.node_of(app).name().to_owned(), self.node_of(app).uri());
        let key = (topic.to_owned(), uri);
        let received = ReceivedMessage { topic: topic.to_owned(), publisher, message: message.into() };
        for running in &mut self.running {
            if let Program::Node(program) = &mut running.program
                && program.locals.contains(&key)
            {
                program.received.push(received.clone());
            }
        }
    }

    /// The texts that a node received, on all topics, in order of arrival.
    pub fn received_texts(&self, app: App) -> Vec<String> {
        self.received_messages(app)
            .iter()
            .map(|received| String::from_utf8_lossy(&received.message).into_owned())
            .collect()
    }

    /// The messages that a node received, with topics and publishers.
    pub fn received_messages(&self, app: App) -> &[ReceivedMessage] {
        &self.node_program(app).received
    }

    /// All events of a node's engine.
    pub fn events(&self, app: App) -> &[NodeEvent] {
        &self.node_program(app).events
    }

    /// The publishers linked to a node's subscription, sorted, one entry per link; nodes of the same process by their
    /// URI.
    pub fn publishers(&self, app: App, topic: &str) -> Vec<String> {
        let program = self.node_program(app);
        let linked =
            program.inputs.values().filter(|input| input.topic == topic).map(|input| &input.publisher);
        let local = program.locals.iter().filter(|(of, _)| of == topic).map(|(_, uri)| uri);
        let mut names: Vec<String> = linked.chain(local).cloned().collect();
        names.sort();
        names
    }

    /// The subscribers linked to a node's publication, sorted, one entry per link.
    pub fn subscribers(&self, app: App, topic: &str) -> Vec<String> {
        let outputs = self.node_program(app).outputs.values().filter(|output| output.topic == topic);
        let mut names: Vec<String> = outputs.map(|output| output.subscriber.clone()).collect();
        names.sort();
        names
    }

    pub(super) fn services_mut(&mut self, app: App) -> &mut Services {
        &mut self.node_program_mut(app).services
    }

    /// Makes a node send or close.
    pub(super) fn transmit_from(&mut self, app: App, transmit: Transmit) {
        self.node_program_mut(app).outbox.push_back(transmit);
        self.pump(app);
    }

    fn node_program(&self, app: App) -> &NodeProgram {
        match &self.running[app.0].program {
            Program::Node(program) => program,
            _ => panic!("{} is not a node", self.running[app.0].name),
        }
    }

    fn node_program_mut(&mut self, app: App) -> &mut NodeProgram {
        let running = &mut self.running[app.0];
        match &mut running.program {
            Program::Node(program) => program,
            _ => panic!("{} is not a node", running.name),
        }
    }
}
