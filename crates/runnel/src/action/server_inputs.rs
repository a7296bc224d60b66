//! What an action server receives in each graph, and the user's callbacks for it.

use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_core::wire::Bytes;
use runnel_msgs::action_msgs::srv::CancelGoal;

use super::ros2_goals::CancelCode;
use super::ros2_message::{cancel_response, goal_response};
use super::ros2_service::{serve, waiting};
use super::server_core::{ServerCore, ServerGoal};
use super::server_types::ServerTypes;
use super::types::{Type, ros2_name};
use crate::callback_group::{CallbackGroup, ExclusiveGroup};
use crate::data::{Delivery, Unreadable};
use crate::error::Error;
use crate::node::Node;
use crate::services::service::{ProvidedType, ServiceServer};
use crate::sync::TryMutex;
use crate::topics::subscription::{Subscription, Takes};
use crate::types::announced::Topic;

/// Queue depth of goals and cancel requests while callbacks run.
const DEPTH: usize = 1000;

type Callback<A> = Box<dyn FnMut(Arc<ServerGoal<A>>) + Send>;

/// The user's callbacks. The entities that call one share its group, so that only one thread calls it.
pub(super) struct ServerCallbacks<A: ServerTypes> {
    on_goal: TryMutex<Callback<A>>,
    on_cancel: TryMutex<Callback<A>>,
}

impl<A: ServerTypes> ServerCallbacks<A> {
    pub(super) fn new(
        on_goal: impl FnMut(Arc<ServerGoal<A>>) + Send + 'static,
        on_cancel: impl FnMut(Arc<ServerGoal<A>>) + Send + 'static,
    ) -> Self {
        Self { on_goal: TryMutex::new(Box::new(on_goal)), on_cancel: TryMutex::new(Box::new(on_cancel)) }
    }

    fn call(callback: &TryMutex<Callback<A>>, goal: Arc<ServerGoal<A>>) {
        if let Some(mut callback) = callback.try_lock() {
            callback(goal);
        }
    }
}

/// See the module's documentation.
pub(super) struct ServerInputs {
    pub(super) ros1: Option<Ros1Inputs>,
    pub(super) ros2: Option<Ros2Inputs>,
}

/// The topics that ROS 1 clients publish.
pub(super) struct Ros1Inputs {
    goals: Subscription,
    _cancels: Subscription,
}

/// The services that ROS 2 clients call.
pub(super) struct Ros2Inputs {
    send_goal: ServiceServer,
    get_result: ServiceServer,
    cancel_goal: ServiceServer,
}

impl ServerInputs {
    /// Receives for a server from now on.
    pub(super) fn new<A: ServerTypes>(
        (node, action, group): (&Node, &str, Option<&CallbackGroup>),
        core: &Arc<ServerCore<A>>,
        callbacks: ServerCallbacks<A>,
    ) -> Result<Self, Error> {
        let callbacks = Arc::new(callbacks);
        let groups = [(); 2].map(|()| CallbackGroup::for_entity(group));
        let goal = core.types.types().ros1.filter(|_| node.inner.is_in_ros1()).map(|types| types.goal);
        let ros1 = goal.map(|goal| Ros1Inputs::new((node, action, goal), core, &callbacks, &groups));
        let services = core.types.services(&node.inner).filter(|_| node.inner.is_in_ros2());
        let ros2 =
            services.map(|services| Ros2Inputs::new((node, action, services), core, &callbacks, &groups));
        Ok(Self { ros1: ros1.transpose()?, ros2: ros2.transpose()? })
    }
}

