//! Part of action clients that does not depend on the action's type.

use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_core::time::Time;
use runnel_core::wire::{Bytes, DecodeError, GrowingSink, Wire, decode};
use runnel_io::clock;
use runnel_msgs::actionlib_msgs::msg::{GoalID, GoalStatusArray};

use super::goal::{self, Callback, Goal};
use super::header::{read_with_status, write_goal};
use super::tracker::Tracker;
use super::types::{ActionTypes, Type};
use crate::callback_group::ExclusiveGroup;
use crate::data::{Delivery, SubscriptionCore};
use crate::error::Error;
use crate::goal_status::GoalId;
use crate::node::Node;
use crate::publisher::BytesPublisher;
use crate::ready::{Dispatch, Waitable};
use crate::subscription::{Subscription, Takes};
use crate::task_waiter::TaskWaiter;
use crate::wait_set::WaitSet;

/// Queue depth of goals and cancel requests for a slow server, and of results and feedback for a slow client.
const DEPTH: usize = 1000;

/// Retry period while another thread takes messages.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// Queue depth of status lists: each replaces those before it.
const LISTS: usize = 10;

/// An action client. No user code runs when it processes messages, so a thread that waits for a goal can do so itself
/// and no thread needs to spin.
pub(super) struct ClientCore {
    node: Node,
    tracker: Arc<Tracker>,
    goals: BytesPublisher,
    cancels: BytesPublisher,
    feedback: Input,
    results: Input,
    lists: Input,
}

/// A topic published by the server.
#[derive(Clone)]
struct Input {
    subscription: Arc<Subscription>,
    /// Group of the callback, or of the thread that takes messages in its place. Feedback and results share one, so
    /// that they stay in order.
    group: Arc<ExclusiveGroup>,
    handler: MessageHandler,
}

impl Input {
    /// Processes the waiting messages. The caller is in the group.
    fn take_all(&self) {
        self.subscription.take_each(&*self.handler);
    }

    /// Processes the waiting messages. False if more wait, or another thread processes them.
    fn process_received(&self) -> bool {
        let Ok(_entered) = self.group.try_enter() else { return false };
        self.take_all();
        !self.subscription.is_ready()
    }
}

