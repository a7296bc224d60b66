//! Lifecycle node: a node with a state machine, and the services and the topic by which other nodes drive it.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use runnel_core::Message;
use runnel_core::message::Service;
use runnel_core::qos::QoS;
use runnel_io::clock;
use runnel_msgs::lifecycle_msgs::msg::TransitionEvent;
use runnel_msgs::lifecycle_msgs::srv::{
    ChangeState, ChangeStateRequest, ChangeStateResponse, GetAvailableStates, GetAvailableTransitions,
    GetState,
};

use super::interface::{self, LifecycleNodeInterface};
use super::publisher::{Activation, LifecyclePublisher};
use super::services;
use super::state_machine::{CallbackReturn, LifecycleState, StateMachine, Transition, Wanted};
use crate::context::Context;
use crate::error::Error;
use crate::node::Node;
use crate::node::node_options::NodeOptions;
use crate::node::options::PublisherOptions;
use crate::ready::Dispatch;
use crate::services::internal::answers;
use crate::services::service::ServiceServer;
use crate::sync::{Class, Mutex, TryMutex, lock};
use crate::topics::publisher::Publisher;

/// A node whose work other nodes start and stop, as rclcpp's `LifecycleNode`. It dereferences to its [`Node`], which
/// other entities belong to. Cloning returns another handle.
///
/// It provides the services `~/change_state`, `~/get_state`, `~/get_available_states`, `~/get_available_transitions` and
/// `~/get_transition_graph`, and publishes `~/transition_event`. Transitions that other nodes request run on a spinning
/// thread.
#[derive(Clone)]
#[must_use = "a node leaves the graph when its last handle is dropped: bind it to a name, `let node = ...`, not `let _ = ...`"]
pub struct LifecycleNode {
    inner: Arc<Inner>,
}

struct Inner {
    node: Node,
    /// Shared with the services that read it. They run with the driver locked, and so must not own the node.
    state: Arc<Mutex<State>>,
    /// Locked during a transition.
    interface: TryMutex<Box<dyn LifecycleNodeInterface>>,
    events: Publisher<TransitionEvent>,
    services: Mutex<Vec<ServiceServer>>,
}

struct State {
    machine: StateMachine,
    publishers: Vec<Weak<Activation>>,
}

/// A transition that was not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionError {
    node: String,
    transition: String,
    /// The state of the node.
    pub state: LifecycleState,
    available: Vec<&'static str>,
}

impl fmt::Display for TransitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, transition, state, available } = self;
        write!(f, "node {node}: transition {transition} not started: the node is {state}.")?;
        match available.as_slice() {
            _ if state.is_transition() => f.write_str(" Try: later"),
            [] => f.write_str(" Try: a new node"),
            available => write!(f, " Try: {}", available.join(", ")),
        }
    }
}

impl StdError for TransitionError {}

impl Context {
    /// Creates a lifecycle node, which is unconfigured. `interface` has the callbacks of its transitions.
    ///
    /// # Errors
    /// As [`Context::create_node`] and [`Node::create_service`].
    pub fn create_lifecycle_node(
        &self,
        name: &str,
        interface: impl LifecycleNodeInterface,
    ) -> Result<LifecycleNode, Error> {
        self.create_lifecycle_node_with_options(name, NodeOptions::default(), interface)
    }

    /// Creates a lifecycle node as [`Context::create_lifecycle_node`], with options.
    ///
    /// # Errors
    /// As [`Context::create_lifecycle_node`].
    pub fn create_lifecycle_node_with_options(
        &self,
        name: &str,
        options: NodeOptions,
        interface: impl LifecycleNodeInterface,
    ) -> Result<LifecycleNode, Error> {
        let node = self.create_node_with_options(name, options)?;
        let state = State { machine: StateMachine::new(), publishers: Vec::new() };
        let inner = Arc::new(Inner {
            events: node.create_publisher("~transition_event", QoS::keep_last(10).reliable())?,
            node,
            state: Arc::new(Mutex::new(Class::LifecycleState, state)),
            interface: TryMutex::new(Box::new(interface)),
            services: Mutex::new(Class::LifecycleServices, Vec::new()),
        });
        let services = services_of(&inner)?;
        *lock(&inner.services) = services;
        Ok(LifecycleNode { inner })
    }
}

