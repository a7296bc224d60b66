//! Dispatch of the ROS 1 engines' output to nodes, sockets and IPC connections.

use std::fmt;
use std::sync::atomic::Ordering;

use runnel_io::clock;
use runnel_ros1::net::Transmit;
use runnel_ros1::node::NodeEvent;
use runnel_ros1::peer_text::sanitize;
use runnel_ros1::xmlrpc::Value;

use crate::data::ParameterRead;
use crate::driver::Driver;
use crate::driver::effect::{Peer, Source};
use crate::driver::nodes::{NodeKey, NodeSlot};
use crate::driver::ros1::{EngineEvent, EngineOutput};
use crate::driver::sockets::Socket;
use crate::driver::table::Key;
use crate::log_output::console;
use crate::parameters::parameter_value::ParameterValue;
use crate::time::ros_clock::USE_SIM_TIME;

impl Driver {
    /// Applies an output of an engine.
    pub(super) fn apply_engine_output(&mut self, engine: Key, output: EngineOutput) {
        match output {
            EngineOutput::Transmit(transmit) => self.transmit(engine, transmit),
            EngineOutput::Event(event) => self.node_event(engine, event),
            EngineOutput::EngineEvent(engine_event) => self.engine_event(engine, engine_event),
        }
    }

    fn transmit(&mut self, engine: Key, transmit: Transmit) {
        let Self { sockets, effects, .. } = self;
        match transmit {
            Transmit::Connect { conn, to } => sockets.connect(engine, conn, &to, effects),
            Transmit::OpenDatagram { conn, to } => sockets.open_datagram(engine, conn, to, effects),
            Transmit::Send { conn, bytes } => sockets.send(engine, conn, &bytes, effects),
            Transmit::Close { conn } => {
                // A publisher has left its topic. Messages that it sent before count.
                if let Some(key) = sockets.key_of(engine, conn)
                    && matches!(sockets.get(key), Some(Socket::Input(_)))
                {
                    sockets.read_all(key, effects);
                    self.drain_ipc_connection_of(key);
                    self.settle_returned(key);
                }
                self.sockets.close(engine, conn, &mut self.effects);
            }
        }
    }

    fn engine_event(&mut self, key: Key, engine_event: EngineEvent) {
        match engine_event {
            EngineEvent::Answered(call, result) => self.ros1.add_answer(key, call, result),
            EngineEvent::Warning(line) => self.warn_of_peer(key, format_args!("{line}")),
            EngineEvent::Info(line) => console::info!("{line}"),
            EngineEvent::StopRequested => self.request_stop(),
        }
    }

    fn request_stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.sockets.reactor.waker().wake();
    }

    fn node_event(&mut self, engine: Key, event: NodeEvent) {
        match event {
            NodeEvent::PublisherJoined(link) => return self.join_publisher(engine, link),
            NodeEvent::SubscriberJoined(link) => return self.join_subscriber(engine, link),
            // The engine has had the connection closed, which removed the link.
            NodeEvent::LinkClosed { .. } => return,
            NodeEvent::ServiceClientJoined(link) => return self.join_service_client(engine, link),
            NodeEvent::ServiceLinked(linked) => return self.join_service(engine, linked),
            NodeEvent::ServiceFailed { link, why } => return self.call_ended(engine, link, Err(why)),
            NodeEvent::PeerFault { why } => return self.warn_of_peer(engine, format_args!("{why}")),
            _ => {}
        }
        let Some(key) = self.ros1.get(engine).and_then(|slot| slot.node) else { return };
        match event {
            NodeEvent::LocalPublisherJoined { topic, uri } => self.nodes.join_local(key, &topic, &uri),
            NodeEvent::LocalPublisherLeft { topic, uri } => self.nodes.leave_local(key, &topic, &uri),
            NodeEvent::Stopped { reason } => self.stopped(key, reason),
            NodeEvent::ParameterChanged { key: name, value } => self.param_changed(key, &name, value),
            NodeEvent::ParameterRead { key: name, token, value } => {
                if let Some(reads) = self.nodes.get_mut(key).and_then(|node| node.parameter_reads.as_ref()) {
                    reads.push(ParameterRead { key: name, token, value: value.map(ParameterValue::from) });
                }
            }
            other => {
                if let Some(node) = self.nodes.get_mut(key) {
                    node.note(other);
                }
            }
        }
    }

    /// Logs a fault of a link's peer.
    pub(super) fn log_peer_fault(&mut self, engine: Key, peer: &Peer, why: &str) {
        let peer_text = match peer {
            Peer::Publisher { topic, name, address } => {
                let by = match address {
                    Source::Address(address) => format!(" at {address}"),
                    Source::Datagrams => ", by datagrams".to_owned(),
                };
                let topic = self.node_of(engine).and_then(|node| node.topic_of(topic)).unwrap_or_default();
                format!("topic {topic}: publisher [{}]{by}", sanitize(name))
            }
            Peer::Subscriber { topic, name } => format!("topic {topic}: subscriber [{}]", sanitize(name)),
            Peer::Client { service, name, address } => {
                format!("service {service}: client [{}] at {address}", sanitize(name))
            }
        };
        self.warn_of_peer(engine, format_args!("{peer_text}: {why}"));
    }

    /// Handles a change of a watched parameter.
    fn param_changed(&mut self, key: NodeKey, name: &str, value: Option<Value>) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        for watch in node.watches.iter().filter(|watch| watch.concerns(name)) {
            watch.changed(name, value.clone().map(ParameterValue::from));
        }
        let follows = name == USE_SIM_TIME && node.follows_sim_time;
        match value {
            Some(Value::Bool(simulated)) if follows => self.simulate_time(key, simulated),
            Some(Value::Int(number)) if follows => self.simulate_time(key, number != 0),
            // A master that restarts without its parameters does not end the simulation.
            _ => {}
        }
    }

    /// Handles a node that was asked to stop, usually since the master got a newer node of its name: it unregisters. The
    /// last one stops the program, also if it is in ROS 2: one name is one node.
    fn stopped(&mut self, key: NodeKey, reason: String) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        let graphs = if node.ros2 { ", which is also in ROS 2," } else { "" };
        let line = format_args!("node {}{graphs} is stopped by the ROS 1 master: {reason}", node.name);
        node.say(log::Level::Warn, line);
        self.begin_close(key, reason);
        if self.nodes.iter().all(|node| node.stopped.is_some()) {
            self.request_stop();
        }
    }

    /// The node of an engine.
    pub(in crate::driver) fn node_of(&mut self, engine: Key) -> Option<&mut NodeSlot> {
        let key = self.ros1.get(engine)?.node?;
        self.nodes.get_mut(key)
    }

    /// Logs a fault of an engine's peer, within a limit per time.
    fn warn_of_peer(&mut self, engine: Key, line: fmt::Arguments<'_>) {
        if let Some(node) = self.node_of(engine) {
            return node.warn_of_peer(line);
        }
        let warn = |line: fmt::Arguments<'_>| console::warning!("{line}");
        if let Some(slot) = self.ros1.get_mut(engine) {
            slot.throttle.warn(clock::monotonic(), line, warn);
        }
    }
}
