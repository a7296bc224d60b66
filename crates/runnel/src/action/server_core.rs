//! Part of an action server that tracks goals and publishes, independent of the user's decisions.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use runnel_core::message::Action;
use runnel_core::qos::QoS;
use runnel_core::time::Time;
use runnel_core::wire::{Bytes, DecodeError, Wire, decode};
use runnel_io::clock;
use runnel_msgs::actionlib_msgs::msg::{GoalID, GoalStatusArray};

use super::MAX_GOALS;
use super::goal_registry::{Arrival, Entry, GoalRegistry, Key};
use super::header::{header, read_goal, wire_status, write_with_status};
use super::server::ServerGoalHandle;
use super::types::{ActionTypes, Type};
use crate::error::{ActionError, Error};
use crate::goal_status::{GoalId, GoalStatus, Step};
use crate::log_output::console;
use crate::node::Node;
use crate::publisher::BytesPublisher;
use crate::shared::ShutdownHook;
use crate::sync::{Class, Mutex, MutexGuard, lock};

/// Queue depth of results and feedback for a slow client.
const DEPTH: usize = 1000;

/// Queue depth of status lists: each replaces those before it.
const LISTS: usize = 50;

/// Text of goals that end with their server.
const ENDED: &str = "the action server has ended";

/// Longest goal id, in bytes: every list repeats it.
const MAX_ID: usize = 1024;

/// A goal, shared by its handles.
pub(super) struct ServerGoal<A: Action> {
    pub(super) core: Arc<ServerCore<A>>,
    pub(super) id: GoalId,
    pub(super) stamp: Time,
    pub(super) goal: A::Goal,
    key: Key,
    /// Its final status, also after the server has forgotten it.
    end: OnceLock<GoalStatus>,
}

impl<A: Action> Drop for ServerGoal<A> {
    fn drop(&mut self) {
        self.core.abandon(self);
    }
}

/// A received goal.
pub(super) struct Arrived<A: Action> {
    pub(super) id: GoalId,
    /// The stamp by the client's clock, and the time of reception.
    pub(super) stamps: (Time, Time),
    pub(super) goal: A::Goal,
}

type Goals<A> = GoalRegistry<Weak<ServerGoal<A>>>;

/// An action server.
pub(super) struct ServerCore<A: Action> {
    node: Node,
    action: String,
    table: Mutex<GoalTable<A>>,
    /// Number of refused requests.
    refused: AtomicU64,
}

/// Goals and publishers of a server. Locked while publishing, so that clients see events in their order. Publishing
/// takes only the topic's locks and runs no user code. Logging may, so it happens after the lock is released.
struct GoalTable<A: Action> {
    goals: Goals<A>,
    /// New goals are rejected: the server is about to end.
    closed: bool,
    /// `None` once the server has ended.
    topics: Option<Topics>,
}

struct Topics {
    lists: BytesPublisher,
    feedback: BytesPublisher,
    results: BytesPublisher,
}

/// Without this, clients would wait for ever for goals of a server that is gone.
impl<A: Action> ShutdownHook for ServerCore<A> {
    fn run(&self) {
        self.end();
    }
}

impl<A: Action> ServerCore<A> {
    /// Creates a server of the action of this absolute name. It lists goals for `keep` after their end.
    pub(super) fn new(node: &Node, action: &str, keep: Duration) -> Result<Arc<Self>, Error> {
        let types = ActionTypes::of::<A>();
        let topic = |of: Type, suffix: &str, qos: QoS| {
            Ok::<_, Error>(BytesPublisher::new(node.publishing(&of.topic(node, action, suffix)?, qos)?))
        };
        let topics = Topics {
            results: topic(types.result, "result", QoS::keep_last(DEPTH))?,
            feedback: topic(types.feedback, "feedback", QoS::keep_last(DEPTH))?,
            lists: topic(Type::status(), "status", QoS::keep_last(LISTS).transient_local())?,
        };
        let table =
            GoalTable { goals: GoalRegistry::new(MAX_GOALS, keep), closed: false, topics: Some(topics) };
        let core = Arc::new(Self {
            node: node.clone(),
            action: action.to_owned(),
            table: Mutex::new(Class::GoalTable, table),
            refused: AtomicU64::new(0),
        });
        let hook: Arc<dyn ShutdownHook> = Arc::<Self>::clone(&core);
        node.context().shared.add_shutdown_hook(Arc::downgrade(&hook));
        Ok(core)
    }

    pub(super) fn action(&self) -> &str {
        &self.action
    }

    /// The node's context still runs.
    pub(super) fn ok(&self) -> bool {
        self.node.context().ok()
    }

