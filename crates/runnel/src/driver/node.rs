//! What nodes' events mean for the data plane.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_io::clock;
use runnel_ros1::node::{NodeEvent, Role, ServiceLinkId};
use runnel_ros1::rpc::{CallError, CallId};
use runnel_ros1::xmlrpc::Value;

use super::engine::Notice;
use super::services::Call;
use super::table::Key;
use super::{Driver, Engine};
use crate::console;
use crate::data::{Publication, ServiceCore, SubscriptionCore, TopicInput};
use crate::params::{ParamValue, WatchCore};

/// What the driver keeps for a node (and, for calls that belong to none, their answers).
#[derive(Default)]
pub(crate) struct NodeSlot {
    pub(crate) inputs: HashMap<String, Arc<TopicInput>>,
    pub(crate) outputs: HashMap<String, Arc<Publication>>,
    pub(crate) services: HashMap<String, Arc<ServiceCore>>,
    pub(crate) watches: Vec<Arc<WatchCore>>,
    /// Links to services, by what the engine calls them.
    pub(super) calls: HashMap<ServiceLinkId, Call>,
    /// Publishers of this process that each topic takes messages from.
    locals: HashMap<String, BTreeSet<String>>,
    /// Registrations that the master has answered, refused ones with the reason.
    pub(crate) answered: HashMap<(Role, String), Option<String>>,
    /// Why the master could not be reached, until it can.
    pub(crate) unreachable: Option<String>,
    /// Why the node has been told to stop.
    pub(crate) stopped: Option<String>,
    /// Everything is unregistered.
    pub(crate) closed: bool,
    /// Answers to calls that nobody has taken yet.
    pub(crate) answers: HashMap<CallId, Result<Value, CallError>>,
}

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
                if let Some(slot) = self.node_slot(key) {
                    slot.answers.insert(call, result);
                }
            }
            Notice::Warning(line) => {
                if let Some(slot) = self.engines.get_mut(key) {
                    slot.throttle.warn(clock::monotonic(), format_args!("{line}"));
                }
            }
            Notice::Info(line) => console::info!("{line}"),
            Notice::StopRequested => self.request_stop(),
        }
    }

    fn request_stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.reactor.waker().wake();
    }

    fn node_event(&mut self, key: Key, event: NodeEvent) {
        match event {
            NodeEvent::PublisherJoined(link) => return self.join_publisher(key, link),
            NodeEvent::SubscriberJoined(link) => return self.join_subscriber(key, link),
            NodeEvent::LocalPublisherJoined { topic, uri } => return self.join_local(key, &topic, &uri),
            NodeEvent::LocalPublisherLeft { topic, uri } => return self.leave_local(key, &topic, &uri),
            // The engine has asked for the connection to be closed, which removed the link.
            NodeEvent::LinkClosed { .. } => return,
            NodeEvent::Stopped { reason } => return self.stopped(key, reason),
            NodeEvent::ParameterChanged { key: name, value } => return self.param_changed(key, &name, value),
            NodeEvent::ServiceClientJoined(link) => return self.join_service_client(key, link),
            NodeEvent::ServiceLinked(linked) => return self.join_service(key, linked),
            NodeEvent::ServiceFailed { link, why } => return self.call_ended(key, link, Err(why)),
            _ => {}
        }
        let Some(slot) = self.engines.get_mut(key) else { return };
        let Engine::Node(node) = &slot.engine else { return };
        if let NodeEvent::PeerRefused { why } = event {
            slot.throttle.warn(clock::monotonic(), format_args!("[{}] {why}", node.name()));
        } else {
            slot.node.note(node.name(), event);
        }
    }

    fn param_changed(&mut self, key: Key, name: &str, value: Option<ParamValue>) {
        let Some(node) = self.node_slot(key) else { return };
        for watch in node.watches.iter().filter(|watch| watch.concerns(name)) {
            watch.changed(name, value.as_ref());
        }
    }

    /// A node has been told to stop: it unregisters, and the last one ends the spinning.
    fn stopped(&mut self, key: Key, reason: String) {
        let Some(slot) = self.engines.get_mut(key) else { return };
        let Engine::Node(node) = &mut slot.engine else { return };
        console::warning!("[{}] told to stop: {reason}", node.name());
        if slot.node.stopped.replace(reason).is_none() {
            node.begin_close(clock::monotonic());
        }
        let runs = |slot: &super::Slot| matches!(slot.engine, Engine::Node(_)) && slot.node.stopped.is_none();
        if !self.engines.iter().any(runs) {
            self.request_stop();
        }
    }

    /// The publication of a topic by the node with this URI, if it is of this process.
    fn publication_at(&self, uri: &str, topic: &str) -> Option<Arc<Publication>> {
        let of_node = |slot: &&super::Slot| matches!(&slot.engine, Engine::Node(node) if node.uri() == uri);
        self.engines.iter().find(of_node)?.node.outputs.get(topic).cloned()
    }

    /// The subscriptions of a node of this process to a topic, by the node's name.
    pub(crate) fn input_of(&self, node: &str, topic: &str) -> Option<Arc<TopicInput>> {
        self.slot_of(node)?.inputs.get(topic).cloned()
    }

    /// The publication of a topic by a node of this process, by the node's name.
    pub(crate) fn output_of(&self, node: &str, topic: &str) -> Option<Arc<Publication>> {
        self.slot_of(node)?.outputs.get(topic).cloned()
    }

    fn slot_of(&self, node: &str) -> Option<&NodeSlot> {
        let of_node =
            |slot: &&super::Slot| matches!(&slot.engine, Engine::Node(other) if other.name() == node);
        self.engines.iter().find(of_node).map(|slot| &slot.node)
    }

    fn join_local(&mut self, key: Key, topic: &str, uri: &str) {
        let publication = self.publication_at(uri, topic);
        let Some(node) = self.node_slot(key) else { return };
        node.locals.entry(topic.to_owned()).or_default().insert(uri.to_owned());
        if let (Some(publication), Some(input)) = (publication, node.inputs.get(topic)) {
            input.for_each(|subscription| publication.join_local(Arc::clone(subscription)));
        }
    }

    fn leave_local(&mut self, key: Key, topic: &str, uri: &str) {
        let publication = self.publication_at(uri, topic);
        let Some(node) = self.node_slot(key) else { return };
        if let Some(uris) = node.locals.get_mut(topic) {
            uris.remove(uri);
        }
        if let (Some(publication), Some(input)) = (publication, node.inputs.get(topic)) {
            input.for_each(|subscription| publication.leave_local(subscription));
        }
    }

    /// Joins the publishers of this process again after a subscription or publication was added.
    pub(crate) fn rejoin_locals(&mut self, topic: &str) {
        for key in self.engines.keys() {
            let uris =
                self.node_slot(key).and_then(|node| node.locals.get(topic).cloned()).unwrap_or_default();
            uris.iter().for_each(|uri| self.join_local(key, topic, uri));
        }
    }

    /// Ends all that a node takes from publishers of this process.
    pub(super) fn leave_locals(&mut self, key: Key) {
        let locals = self.node_slot(key).map(|node| std::mem::take(&mut node.locals)).unwrap_or_default();
        for (topic, uris) in locals {
            uris.iter().for_each(|uri| self.leave_local(key, &topic, uri));
        }
    }

    /// Ends what a subscription takes from publishers of this process.
    pub(crate) fn leave_publishers_of_this_process(&self, subscription: &Arc<SubscriptionCore>) {
        let publications = self.engines.iter().flat_map(|slot| slot.node.outputs.values());
        publications.for_each(|publication| publication.leave_local(subscription));
    }

    /// Publishers of this process that a subscription takes messages from.
    pub(crate) fn count_publishers_of_this_process(&self, subscription: &Arc<SubscriptionCore>) -> usize {
        let publications = self.engines.iter().flat_map(|slot| slot.node.outputs.values());
        publications.filter(|publication| publication.has_local(subscription)).count()
    }

    /// Tells every node which others are of this process.
    pub(crate) fn share_locals(&mut self) {
        let uri = |slot: &super::Slot| match &slot.engine {
            Engine::Node(node) => Some(node.uri()),
            _ => None,
        };
        let uris: Vec<String> = self.engines.iter().filter_map(uri).collect();
        for key in self.engines.keys() {
            self.with_engine(key, |engine, _| {
                if let Engine::Node(node) = engine {
                    node.set_locals(uris.clone());
                }
            });
        }
    }
}