/// The services of a node. Those that only read its state are answered during a transition, too.
fn services_of(inner: &Arc<Inner>) -> Result<Vec<ServiceServer>, Error> {
    let node = &inner.node;
    let changed = Arc::downgrade(inner);
    let change_state = node.create_service::<ChangeState, _>("~change_state", move |request| {
        let node = changed.upgrade().map(|inner| LifecycleNode { inner });
        node.map(|node| node.change_state(request)).ok_or("the node has ended")
    })?;
    Ok(vec![
        change_state,
        inline::<GetState>(inner, "~get_state", |state| services::get_state(&state.machine))?,
        inline::<GetAvailableStates>(inner, "~get_available_states", |_| services::get_available_states())?,
        inline::<GetAvailableTransitions>(inner, "~get_available_transitions", |state| {
            services::get_available_transitions(&state.machine)
        })?,
        inline::<GetAvailableTransitions>(inner, "~get_transition_graph", |_| {
            services::get_transition_graph()
        })?,
    ])
}

/// A service that reads the state. Any thread that runs the driver answers it.
fn inline<S: Service>(
    inner: &Arc<Inner>,
    name: &str,
    answer: fn(&State) -> S::Response,
) -> Result<ServiceServer, Error> {
    let state = Arc::clone(&inner.state);
    let answer = move |_: &S::Request| Ok::<_, Infallible>(answer(&lock(&state)));
    inner.node.provide::<S>(name, Dispatch::Inline, answers::<S, Infallible>(answer))
}

impl LifecycleNode {
    /// The node that topics, services and parameters belong to.
    pub fn node(&self) -> &Node {
        &self.inner.node
    }

    /// The current state.
    pub fn get_current_state(&self) -> LifecycleState {
        lock(&self.inner.state).machine.current()
    }

    /// Creates a publisher that discards messages while the node is not active.
    ///
    /// # Errors
    /// As [`Node::create_publisher`].
    pub fn create_lifecycle_publisher<M: Message>(
        &self,
        topic: &str,
        options: impl Into<PublisherOptions>,
    ) -> Result<LifecyclePublisher<M>, Error> {
        let publisher = self.create_publisher::<M>(topic, options)?;
        let activation = Arc::new(Activation::default());
        let mut state = lock(&self.inner.state);
        let current = state.machine.current();
        activation.set(matches!(
            current,
            LifecycleState::Activating | LifecycleState::Active | LifecycleState::Deactivating
        ));
        state.publishers.retain(|publisher| publisher.strong_count() > 0);
        state.publishers.push(Arc::downgrade(&activation));
        drop(state);
        Ok(LifecyclePublisher::new(publisher, activation, self.logger().clone()))
    }

    /// Configures the node: unconfigured to inactive. Returns the result of `on_configure`.
    ///
    /// # Errors
    /// [`TransitionError`] if the node is in another state, which it names, or a transition is in progress.
    pub fn trigger_configure(&self) -> Result<CallbackReturn, TransitionError> {
        self.trigger_transition("configure")
    }

    /// Cleans the node up: inactive to unconfigured. Returns the result of `on_cleanup`.
    ///
    /// # Errors
    /// [`TransitionError`] if the node is in another state, which it names, or a transition is in progress.
    pub fn trigger_cleanup(&self) -> Result<CallbackReturn, TransitionError> {
        self.trigger_transition("cleanup")
    }

    /// Activates the node: inactive to active. Returns the result of `on_activate`.
    ///
    /// # Errors
    /// [`TransitionError`] if the node is in another state, which it names, or a transition is in progress.
    pub fn trigger_activate(&self) -> Result<CallbackReturn, TransitionError> {
        self.trigger_transition("activate")
    }