    /// Handles a received goal. Returns the handle for the user's decision.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn on_goal_message(
        self: &Arc<Self>,
        client: &str,
        bytes: Bytes<'_>,
    ) -> Result<Option<ServerGoalHandle<A>>, DecodeError> {
        let (GoalID { stamp, id }, rest) = read_goal(bytes)?;
        let goal: A::Goal = decode(rest).map_err(|error: DecodeError| error.within("goal"))?;
        if id.len() > MAX_ID {
            let length = id.len();
            self.refuse(format_args!(
                "a goal from [{client}]: its id has {length} bytes, at most {MAX_ID} are accepted"
            ));
            return Ok(None);
        }
        let now = self.node.now();
        let id = if id.is_empty() { GoalId::next(self.node.full_name(), now) } else { GoalId::from(&*id) };
        Ok(self.arrive(client, Arrived { id, stamps: (stamp, now), goal }))
    }

    fn arrive(self: &Arc<Self>, client: &str, arrived: Arrived<A>) -> Option<ServerGoalHandle<A>> {
        let Arrived { id, stamps, goal } = arrived;
        let stamp = if stamps.0.is_zero() { stamps.1 } else { stamps.0 };
        let mut new = None;
        let mut table = lock(&self.table);
        let begin = |key| {
            let (core, id, end) = (Arc::clone(self), id.clone(), OnceLock::new());
            Arc::downgrade(new.insert(Arc::new(ServerGoal { core, id, stamp, goal, key, end })))
        };
        let arrival = table.goals.arrive(&id, stamps, begin, clock::monotonic());
        let closed = table.closed;
        let mut refused = None;
        let sent = match arrival {
            Arrival::New if closed => {
                let ended = new.as_ref().and_then(|goal| self.end_goal(&mut table, goal.key, ENDED));
                ended.unwrap_or(Ok(()))
            }
            Arrival::New | Arrival::Known => Ok(()),
            Arrival::Recalled => {
                let text = table.goals.by_id(&id).map(|entry| entry.text.clone()).unwrap_or_default();
                let end = (GoalStatus::Recalled, text.as_str());
                let sent = self.publish_end(&table, (&id, stamp), end, &A::Result::default());
                sent.and(self.publish_list(&mut table))
            }
            Arrival::Full => {
                let text = format!("server {} works on {MAX_GOALS} goals already", self.node.full_name());
                let end = (GoalStatus::Rejected, refused.insert(text).as_str());
                self.publish_end(&table, (&id, stamp), end, &A::Result::default())
            }
        };
        drop(table);
        log_error(sent);
        if let Some(why) = refused {
            self.refuse(format_args!("a goal from [{client}]: {why}"));
        }
        new.filter(|_| !closed).map(ServerGoalHandle::new)
    }

    /// Handles a cancel request. Returns the goals whose owners must be notified.
    ///
    /// # Errors
    /// When the request cannot be read.
    pub(super) fn on_cancel_message(
        &self,
        client: &str,
        bytes: Bytes<'_>,
    ) -> Result<Vec<ServerGoalHandle<A>>, DecodeError> {
        let GoalID { stamp, id } = decode(bytes)?;
        let mut table = lock(&self.table);
        let (concerned, kept) = match id.len() <= MAX_ID {
            true => table.goals.cancel(&id, stamp, clock::monotonic()),
            false => (Vec::new(), false),
        };
        let sent = if concerned.is_empty() { Ok(()) } else { self.publish_list(&mut table) };
        drop(table);
        log_error(sent);
        if !kept {
            self.refuse(format_args!("a cancel request from [{client}] for an unknown goal"));
        }
        Ok(concerned.iter().filter_map(Weak::upgrade).map(ServerGoalHandle::new).collect())
    }

    pub(super) fn status(&self, goal: &ServerGoal<A>) -> GoalStatus {
        lock(&self.table).status(goal)
    }

    /// Applies a step that does not end a goal.
    pub(super) fn step(&self, goal: &ServerGoal<A>, step: Step, text: &str) -> Result<(), Error> {
        let mut table = self.open_table()?;
        let status = self.after(&table, goal, step)?;
        table.goals.set(goal.key, status, text, clock::monotonic());
        let sent = self.publish_list(&mut table);
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
        // A result that is too long was not sent: the goal continues.
        self.publish_end(&table, (&goal.id, goal.stamp), (status, text), result)?;
        table.goals.set(goal.key, status, text, clock::monotonic());
        // The lock excludes a second call.
        let _ = goal.end.set(status);
        let sent = self.publish_list(&mut table);
        drop(table);
        log_error(sent);
        Ok(())
    }

    /// Ends a goal whose handles are all dropped.
    fn abandon(&self, goal: &ServerGoal<A>) {
        let mut table = lock(&self.table);
        let text = "nobody works on the goal any more: its handle was dropped before it ended";
        let Some(sent) = self.end_goal(&mut table, goal.key, text) else { return };
        let sent = sent.and(self.publish_list(&mut table));
        drop(table);
        log_error(sent);
        self.warn(format_args!("goal {}: {text}", goal.id));
    }

    /// Ends a goal on behalf of its owner, and returns whether the result was sent; `None` if it has already ended.
    fn end_goal(&self, table: &mut GoalTable<A>, key: Key, text: &str) -> Option<Result<(), Error>> {
        let Entry { id, stamp, status, .. } = table.goals.get(key)?;
        let status = status.after(Step::Abandon)?;
        let sent = self.publish_end(table, (id, *stamp), (status, text), &A::Result::default());
        table.goals.set(key, status, text, clock::monotonic());
        Some(sent)
    }

    pub(super) fn publish_feedback(&self, goal: &ServerGoal<A>, feedback: &A::Feedback) -> Result<(), Error> {
        let table = self.open_table()?;
        let Some(Entry { stamp, status, text, .. }) = table.goals.get(goal.key) else { return Ok(()) };
        let (status, now) = (wire_status(&goal.id, *stamp, *status, text), self.node.now());
        match &table.topics {
            Some(topics) => {
                topics.feedback.publish(|out| write_with_status(out, now, &status, |out| feedback.write(out)))
            }
            None => Ok(()),
        }
    }

    /// Publishes the list of all goals.
    pub(super) fn publish_status(&self) {
        let sent = self.publish_list(&mut lock(&self.table));
        log_error(sent);
    }

    /// Rejects goals from now on.
    pub(super) fn close(&self) {
        lock(&self.table).closed = true;
    }

    /// Ends the server and all its goals.
    pub(super) fn end(&self) {
        let mut table = lock(&self.table);
        table.closed = true;
        let open = table.goals.entries().iter().filter(|entry| !entry.status.is_terminal());
        let open: Vec<Key> = open.map(|entry| entry.key).collect();
        let sent = open.into_iter().filter_map(|key| self.end_goal(&mut table, key, ENDED));
        // The first error is enough.
        let sent = sent.fold(Ok(()), Result::and);
        let sent = sent.and(self.publish_list(&mut table));
        // Goals keep their status from now on.
        let topics = table.topics.take();
        // Dropping a publisher waits until its messages are sent, and locks the driver.
        drop(table);
        drop(topics);
        log_error(sent);
    }

    /// Logs a refused request, less often the more there are.
    fn refuse(&self, what: fmt::Arguments<'_>) {
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
        let table = lock(&self.table);
        if table.topics.is_some() { Ok(table) } else { Err(ActionError::ServerEnded.of(&self.action)) }
    }

    fn after(&self, table: &GoalTable<A>, goal: &ServerGoal<A>, step: Step) -> Result<GoalStatus, Error> {
        let status = table.status(goal);
        status.after(step).ok_or_else(|| {
            ActionError::WrongStatus { goal: goal.id.clone(), status, wanted: step.wanted() }.of(&self.action)
        })
    }

    fn publish_end(
        &self,
        table: &GoalTable<A>,
        (id, stamp): (&GoalId, Time),
        (status, text): (GoalStatus, &str),
        result: &A::Result,
    ) -> Result<(), Error> {
        let (status, now) = (wire_status(id, stamp, status, text), self.node.now());
        match &table.topics {
            Some(topics) => {
                topics.results.publish(|out| write_with_status(out, now, &status, |out| result.write(out)))
            }
            None => Ok(()),
        }
    }

    fn publish_list(&self, table: &mut GoalTable<A>) -> Result<(), Error> {
        let Some(topics) = &table.topics else { return Ok(()) };
        table.goals.expire(clock::monotonic());
        let sent = |Entry { id, stamp, status, text, .. }: &Entry<_>| wire_status(id, *stamp, *status, text);
        let status_list = table.goals.entries().iter().map(sent).collect();
        let list = GoalStatusArray { header: header(self.node.now()), status_list };
        topics.lists.publish(|out| list.write(out))
    }
}

impl<A: Action> GoalTable<A> {
    fn status(&self, goal: &ServerGoal<A>) -> GoalStatus {
        let listed = || self.goals.get(goal.key).map_or(GoalStatus::Lost, |entry| entry.status);
        goal.end.get().copied().unwrap_or_else(listed)
    }
}

/// Logs a failure to publish. The program's own logger may call the server, so its table must not be locked.
fn log_error(sent: Result<(), Error>) {
    sent.unwrap_or_else(|error| console::error!("{error}"));
}
