//! What nodes' events mean for the data plane.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_io::clock;
use runnel_ros1::node::{NodeEvent, Role, ServiceLinkId, TopicError, TopicSpec};
use runnel_ros1::rpc::{CallError, CallId};
use runnel_ros1::xmlrpc::Value;

use super::engine::Notice;
use super::services::Call;
use super::table::Key;
use super::{Driver, Engine, Slot};
use crate::data::{Publication, ServiceCore, SubscriptionCore, TopicInput};
use crate::error::Error;
use crate::logging::{NodeLog, console};
use crate::params::{ParamValue, WatchCore};
use crate::ros_clock::{CLOCK, USE_SIM_TIME};

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
    /// Where what is to be said of it goes.
    pub(crate) log: Option<Arc<NodeLog>>,
    /// It hears of `/use_sim_time`.
    pub(crate) follows_sim_time: bool,
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
                    slot.warn_of_peer(format_args!("{line}"));
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
        if let NodeEvent::PeerTrouble { why } = event {
            slot.warn_of_peer(format_args!("{why}"));
        } else {
            slot.node.note(event);
        }
    }

    fn param_changed(&mut self, key: Key, name: &str, value: Option<ParamValue>) {
        let Some(node) = self.node_slot(key) else { return };
        for watch in node.watches.iter().filter(|watch| watch.concerns(name)) {
            watch.changed(name, value.as_ref());
        }
        let follows = name == USE_SIM_TIME && node.follows_sim_time;
        match value {
            Some(ParamValue::Bool(simulated)) if follows => self.simulate_time(key, simulated),
            Some(ParamValue::Int(number)) if follows => self.simulate_time(key, number != 0),
            // A master that came back without its parameters ends no simulation.
            _ => {}
        }
    }

    /// Time is simulated from now on, or no longer. One node of all hears `/clock`: by two ways the same times would come
    /// twice, and go backwards in between.
    fn simulate_time(&mut self, key: Key, simulated: bool) {
        match self.clock.take() {
            Some((hearer, core)) if !simulated => {
                self.simulation.set(false);
                self.remove_subscription(hearer, CLOCK, &core);
            }
            None if simulated => self.hear_clock(key),
            unchanged => self.clock = unchanged,
        }
    }

    fn hear_clock(&mut self, key: Key) {
        let (core, spec) = self.simulation.subscription();
        match self.add_subscription(key, &core, spec) {
            Ok(_) => {
                self.clock = Some((key, core));
                self.simulation.set(true);
            }
            Err(error) => {
                if let Some(slot) = self.node_slot(key) {
                    slot.say(log::Level::Error, format_args!("no simulated time: {error}"));
                }
            }
        }
    }

    /// A node ends: if it was the one that hears `/clock`, another one does from now on.
    pub(super) fn hand_clock_on(&mut self, from: Key) {
        let Some((_, core)) = self.clock.take_if(|(hearer, _)| *hearer == from) else { return };
        self.remove_subscription(from, CLOCK, &core);
        let follows = |slot: &Slot| slot.node.follows_sim_time && slot.node.stopped.is_none();
        let mut keys = self.engines.keys().into_iter();
        match keys.find(|key| *key != from && self.engines.get(*key).is_some_and(follows)) {
            Some(next) => self.hear_clock(next),
            None => self.simulation.set(false),
        }
    }

    /// Adds a subscription to a node.
    pub(crate) fn add_subscription(
        &mut self,
        key: Key,
        core: &Arc<SubscriptionCore>,
        spec: TopicSpec,
    ) -> Result<Arc<TopicInput>, Error> {
        let (topic, asked) = (spec.topic.clone(), spec.type_name.clone());
        let subscribed =
            self.with_engine(key, |engine, now| engine.as_node().map(|node| node.subscribe(now, spec)));
        subscribed.flatten().ok_or(Error::ShuttingDown)??;
        let slot = self.node_slot(key).ok_or(Error::ShuttingDown)?;
        let input = Arc::clone(slot.inputs.entry(topic.clone()).or_default());
        // A subscription to any type agrees with all others, but these need not agree with each other.
        if let Some(has) = input.conflict(core) {
            return Err(TopicError::TypeConflict { topic, has, asked }.into());
        }
        input.add(Arc::clone(core));
        self.rejoin_locals(&topic);
        Ok(input)
    }

    /// A subscription is gone: with the last one to a topic, its links go.
    pub(crate) fn remove_subscription(&mut self, key: Key, topic: &str, core: &Arc<SubscriptionCore>) {
        self.leave_publishers_of_this_process(core);
        if self.node_slot(key).is_some_and(|slot| slot.remove_input(topic, core)) {
            self.with_engine(key, |engine, now| {
                if let Some(node) = engine.as_node() {
                    node.unsubscribe(now, topic);
                }
            });
        }
    }

    /// A node has been told to stop: it unregisters, and the last one ends the spinning.
    fn stopped(&mut self, key: Key, reason: String) {
        let Some(slot) = self.engines.get_mut(key) else { return };
        let Engine::Node(node) = &mut slot.engine else { return };
        slot.node.say(log::Level::Warn, format_args!("told to stop: {reason}"));
        if slot.node.stopped.replace(reason).is_none() {
            node.begin_close(clock::monotonic());
            self.hand_clock_on(key);
        }
        let runs = |slot: &Slot| matches!(slot.engine, Engine::Node(_)) && slot.node.stopped.is_none();
        if !self.engines.iter().any(runs) {
            self.request_stop();
        }
    }

    /// The publication of a topic by the node with this URI, if it is of this process.
    fn publication_at(&self, uri: &str, topic: &str) -> Option<Arc<Publication>> {
        let of_node = |slot: &&Slot| matches!(&slot.engine, Engine::Node(node) if node.uri() == uri);
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
        let of_node = |slot: &&Slot| matches!(&slot.engine, Engine::Node(other) if other.name() == node);
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
        let uri = |slot: &Slot| match &slot.engine {
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

impl Slot {
    /// Says what peers did, as long as they do not do it all the time.
    pub(super) fn warn_of_peer(&mut self, line: fmt::Arguments<'_>) {
        let node = &self.node;
        self.throttle.warn(clock::monotonic(), line, |line| node.say(log::Level::Warn, line));
    }
}

impl NodeSlot {
    /// Says something of the node, or of an engine that is none.
    pub(super) fn say(&self, level: log::Level, line: fmt::Arguments<'_>) {
        match &self.log {
            Some(log) => log.say(level, line),
            None => console::say(level, line),
        }
    }

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
    fn note(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::Registered { role, name } => {
                self.unreachable = None;
                self.answered.insert((role, name), None);
            }
            NodeEvent::RegistrationRefused { role, name, why } => {
                self.say(log::Level::Error, format_args!("the master refuses {name}: {why}"));
                self.answered.insert((role, name), Some(why));
            }
            NodeEvent::MasterUnreachable { why } => {
                let text = format_args!("the master does not answer and is tried until it does: {why}");
                self.say(log::Level::Warn, text);
                self.unreachable = Some(why);
            }
            NodeEvent::MasterBack => {
                self.say(log::Level::Warn, format_args!("the master is back"));
                self.unreachable = None;
            }
            NodeEvent::Closed => self.closed = true,
            _ => {}
        }
    }
}