    /// Deactivates the node: active to inactive. Returns the result of `on_deactivate`.
    ///
    /// # Errors
    /// [`TransitionError`] if the node is in another state, which it names, or a transition is in progress.
    pub fn trigger_deactivate(&self) -> Result<CallbackReturn, TransitionError> {
        self.trigger_transition("deactivate")
    }

    /// Shuts the node down: any primary state to finalized. Returns the result of `on_shutdown`.
    ///
    /// # Errors
    /// [`TransitionError`] if the node is finalized, or a transition is in progress.
    pub fn trigger_shutdown(&self) -> Result<CallbackReturn, TransitionError> {
        self.trigger_transition("shutdown")
    }

    fn trigger_transition(&self, label: &str) -> Result<CallbackReturn, TransitionError> {
        self.change(Wanted::Label(label))
    }

    fn change_state(&self, request: &ChangeStateRequest) -> ChangeStateResponse {
        let result = self.change(services::wanted(request));
        if let Err(error) = &result {
            crate::log_error!(self.node(), "{error}");
        }
        ChangeStateResponse { success: result == Ok(CallbackReturn::Success) }
    }

    /// Runs a transition with its callbacks. It is locked until its events are published, so these are in order.
    fn change(&self, wanted: Wanted<'_>) -> Result<CallbackReturn, TransitionError> {
        let refused = || self.refused(wanted);
        let mut interface = self.inner.interface.try_lock().ok_or_else(refused)?;
        let started = lock(&self.inner.state).machine.start(wanted);
        let started = started.ok_or_else(refused)?;
        let _unwinding = Unwinding(self);
        self.publish(started);
        if started.goal == LifecycleState::Activating {
            self.set_active(true);
        }
        let result = self.call(&mut **interface, started.goal, started.start);
        self.finish(result);
        if result == CallbackReturn::Error {
            let handled = self.call(&mut **interface, LifecycleState::ErrorProcessing, started.start);
            self.finish(handled);
        }
        Ok(result)
    }

    fn refused(&self, wanted: Wanted<'_>) -> TransitionError {
        let state = lock(&self.inner.state);
        TransitionError {
            node: self.full_name().to_owned(),
            transition: wanted.to_string(),
            state: state.machine.current(),
            available: state.machine.available().map(|transition| transition.label).collect(),
        }
    }

    fn call(
        &self,
        interface: &mut dyn LifecycleNodeInterface,
        during: LifecycleState,
        previous: LifecycleState,
    ) -> CallbackReturn {
        interface::call(interface, during, self, previous).unwrap_or_else(|error| {
            crate::log_error!(self.node(), "{during}: {error}");
            CallbackReturn::Error
        })
    }

    /// Ends the transition in progress.
    fn finish(&self, result: CallbackReturn) {
        let finished = lock(&self.inner.state).machine.finish(result);
        let Some(transition) = finished else { return };
        self.set_active(transition.goal == LifecycleState::Active);
        self.publish(transition);
    }

    fn set_active(&self, active: bool) {
        let state = lock(&self.inner.state);
        state.publishers.iter().filter_map(Weak::upgrade).for_each(|publisher| publisher.set(active));
    }

    fn publish(&self, transition: &Transition) {
        let event = TransitionEvent {
            timestamp: u64::try_from(clock::realtime().as_nanos()).unwrap_or_default(),
            transition: services::transition_message(transition),
            start_state: services::state_message(transition.start),
            goal_state: services::state_message(transition.goal),
        };
        if let Err(error) = self.inner.events.publish(event) {
            crate::log_warn!(self.node(), "transition {} not announced: {error}", transition.label);
        }
    }
}

/// Ends a transition whose callback panics: the node is finalized.
struct Unwinding<'a>(&'a LifecycleNode);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.finish(CallbackReturn::Error);
            self.0.finish(CallbackReturn::Error);
        }
    }
}

impl Deref for LifecycleNode {
    type Target = Node;

    fn deref(&self) -> &Node {
        self.node()
    }
}

impl fmt::Debug for LifecycleNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LifecycleNode")
            .field("name", &self.full_name())
            .field("state", &self.get_current_state())
            .finish_non_exhaustive()
    }
}