impl ClientCore {
    /// Creates a client of the action of this name, with these topic types.
    pub(super) fn new(node: &Node, action: &str, types: ActionTypes) -> Result<Arc<Self>, Error> {
        let action = &node.resolve(action)?;
        node.inner.needs_ros1(format_args!("action {action}"))?;
        let tracker = Arc::new(Tracker::new(action.clone()));
        let topic = |of: Type, suffix: &str| BytesPublisher::on(node, of, action, suffix);
        let (goals, cancels) = (topic(types.goal, "goal")?, topic(Type::cancel(), "cancel")?);
        let hear = |of: Type, suffix: &str, group: &Arc<ExclusiveGroup>, handler: MessageHandler| {
            let callback = Arc::clone(&handler);
            let update = move |delivery: Delivery<'_>| match delivery {
                Delivery::Bytes { bytes, from, .. } => Ok(callback(&from.publisher, bytes.bytes())?),
                Delivery::Shared { .. } => Ok(()),
            };
            let (topic, qos) = (of.topic(node, action, suffix)?, QoS::keep_last(depth_of(suffix)));
            let subscription =
                Arc::new(node.subscribe_in_group(&topic, qos, (Takes::default(), group), update)?);
            Ok::<_, Error>(Input { subscription, group: Arc::clone(group), handler })
        };
        let [goal_group, list_group] = [(); 2].map(|()| Arc::new(ExclusiveGroup::new()));
        let feedback = hear(types.feedback, "feedback", &goal_group, feedback_handler(&tracker))?;
        let results = hear(types.result, "result", &goal_group, result_handler(&tracker, &feedback))?;
        let lists = hear(Type::status(), "status", &list_group, list_handler(&tracker, &results))?;
        Ok(Arc::new(Self { node: node.clone(), tracker, goals, cancels, feedback, results, lists }))
    }

    /// The action's absolute name.
    pub(super) fn action(&self) -> &str {
        self.tracker.action()
    }

    /// Sends a goal that `write` appends. `callback` gets feedback and the end.
    pub(super) fn send(
        &self,
        write: impl Fn(&mut GrowingSink),
        callback: Option<(Dispatch, Callback)>,
    ) -> Result<Arc<Goal>, Error> {
        let stamp = self.node.now();
        let calls = callback.map(|(dispatch, callback)| goal::calls(dispatch, callback));
        let goal = Arc::new(Goal::new(GoalId::next(self.node.full_name(), stamp), stamp, calls));
        self.tracker.add(&goal)?;
        let sent = self.goals.publish(|out| write_goal(out, &goal.id, stamp, &write));
        sent.inspect_err(|_| self.tracker.remove(&goal)).map(|()| goal)
    }

    /// Dispatch of callbacks to the node's executor.
    pub(super) fn executor_dispatch(&self) -> Dispatch {
        self.node.inner.executor_dispatch()
    }

    /// Waiter for the server's topics and these entities.
    pub(super) fn waiter(&self, mut entities: Vec<Arc<dyn Waitable>>) -> TaskWaiter {
        for input in [&self.feedback, &self.results, &self.lists] {
            entities.push(Arc::<SubscriptionCore>::clone(input.subscription.core()));
        }
        TaskWaiter::new(&self.node.context().shared, entities)
    }

    /// Waitable for tasks that wait for links to the server.
    pub(super) fn activity(&self) -> Arc<dyn Waitable> {
        Arc::clone(self.node.context().shared.event_loop.activity()) as _
    }

    /// Processes received messages for a task that waits for more.
    pub(super) fn process_received_for(&self, task: &Context<'_>) {
        if !self.process_received() {
            // Another thread takes messages. Nothing signals when it is done.
            task.waker().wake_by_ref();
        }
    }

    /// Requests the server to cancel a goal, unless it cannot be cancelled any more.
    pub(super) fn cancel(&self, goal: &Goal) -> Result<(), Error> {
        self.process_received();
        if goal.cancel() { self.request_cancel(&goal.id.to_string(), Time::default()) } else { Ok(()) }
    }

    /// Requests the server to cancel the goal with this id, those with this stamp or an earlier one, or (with neither)
    /// all.
    pub(super) fn request_cancel(&self, id: &str, stamp: Time) -> Result<(), Error> {
        let request = GoalID { stamp, id: id.to_owned() };
        self.cancels.publish(|out| request.write(out))
    }

    /// Processes received messages. False if more wait, or another thread processes them.
    pub(super) fn process_received(&self) -> bool {
        let inputs = [&self.feedback, &self.results, &self.lists];
        inputs.map(Input::process_received).iter().all(|took_all| *took_all)
    }

    /// Whether a server is connected: it publishes lists, feedback and results, and receives goals and cancel requests.
    pub(super) fn is_connected(&self) -> bool {
        self.process_received();
        self.tracker.server().is_some_and(|server| {
            self.goals.reaches(&server)
                && self.cancels.reaches(&server)
                && self.results.subscription.has_publisher(&server)
                && self.feedback.subscription.has_publisher(&server)
        })
    }

    /// Waits at most `timeout` until a server is connected. False if none is.
    pub(super) fn wait_for_server(&self, timeout: Duration) -> Result<bool, Error> {
        let (shared, mut is_connected) = (&self.node.context().shared, false);
        shared.wait_unlocked(timeout, || {
            is_connected = self.is_connected();
            is_connected || !shared.ok()
        })?;
        if is_connected || shared.ok() { Ok(is_connected) } else { Err(Error::ShuttingDown) }
    }

    /// Waits at most `timeout` for the end of a goal and calls its callbacks meanwhile. False if it has not ended.
    pub(super) fn wait_for_end(&self, goal: &Arc<Goal>, timeout: Duration) -> Result<bool, Error> {
        let (event_loop, until) = (&self.node.context().shared.event_loop, clock::monotonic() + timeout);
        let mut wait_set = WaitSet::of(&self.node.context().shared);
        for input in [&self.feedback, &self.results, &self.lists] {
            wait_set.add(Arc::clone(input.subscription.core()));
        }
        wait_set.add(Arc::clone(goal));
        // User callbacks may run here, and take long.
        event_loop.ensure_background_thread();
        loop {
            let took_all = self.process_received();
            let ended = goal.end().is_some();
            if let Some(calls) = goal.calls() {
                calls.run_due();
            }
            let left = until.since(clock::monotonic());
            if ended || left.is_zero() {
                event_loop.finish_wait();
                return Ok(ended);
            }
            if took_all {
                wait_set.wait(Some(left))?;
            } else {
                // Another thread takes messages. Nothing signals when it is done.
                event_loop.poll_or_park(clock::monotonic() + left.min(RETRY_INTERVAL))?;
            }
        }
    }
}

/// Handler of a message, with the name of the server's node.
type MessageHandler = Arc<dyn Fn(&str, Bytes<'_>) -> Result<(), DecodeError> + Send + Sync>;

/// Queue depth of a topic.
fn depth_of(suffix: &str) -> usize {
    if suffix == "status" { LISTS } else { DEPTH }
}

fn feedback_handler(tracker: &Arc<Tracker>) -> MessageHandler {
    let tracker = Arc::clone(tracker);
    Arc::new(move |_, bytes| {
        let (status, feedback) = read_with_status(bytes)?;
        tracker.on_feedback(&status, feedback);
        Ok(())
    })
}

/// Handles results. Feedback that has arrived was sent before the result, so it is processed first.
fn result_handler(tracker: &Arc<Tracker>, feedback: &Input) -> MessageHandler {
    let (tracker, feedback) = (Arc::clone(tracker), feedback.clone());
    Arc::new(move |server, bytes| {
        let (status, result) = read_with_status(bytes)?;
        feedback.take_all();
        tracker.on_result(server, &status, result);
        Ok(())
    })
}

/// Handles status lists. A goal missing from a list is lost, unless its result waits unread. If another thread is
/// processing results, the next list decides.
fn list_handler(tracker: &Arc<Tracker>, results: &Input) -> MessageHandler {
    let (tracker, results) = (Arc::clone(tracker), results.clone());
    Arc::new(move |server, bytes| {
        let list: GoalStatusArray = decode(bytes)?;
        let has_all_results = results.process_received();
        tracker.on_status_list(server, (&list, has_all_results), clock::monotonic());
        Ok(())
    })
}

impl BytesPublisher {
    /// Creates a publisher of the topic `suffix` below an action's name.
    fn on(node: &Node, of: Type, action: &str, suffix: &str) -> Result<Self, Error> {
        let topic = of.topic(node, action, suffix)?;
        Ok(Self::new(node.publishing(&topic, QoS::keep_last(DEPTH))?))
    }
}
