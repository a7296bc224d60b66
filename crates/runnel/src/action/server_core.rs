//! Part of an action server that tracks goals and publishes, independent of the user's decisions.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use runnel_core::time::Time;
use runnel_core::wire::{Bytes, DecodeError, Reader, decode};
use runnel_io::clock;
use runnel_msgs::actionlib_msgs::msg::GoalID;

use super::MAX_GOALS;
use super::goal_registry::{Arrival, Entry, GoalRegistry, KeepTimes, Key};
use super::header::read_goal;
use super::ros2_message::goal_response;
use super::ros2_request::Reply;
use super::server_ends::{GoalReport, ServerEnds};
use super::server_types::ServerTypes;
use crate::data::Unreadable;
use crate::error::{ActionError, Error};
use crate::goal_status::{GoalId, GoalStatus, Step};
use crate::log_output::console;
use crate::node::Node;
use crate::shared::ShutdownHook;
use crate::sync::{Class, Mutex, MutexGuard, lock};

/// Text of goals that end with their server.
const ENDED: &str = "the action server has ended";

/// Longest goal id, in bytes: every list repeats it.
const MAX_ID: usize = 1024;

/// A goal, shared by its handles.
pub(super) struct ServerGoal<A: ServerTypes> {
    pub(super) core: Arc<ServerCore<A>>,
    pub(super) id: GoalId,
    pub(super) stamp: Time,
    pub(super) goal: A::Goal,
    pub(super) key: Key,
    /// Its final status, also after the server has forgotten it.
    pub(super) end: OnceLock<GoalStatus>,
}

impl<A: ServerTypes> Drop for ServerGoal<A> {
    fn drop(&mut self) {
        self.core.abandon(self);
    }
}

/// A received goal.
pub(super) struct Arrived<A: ServerTypes> {
    pub(super) id: GoalId,
    /// The stamp by the client's clock, zero without one, and the time of reception.
    pub(super) stamps: (Time, Time),
    pub(super) goal: A::Goal,
    /// Answers the request of a ROS 2 client.
    pub(super) reply: Option<Reply>,
}

type Goals<A> = GoalRegistry<Weak<ServerGoal<A>>, Reply>;

/// Goals whose owners decide on a cancel request.
pub(super) type CanceledGoals<A> = Vec<(Key, Weak<ServerGoal<A>>)>;

/// An action server.
pub(super) struct ServerCore<A: ServerTypes> {
    node: Node,
    action: String,
    pub(super) types: A,
    table: Mutex<GoalTable<A>>,
    /// Number of refused requests.
    refused: AtomicU64,
}

/// Goals and publishers of a server. Locked while publishing, so that clients see events in their order. Publishing
/// takes only the topic's locks and runs no user code. Logging may, so it happens after the lock is released.
pub(super) struct GoalTable<A: ServerTypes> {
    pub(super) goals: Goals<A>,
    /// New goals are rejected: the server is about to end.
    closed: bool,
    /// `None` once the server has ended.
    pub(super) ends: Option<ServerEnds>,
}

/// Without this, clients would wait for ever for goals of a server that is gone.
impl<A: ServerTypes> ShutdownHook for ServerCore<A> {
    fn run(&self) {
        self.end();
    }
}

impl<A: ServerTypes> ServerCore<A> {
    /// Creates a server of the action of this absolute name. It lists goals for `keep` after their end.
    pub(super) fn new(
        (node, action, types): (&Node, &str, A),
        ends: ServerEnds,
        keep: KeepTimes,
    ) -> Arc<Self> {
        let table = GoalTable { goals: GoalRegistry::new(MAX_GOALS, keep), closed: false, ends: Some(ends) };
        let core = Arc::new(Self {
            node: node.clone(),
            action: action.to_owned(),
            types,
            table: Mutex::new(Class::GoalTable, table),
            refused: AtomicU64::new(0),
        });
        let hook: Arc<dyn ShutdownHook> = Arc::<Self>::clone(&core);
        node.context().shared.add_shutdown_hook(Arc::downgrade(&hook));
        core
    }

