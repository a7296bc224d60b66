//! Part of action clients that does not depend on the action's type.

use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use runnel_core::time::Time;
use runnel_io::{clock, host};

use super::client_input::Input;
use super::client_ros1::Ros1Client;
use super::client_ros2::Ros2Client;
use super::content::Content;
use super::goal::{self, Callback, Goal};
use super::tracker::Tracker;
use super::types::{ActionTypes, action_name};
use crate::data::SubscriptionCore;
use crate::error::Error;
use crate::goal_status::GoalId;
use crate::node::Node;
use crate::ready::{Dispatch, Waitable};
use crate::runtime::task_waiter::TaskWaiter;
use crate::runtime::wait_set::WaitSet;

/// Retry period while another thread takes messages.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// An action client in each graph of its node. A goal is sent in one graph: in ROS 2 if a server is ready there, else in
/// ROS 1. No user code runs when it processes messages, so a thread that waits for a goal can do so itself and no thread
/// needs to spin.
pub(super) struct ClientCore {
    node: Node,
    tracker: Arc<Tracker>,
    ros1: Option<Ros1Client>,
    ros2: Option<Arc<Ros2Client>>,
}

impl ClientCore {
    /// Creates a client of the action of this name, with these types.
    pub(super) fn new(node: &Node, action: &str, types: ActionTypes) -> Result<Arc<Self>, Error> {
        let action = &action_name(node, action)?;
        let tracker = Arc::new(Tracker::new(action.clone()));
        let ros1 = types.ros1.filter(|_| node.inner.is_in_ros1());
        let ros2 = types.ros2.filter(|_| node.inner.is_in_ros2());
        if ros1.is_none() && ros2.is_none() {
            return Err(Error::NotInGraph { what: format!("action {action}") });
        }
        let ros1 = ros1.map(|types| Ros1Client::new(node, action, types, &tracker)).transpose()?;
        let ros2 = ros2.map(|types| Ros2Client::new(node, action, types, &tracker)).transpose()?;
        Ok(Arc::new(Self { node: node.clone(), tracker, ros1, ros2 }))
    }

    /// The action's absolute name.
    pub(super) fn action(&self) -> &str {
        self.tracker.action()
    }

    /// Sends a goal. `callback` gets feedback and the end.
    pub(super) fn send(
        &self,
        content: &dyn Content,
        callback: Option<(Dispatch, Callback)>,
    ) -> Result<Arc<Goal>, Error> {
        let stamp = self.node.now();
        let calls = callback.map(|(dispatch, callback)| goal::calls(dispatch, callback));
        let ros2 = self.ros2.as_ref().filter(|ros2| self.ros1.is_none() || ros2.is_ready());
        let id = match ros2 {
            Some(_) => random_id()?,
            None => GoalId::next(self.node.full_name(), stamp),
        };
        let goal = Arc::new(Goal::new(id, stamp, calls));
        let forgotten = self.tracker.add(&goal)?;
        if let Some(ros2) = &self.ros2 {
            ros2.end_calls(&forgotten);
        }
        let sent = match (ros2, &self.ros1) {
            (Some(ros2), _) => ros2.send(&goal, content),
            (None, Some(ros1)) => ros1.send(&goal, content),
            (None, None) => Err(Error::ShuttingDown),
        };
        sent.inspect_err(|_| self.tracker.remove(&goal)).map(|()| goal)
    }

    /// Dispatch of callbacks to the node's executor.
    pub(super) fn executor_dispatch(&self) -> Dispatch {
        self.node.inner.executor_dispatch()
    }

    /// Waiter for the server's messages and these entities.
    pub(super) fn waiter(&self, mut entities: Vec<Arc<dyn Waitable>>) -> TaskWaiter {
        entities.extend(self.inputs().map(|input| Arc::<SubscriptionCore>::clone(input.core()) as _));
        entities.extend(self.ros2.iter().map(|ros2| Arc::clone(ros2.replies()) as _));
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

    /// Cancels a goal: requests its server to do so, unless it cannot be canceled any more. In ROS 2 the request waits
    /// until the server has accepted the goal.
    pub(super) fn cancel(&self, goal: &Arc<Goal>) -> Result<(), Error> {
        self.process_received();
        if !goal.cancel() {
            return Ok(());
        }
        match (&self.ros1, &self.ros2) {
            (Some(ros1), _) if goal.id.text().is_some() => {
                ros1.request_cancel(Some(&goal.id), Time::default())
            }
            (_, Some(ros2)) if goal.is_acknowledged() => ros2.cancel(goal),
            _ => {
                // The request is sent even if the user drops the handle before the server has accepted the goal.
                self.tracker.keep(goal);
                Ok(())
            }
        }
    }

    /// Requests the servers of all graphs to cancel the goals with this stamp or an earlier one, or (if it is zero) all.
    pub(super) fn cancel_many(&self, stamp: Time) -> Result<(), Error> {
        let ros1 = self.ros1.as_ref().map_or(Ok(()), |ros1| ros1.request_cancel(None, stamp));
        let ros2 = self.ros2.as_ref().filter(|ros2| ros2.is_ready());
        ros1.and(ros2.map_or(Ok(()), |ros2| ros2.cancel_many(stamp)))
    }

    /// Processes received messages. False if more wait, or another thread processes them.
    pub(super) fn process_received(&self) -> bool {
        let mut took_messages = true;
        for input in self.inputs() {
            took_messages &= input.process_received();
        }
        let took_replies = self.ros2.as_ref().is_none_or(|ros2| ros2.process_replies());
        took_messages && took_replies
    }

    fn inputs(&self) -> impl Iterator<Item = &Input> {
        let ros1 = self.ros1.iter().flat_map(Ros1Client::inputs);
        ros1.chain(self.ros2.iter().flat_map(|ros2| ros2.inputs()))
    }

    /// Whether a server is connected in a graph.
    pub(super) fn is_connected(&self) -> bool {
        self.process_received();
        let ros1 = self.ros1.as_ref().zip(self.tracker.server());
        ros1.is_some_and(|(ros1, server)| ros1.is_connected_to(&server))
            || self.ros2.as_ref().is_some_and(|ros2| ros2.is_ready())
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
        self.inputs().for_each(|input| {
            wait_set.add(Arc::clone(input.core()));
        });
        if let Some(ros2) = &self.ros2 {
            wait_set.add(Arc::clone(ros2.replies()));
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

/// The id of a new ROS 2 goal.
fn random_id() -> Result<GoalId, Error> {
    let random = || host::random().map_err(|error| Error::io("the id of a goal", &error));
    Ok(GoalId::of_random_bits([random()?, random()?]))
}
