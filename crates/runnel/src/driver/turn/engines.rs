//! What engines of ROS 1 say, and what it means for nodes, sockets and sessions.

use std::fmt;
use std::sync::atomic::Ordering;

use runnel_io::clock;
use runnel_ros1::net::Transmit;
use runnel_ros1::node::NodeEvent;
use runnel_ros1::told::told;
use runnel_ros1::xmlrpc::Value;

use crate::driver::Driver;
use crate::driver::effect::{Peer, Source};
use crate::driver::nodes::{NodeKey, NodeSlot};
use crate::driver::ros1::{Notice, Saying};
use crate::driver::sockets::Socket;
use crate::driver::table::Key;
use crate::log_output::console;
use crate::parameter_value::ParameterValue;
use crate::ros_clock::USE_SIM_TIME;

impl Driver {
    /// Does what an engine says.
    pub(super) fn said(&mut self, engine: Key, saying: Saying) {
        match saying {
            Saying::Transmit(transmit) => self.transmit(engine, transmit),
            Saying::Event(event) => self.node_event(engine, event),
            Saying::Notice(notice) => self.notice(engine, notice),
        }
    }

    fn transmit(&mut self, engine: Key, transmit: Transmit) {
        let Self { sockets, effects, .. } = self;
        match transmit {
            Transmit::Connect { conn, to } => sockets.connect(engine, conn, &to, effects),
            Transmit::OpenDatagram { conn, to } => sockets.open_datagram(engine, conn, to, effects),
            Transmit::Send { conn, bytes } => sockets.send(engine, conn, &bytes, effects),
            Transmit::Close { conn } => {
                // A publisher has left its topic. What it sent before that counts.
                if let Some(key) = sockets.key_of(engine, conn)
                    && matches!(sockets.get(key), Some(Socket::Input(_)))
                {
                    sockets.read_all(key, effects);
                    self.drain_session_of(key);
                    self.settle_returned(key);
                }
                self.sockets.close(engine, conn, &mut self.effects);
            }
        }
    }

    fn notice(&mut self, key: Key, notice: Notice) {
        match notice {
            Notice::Answered(call, result) => self.ros1.add_answer(key, call, result),
            Notice::Warning(line) => self.warn_of_peer(key, format_args!("{line}")),
            Notice::Info(line) => console::info!("{line}"),
            Notice::StopRequested => self.request_stop(),
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
            // The engine has asked for the connection to be closed, which removed the link.
            NodeEvent::LinkClosed { .. } => return,
            NodeEvent::ServiceClientJoined(link) => return self.join_service_client(engine, link),
            NodeEvent::ServiceLinked(linked) => return self.join_service(engine, linked),
            NodeEvent::ServiceFailed { link, why } => return self.call_ended(engine, link, Err(why)),
            NodeEvent::PeerTrouble { why } => return self.warn_of_peer(engine, format_args!("{why}")),
            _ => {}
        }
        let Some(key) = self.ros1.get(engine).and_then(|slot| slot.node) else { return };
        match event {
            NodeEvent::LocalPublisherJoined { topic, uri } => self.nodes.join_local(key, &topic, &uri),
            NodeEvent::LocalPublisherLeft { topic, uri } => self.nodes.leave_local(key, &topic, &uri),
            NodeEvent::Stopped { reason } => self.stopped(key, reason),
            NodeEvent::ParameterChanged { key: name, value } => self.param_changed(key, &name, value),
            other => {
                if let Some(node) = self.nodes.get_mut(key) {
                    node.note(other);
                }
            }
        }
    }

    /// Logs what the other end of a link did.
    pub(super) fn peer_trouble(&mut self, engine: Key, peer: &Peer, why: &str) {
        let who = match peer {
            Peer::Publisher { topic, name, address } => {
                let by = match address {
                    Source::Address(address) => format!(" at {address}"),
                    Source::Datagrams => ", by datagrams".to_owned(),
                };
                let topic = self.node_of(engine).and_then(|node| node.topic_of(topic)).unwrap_or_default();
                format!("topic {topic}: publisher [{}]{by}", told(name))
            }
            Peer::Subscriber { topic, name } => format!("topic {topic}: subscriber [{}]", told(name)),
            Peer::Client { service, name, address } => {
                format!("service {service}: client [{}] at {address}", told(name))
            }
        };
        self.warn_of_peer(engine, format_args!("{who}: {why}"));
    }

    /// A parameter that is watched has changed.
    fn param_changed(&mut self, key: NodeKey, name: &str, value: Option<Value>) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        for watch in node.watches.iter().filter(|watch| watch.concerns(name)) {
            watch.changed(name, value.clone().map(ParameterValue::from));
        }
        let follows = name == USE_SIM_TIME && node.follows_sim_time;
        match value {
            Some(Value::Bool(simulated)) if follows => self.simulate_time(key, simulated),
            Some(Value::Int(number)) if follows => self.simulate_time(key, number != 0),
            // A master that came back without its parameters ends no simulation.
            _ => {}
        }
    }

    /// A node has been told to stop: it unregisters, and the last one ends the spinning.
    fn stopped(&mut self, key: NodeKey, reason: String) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        node.say(log::Level::Warn, format_args!("told to stop: {reason}"));
        self.begin_close(key, reason);
        if self.nodes.iter().all(|node| node.stopped.is_some()) {
            self.request_stop();
        }
    }

    /// The node that an engine speaks for.
    pub(in crate::driver) fn node_of(&mut self, engine: Key) -> Option<&mut NodeSlot> {
        let key = self.ros1.get(engine)?.node?;
        self.nodes.get_mut(key)
    }

    /// Says what peers of an engine did, as long as they do not do it all the time.
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