impl NodeSlot {
    /// A registration begins: an earlier answer is no longer one.
    pub(crate) fn begin(&mut self, role: Role, topic: &str) {
        self.answered.remove(&(role, topic.to_owned()));
    }

    /// Removes a subscription; true if it was the last one to the topic.
    pub(crate) fn remove_input(&mut self, topic: &str, subscription: &Arc<SubscriptionCore>) -> bool {
        let last = self.inputs.get(topic).is_some_and(|input| input.remove(subscription));
        if last {
            self.inputs.remove(topic);
            self.locals.remove(topic);
            self.begin(Role::Subscriber, topic);
        }
        last
    }

    /// Notes what others wait for, and logs what users should know.
    fn note(&mut self, name: &str, event: NodeEvent) {
        match event {
            NodeEvent::Registered { role, topic } => {
                self.unreachable = None;
                self.answered.insert((role, topic), None);
            }
            NodeEvent::RegistrationRefused { role, topic, why } => {
                console::error!("[{name}] the master refuses {topic}: {why}");
                self.answered.insert((role, topic), Some(why));
            }
            NodeEvent::MasterUnreachable { why } => {
                console::warning!("[{name}] the master does not answer and is tried until it does: {why}");
                self.unreachable = Some(why);
            }
            NodeEvent::MasterBack => {
                console::info!("[{name}] the master is back");
                self.unreachable = None;
            }
            NodeEvent::Closed => self.closed = true,
            _ => {}
        }
    }
}
