//! What engines of ROS 1 say, and what it means for nodes, sockets and sessions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_ros1::net::Transmit;
use runnel_ros1::node::NodeEvent;
use runnel_ros1::told::told;

use super::Driver;
use super::effect::{Peer, Source};
use super::ros1::{Notice, Saying};
use super::sockets::Socket;
use super::table::Key;
use crate::data::TopicInput;
use crate::log_output::console;

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

    pub(super) fn request_stop(&self) {
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
                format!("topic {}: publisher [{}]{by}", self.topic_of(engine, topic), told(name))
            }
            Peer::Subscriber { topic, name } => format!("topic {topic}: subscriber [{}]", told(name)),
            Peer::Client { service, name, address } => {
                format!("service {service}: client [{}] at {address}", told(name))
            }
        };
        self.warn_of_peer(engine, format_args!("{who}: {why}"));
    }

    /// The name of a topic that a node subscribes to.
    fn topic_of(&self, engine: Key, input: &Arc<TopicInput>) -> &str {
        let node = self.ros1.get(engine).and_then(|slot| self.nodes.get(slot.node?));
        let mut topics = node.into_iter().flat_map(|node| &node.inputs);
        topics.find(|(_, other)| Arc::ptr_eq(other, input)).map_or("", |(topic, _)| topic)
    }
}
