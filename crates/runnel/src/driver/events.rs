//! What the events of engines mean: for nodes, and for the data plane.

use std::sync::atomic::Ordering;

use runnel_ros1::node::NodeEvent;

use super::engine::Notice;
use super::table::Key;
use super::{Driver, Engine};
use crate::log_output::console;

impl Driver {
    /// Takes one event of an engine; false if there was none.
    pub(super) fn serve_event(&mut self, key: Key) -> bool {
        let Some(slot) = self.engines.get_mut(key) else { return false };
        match &mut slot.engine {
            Engine::Node(node) => node.poll_event().map(|event| self.node_event(key, event)).is_some(),
            Engine::Other(other) => other.poll_notice().map(|notice| self.notice(key, notice)).is_some(),
        }
    }

    fn notice(&mut self, key: Key, notice: Notice) {
        match notice {
            Notice::Answered(call, result) => {
                if let Some(slot) = self.engines.get_mut(key) {
                    slot.answers.insert(call, result);
                }
            }
            Notice::Warning(line) => self.warn_of_peer(key, format_args!("{line}")),
            Notice::Info(line) => console::info!("{line}"),
            Notice::StopRequested => self.request_stop(),
        }
    }

    pub(super) fn request_stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.reactor.waker().wake();
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
        let Some(key) = self.engines.get(engine).and_then(|slot| slot.node) else { return };
        match event {
            NodeEvent::LocalPublisherJoined { topic, uri } => self.join_local(key, &topic, &uri),
            NodeEvent::LocalPublisherLeft { topic, uri } => self.leave_local(key, &topic, &uri),
            NodeEvent::Stopped { reason } => self.stopped(key, reason),
            NodeEvent::ParameterChanged { key: name, value } => self.param_changed(key, &name, value),
            other => {
                if let Some(node) = self.node_slot(key) {
                    node.note(other);
                }
            }
        }
    }
}