    pub(super) fn action(&self) -> &str {
        &self.action
    }

    /// The node's context still runs.
    pub(super) fn ok(&self) -> bool {
        self.node.context().ok()
    }

    pub(super) fn now(&self) -> Time {
        self.node.now()
    }

    pub(super) fn table(&self) -> MutexGuard<'_, GoalTable<A>> {
        lock(&self.table)
    }

    /// Handles a goal of a ROS 1 client. Returns the handle for the user's decision.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn on_goal_message(
        self: &Arc<Self>,
        client: &str,
        bytes: Bytes<'_>,
    ) -> Result<Option<Arc<ServerGoal<A>>>, Unreadable> {
        let (GoalID { stamp, id }, rest) = read_goal(bytes)?;
        let goal = self.types.read_goal(Reader::new(rest))?;
        if id.len() > MAX_ID {
            let length = id.len();
            self.refuse(format_args!(
                "a goal from [{client}]: its id has {length} bytes, at most {MAX_ID} are accepted"
            ));
            return Ok(None);
        }
        let now = self.now();
        let id = if id.is_empty() { GoalId::next(self.node.full_name(), now) } else { GoalId::from(&*id) };
        Ok(self.arrive(client, Arrived { id, stamps: (stamp, now), goal, reply: None }))
    }

    /// Handles a received goal. Returns the handle for the user's decision.
    pub(super) fn arrive(self: &Arc<Self>, client: &str, arrived: Arrived<A>) -> Option<Arc<ServerGoal<A>>> {
        let Arrived { id, stamps, goal, mut reply } = arrived;
        let stamp = if stamps.0.is_zero() { stamps.1 } else { stamps.0 };
        let mut new = None;
        let mut table = self.table();
        let begin = |key| {
            let (core, id, end) = (Arc::clone(self), id.clone(), OnceLock::new());
            Arc::downgrade(new.insert(Arc::new(ServerGoal { core, id, stamp, goal, key, end })))
        };
        let now = clock::monotonic();
        if reply.is_some() {
            table.goals.expire(now);
        }
        let arrival = table.goals.arrive(&id, stamps, begin, now);
        if let (Some(goal), Some(reply)) = (&new, reply.take_if(|_| arrival == Arrival::New))
            && let Some(entry) = table.goals.get_mut(goal.key)
        {
            entry.requests.set_send_goal(reply);
        }
        let closed = table.closed;
        let mut refused = None;
        let sent = match arrival {
            Arrival::New if closed => {
                let ended = new.as_ref().and_then(|goal| self.end_goal(&mut table, goal.key, ENDED));
                ended.unwrap_or(Ok(()))
            }
            Arrival::New => Ok(()),
            Arrival::Known => {
                // A ROS 1 client may send its goal twice.
                refused = reply.is_some().then(|| format!("id {id} is in use"));
                Ok(())
            }
            Arrival::Recalled => {
                let text = table.goals.by_id(&id).map(|entry| entry.text.clone()).unwrap_or_default();
                let report = GoalReport { id: &id, stamp, status: GoalStatus::Recalled, text: &text };
                self.publish_end(&table, &report, &self.types.empty_result())
                    .and(self.publish_list(&mut table, &id))
            }
            Arrival::Full => {
                let text = format!("server {} works on {MAX_GOALS} goals already", self.node.full_name());
                let text = refused.insert(text).as_str();
                let report = GoalReport { id: &id, stamp, status: GoalStatus::Rejected, text };
                self.publish_end(&table, &report, &self.types.empty_result())
            }
        };
        if let Some(reply) = reply {
            reply.send(goal_response(None));
        }
        drop(table);
        log_error(sent);
        if let Some(why) = refused {
            self.refuse(format_args!("a goal from [{client}]: {why}"));
        }
        new.filter(|_| !closed)
    }

    /// Handles a cancel request of a ROS 1 client. `ask` calls the owner of a goal.
    ///
    /// # Errors
    /// When the request cannot be read.
    pub(super) fn on_cancel_message(
        &self,
        client: &str,
        bytes: Bytes<'_>,
        ask: &mut dyn FnMut(Arc<ServerGoal<A>>),
    ) -> Result<(), DecodeError> {
        let GoalID { stamp, id } = decode(bytes)?;
        let (concerned, kept) = match id.len() <= MAX_ID {
            true => self.table().goals.cancel(&id, stamp, clock::monotonic()),
            false => (Vec::new(), false),
        };
        self.decide_cancel(&concerned, ask);
        if !kept {
            self.refuse(format_args!("a cancel request from [{client}] for an unknown goal"));
        }
        Ok(())
    }

    /// Asks the owners of goals about a cancel request, and publishes the lists. Returns for each goal whether it is
    /// being cancelled.
    pub(super) fn decide_cancel(
        &self,
        concerned: &CanceledGoals<A>,
        ask: &mut dyn FnMut(Arc<ServerGoal<A>>),
    ) -> Vec<bool> {
        let mut decide = |(key, goal): &(Key, Weak<ServerGoal<A>>)| {
            // A goal whose handles are all dropped ends anyway.
            goal.upgrade().into_iter().for_each(&mut *ask);
            self.table().goals.conclude_cancel(*key)
        };
        let accepted: Vec<bool> = concerned.iter().map(&mut decide).collect();
        if accepted.contains(&true) {
            self.publish_lists();
        }
        accepted
    }

    /// Refuses the cancel request that is being decided.
    pub(super) fn refuse_cancel(&self, goal: &ServerGoal<A>) -> Result<(), Error> {
        let mut table = self.open_table()?;
        if table.goals.refuse_cancel(goal.key) {
            return Ok(());
        }
        let (goal, status) = (goal.id.clone(), table.status(goal));
        Err(ActionError::WrongStatus { goal, status, wanted: "active" }.of(&self.action))
    }

    pub(super) fn status(&self, goal: &ServerGoal<A>) -> GoalStatus {
        self.table().status(goal)
    }

    /// Accepts a goal.
    pub(super) fn accept(&self, goal: &ServerGoal<A>) -> Result<(), Error> {
        let mut table = self.open_table()?;
        let status = self.after(&table, goal, Step::Accept)?;
        table.goals.set(goal.key, status, "", clock::monotonic());
        table.answer_send_goal(goal.key, Some(goal.stamp));
        let sent = self.publish_list(&mut table, &goal.id);
        drop(table);
        log_error(sent);
        Ok(())
    }

    /// Ends a goal.
    pub(super) fn finish(
        &self,
        goal: &ServerGoal<A>,
        step: Step,
        result: &A::Result,
        text: &str,
    ) -> Result<(), Error> {
        let mut table = self.open_table()?;
        let status = self.after(&table, goal, step)?;
        let report = GoalReport { id: &goal.id, stamp: goal.stamp, status, text };
        // A result that is too long was not sent: the goal continues.
        self.publish_end(&table, &report, result)?;
        let response = self.ros2_result(&report, result)?;
        let canceling = self.list_as_canceling(&mut table, goal, status);
        table.end(goal.key, status, text, response);
        // The lock excludes a second call.
        let _ = goal.end.set(status);
        let sent = canceling.and(self.publish_list(&mut table, &goal.id));
        drop(table);
        log_error(sent);
        Ok(())
    }

    /// Ends a goal whose handles are all dropped.
    fn abandon(&self, goal: &ServerGoal<A>) {
        let mut table = self.table();
        let text = "nobody works on the goal any more: its handle was dropped before it ended";
        let Some(sent) = self.end_goal(&mut table, goal.key, text) else { return };
        let sent = sent.and(self.publish_list(&mut table, &goal.id));
        drop(table);
        log_error(sent);
        self.warn(format_args!("goal {}: {text}", goal.id));
    }

    /// Ends a goal on behalf of its owner, and returns whether the result was sent; `None` if it has already ended.
    fn end_goal(&self, table: &mut GoalTable<A>, key: Key, text: &str) -> Option<Result<(), Error>> {
        let Entry { id, stamp, status, .. } = table.goals.get(key)?;
        let report = GoalReport { id, stamp: *stamp, status: status.after(Step::Abandon)?, text };
        let (status, result) = (report.status, self.types.empty_result());
        let sent = self.publish_end(table, &report, &result);
        let response = self.ros2_result(&report, &result);
        let (response, encoded) =
            response.map_or_else(|error| (None, Err(error)), |response| (response, Ok(())));
        table.end(key, status, text, response);
        Some(sent.and(encoded))
    }

    pub(super) fn publish_feedback(&self, goal: &ServerGoal<A>, feedback: &A::Feedback) -> Result<(), Error> {
        let table = self.open_table()?;
        let (Some(entry), Some(ends)) = (table.goals.get(goal.key), &table.ends) else { return Ok(()) };
        let Entry { id, stamp, status, text, .. } = entry;
        let report = GoalReport { id, stamp: *stamp, status: *status, text };
        ends.publish_feedback(&report, self.now(), feedback)
    }

    /// Publishes the list of ROS 1 goals, which is periodic.
    pub(super) fn publish_status(&self) {
        let sent = self.publish_ros1_list(&mut self.table());
        log_error(sent);
    }

    /// Rejects goals from now on.
    pub(super) fn close(&self) {
        self.table().closed = true;
    }

    /// Ends the server and all its goals.
    pub(super) fn end(&self) {
        let mut table = self.table();
        table.closed = true;
        let open = table.goals.entries().iter().filter(|entry| !entry.status.is_terminal());
        let open: Vec<Key> = open.map(|entry| entry.key).collect();
        let sent = open.into_iter().filter_map(|key| self.end_goal(&mut table, key, ENDED));
        // The first error is enough.
        let sent = sent.fold(Ok(()), Result::and);
        let sent = sent.and(self.publish_ros1_list(&mut table)).and(self.publish_ros2_list(&mut table));
        // Goals keep their status from now on.
        let ends = table.ends.take();
        // Dropping a publisher waits until its messages are sent, and locks the driver.
        drop(table);
        drop(ends);
        log_error(sent);
    }

    /// Logs a refused request, less often the more there are.
    pub(super) fn refuse(&self, what: fmt::Arguments<'_>) {
        let count = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            self.warn(format_args!("refused (number {count}): {what}"));
        }
    }

    /// Logs a warning about the action in the node's log.
    pub(super) fn warn(&self, what: fmt::Arguments<'_>) {
        self.node.inner.log().log_library(log::Level::Warn, format_args!("action {}: {what}", self.action));
    }

    fn open_table(&self) -> Result<MutexGuard<'_, GoalTable<A>>, Error> {
        let table = self.table();
        if table.ends.is_some() { Ok(table) } else { Err(ActionError::ServerEnded.of(&self.action)) }
    }

    fn after(&self, table: &GoalTable<A>, goal: &ServerGoal<A>, step: Step) -> Result<GoalStatus, Error> {
        let status = table.status(goal);
        status.after(step).ok_or_else(|| {
            ActionError::WrongStatus { goal: goal.id.clone(), status, wanted: step.wanted() }.of(&self.action)
        })
    }
}

/// Logs a failure to publish. The program's own logger may call the server, so its table must not be locked.
pub(super) fn log_error(sent: Result<(), Error>) {
    sent.unwrap_or_else(|error| console::error!("{error}"));
}