impl Ros1Inputs {
    fn new<A: ServerTypes>(
        (node, action, goal): (&Node, &str, Type),
        core: &Arc<ServerCore<A>>,
        callbacks: &Arc<ServerCallbacks<A>>,
        [goal_group, cancel_group]: &[Arc<ExclusiveGroup>; 2],
    ) -> Result<Self, Error> {
        let topic = |of: Type, suffix: &str| of.topic(node, action, suffix);
        let (server, calls) = (Arc::clone(core), Arc::clone(callbacks));
        let on_cancel = move |client: &str, bytes: Bytes<'_>| {
            let ask = &mut |goal| ServerCallbacks::call(&calls.on_cancel, goal);
            Ok(server.on_cancel_message(client, bytes, ask)?)
        };
        let (server, calls) = (Arc::clone(core), Arc::clone(callbacks));
        let on_goal = move |client: &str, bytes: Bytes<'_>| {
            let goal = server.on_goal_message(client, bytes)?;
            goal.into_iter().for_each(|goal| ServerCallbacks::call(&calls.on_goal, goal));
            Ok(())
        };
        Ok(Self {
            _cancels: subscribe(node, &topic(Type::cancel(), "cancel")?, cancel_group, on_cancel)?,
            goals: subscribe(node, &topic(goal, "goal")?, goal_group, on_goal)?,
        })
    }
}

impl Ros1Inputs {
    /// Passes the goals that wait to a server without calling the user's callback.
    pub(super) fn take_goals<A: ServerTypes>(&self, core: &Arc<ServerCore<A>>) {
        self.goals.take_each(|from, bytes| core.on_goal_message(&from.publisher, bytes).map(drop));
    }
}

impl Ros2Inputs {
    fn new<A: ServerTypes>(
        (node, action, [send_goal, get_result]): (&Node, &str, [ProvidedType; 2]),
        core: &Arc<ServerCore<A>>,
        callbacks: &Arc<ServerCallbacks<A>>,
        [goal_group, cancel_group]: &[Arc<ExclusiveGroup>; 2],
    ) -> Result<Self, Error> {
        let name = |suffix: &str| ros2_name(node, action, suffix);
        let (server, calls) = (Arc::clone(core), Arc::clone(callbacks));
        let on_goal = move |request| {
            let goal = server.on_goal_request(request);
            goal.into_iter().for_each(|goal| ServerCallbacks::call(&calls.on_goal, goal));
        };
        let (server, calls) = (Arc::clone(core), Arc::clone(callbacks));
        let on_cancel = move |request| {
            server.on_cancel_request(request, &mut |goal| ServerCallbacks::call(&calls.on_cancel, goal));
        };
        let (server, waits) = (Arc::clone(core), Arc::clone(core));
        let on_clients_gone = move || waits.drop_absent_clients();
        let on_result = move |request| server.on_result_request(request);
        let (result_group, unknown) = (Arc::new(ExclusiveGroup::new()), core.unknown_goal()?);
        let refused_goal = (goal_group, goal_response(None));
        let refused_cancel = (cancel_group, cancel_response(CancelCode::Rejected as i8, &[]));
        let refused_result = (&result_group, unknown.to_vec());
        let cancel_goal = ProvidedType::of::<CancelGoal>(&node.inner);
        Ok(Self {
            send_goal: serve(node, (name("send_goal")?, send_goal), refused_goal, on_goal, || ())?,
            get_result: serve(
                node,
                (name("get_result")?, get_result),
                refused_result,
                on_result,
                on_clients_gone,
            )?,
            cancel_goal: serve(node, (name("cancel_goal")?, cancel_goal), refused_cancel, on_cancel, || ())?,
        })
    }

    /// Answers the requests that wait, of a server that has ended, without calling the user's callbacks.
    pub(super) fn answer_waiting<A: ServerTypes>(&self, core: &Arc<ServerCore<A>>) {
        waiting(&self.send_goal).for_each(|request| drop(core.on_goal_request(request)));
        waiting(&self.get_result).for_each(|request| core.on_result_request(request));
        waiting(&self.cancel_goal).for_each(|request| core.on_cancel_request(request, &mut drop));
    }
}

/// Subscribes to a topic of clients. `handler` gets the client's name and the bytes.
fn subscribe(
    node: &Node,
    topic: &Topic,
    group: &Arc<ExclusiveGroup>,
    mut handler: impl FnMut(&str, Bytes<'_>) -> Result<(), Unreadable> + Send + 'static,
) -> Result<Subscription, Error> {
    let callback = move |delivery: Delivery<'_>| match delivery {
        Delivery::Bytes { bytes, from, .. } => handler(&from.publisher, bytes.bytes()),
        Delivery::Shared { .. } => Ok(()),
    };
    node.subscribe_in_group(topic, QoS::keep_last(DEPTH), (Takes::default(), group), callback)
}
