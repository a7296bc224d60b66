//! The side of an action server that knows goals and topics, and not what the user does with them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use runnel_core::message::Action;
use runnel_core::qos::QoS;
use runnel_core::time::Time;
use runnel_core::wire::{DecodeError, Wire, decode};
use runnel_io::clock;
use runnel_msgs::actionlib_msgs::{GoalID, GoalStatusArray};

use super::envelope::{header, read_goal, wire_status, write_about};
use super::error::ActionError;
use super::form::{Form, Type};
use super::ledger::{Arrival, Entry, Ledger};
use super::server::ServerGoalHandle;
use super::status::{GoalStatus, Step};
use super::{GoalId, MAX_GOALS};
use crate::context::LastWords;
use crate::error::Error;
use crate::logging::console;
use crate::node::Node;
use crate::publisher::BytesPublisher;
use crate::sync::lock;

/// Results and feedback that wait for a slow client at most.
const DEPTH: usize = 1000;

/// Lists that do: each says all that those before did.
const LISTS: usize = 50;

/// Longest id of a goal, in bytes: the list tells it again and again.
const MAX_ID: usize = 1024;

/// A goal as its handles share it.
pub(super) struct ServerGoal<A: Action> {
    pub(super) core: Arc<ServerCore<A>>,
    pub(super) id: GoalId,
    pub(super) stamp: Time,
    pub(super) goal: A::Goal,
}

impl<A: Action> Drop for ServerGoal<A> {
    fn drop(&mut self) {
        self.core.abandon(&self.id);
    }
}

/// What a client asked for.
pub(super) struct Arrived<A: Action> {
    pub(super) id: GoalId,
    pub(super) stamp: Time,
    pub(super) goal: A::Goal,
}

type Goals<A> = Ledger<Weak<ServerGoal<A>>>;

/// An action server.
pub(super) struct ServerCore<A: Action> {
    node: Node,
    action: String,
    desk: Mutex<Desk<A>>,
    /// What clients did that was refused.
    refused: AtomicU64,
}

/// Held while something is published, so that clients hear of things in the order in which they happen. Publishing takes
/// no lock of ours but those of the topic, and runs no code of the user's.
struct Desk<A: Action> {
    goals: Goals<A>,
    /// Gone once the server has ended.
    topics: Option<Topics>,
}

struct Topics {
    lists: BytesPublisher,
    feedback: BytesPublisher,
    results: BytesPublisher,
}

/// Clients would wait for ever for goals that nobody works on any more.
impl<A: Action> LastWords for ServerCore<A> {
    fn say(&self) {
        self.end();
    }
}

impl<A: Action> ServerCore<A> {
    /// A server of the action of this absolute name that lists goals for so long after their end.
    pub(super) fn new(node: &Node, action: &str, keep: Duration) -> Result<Arc<Self>, Error> {
        let form = Form::of::<A>();
        let topic = |of: Type<'_>, suffix: &str, qos: QoS| {
            let end = node.publisher_end(&of.topic(node, action, suffix)?, qos)?;
            Ok::<_, Error>(BytesPublisher::new(end, qos))
        };
        let topics = Topics {
            results: topic(form.result, "result", QoS::keep_last(DEPTH))?,
            feedback: topic(form.feedback, "feedback", QoS::keep_last(DEPTH))?,
            lists: topic(Type::status(), "status", QoS::keep_last(LISTS).transient_local())?,
        };
        let desk = Desk { goals: Ledger::new(MAX_GOALS, keep), topics: Some(topics) };
        let core = Arc::new(Self {
            node: node.clone(),
            action: action.to_owned(),
            desk: Mutex::new(desk),
            refused: AtomicU64::new(0),
        });
        let speaker: Arc<dyn LastWords> = Arc::<Self>::clone(&core);
        node.context().shared.add_last_words(Arc::downgrade(&speaker));
        Ok(core)
    }

    pub(super) fn action(&self) -> &str {
        &self.action
    }

    /// The node's context still runs.
    pub(super) fn ok(&self) -> bool {
        self.node.context().ok()
    }

    /// A goal has come from a client: gives it to whoever is to decide on it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn goal_came(
        self: &Arc<Self>,
        client: &str,
        bytes: &[u8],
    ) -> Result<Option<ServerGoalHandle<A>>, DecodeError> {
        let (GoalID { stamp, id }, rest) = read_goal(bytes)?;
        let goal: A::Goal = decode(rest).map_err(|error: DecodeError| error.within("goal"))?;
        if id.len() > MAX_ID {
            let length = id.len();
            self.refuse(format_args!(
                "a goal of [{client}]: its id has {length} bytes, at most {MAX_ID} are accepted"
            ));
            return Ok(None);
        }
        let now = self.node.now();
        let id = if id.is_empty() { GoalId::next(&self.node, now) } else { GoalId::of(&id) };
        let stamp = if stamp.is_zero() { now } else { stamp };
        Ok(self.arrive(client, Arrived { id, stamp, goal }))
    }

    fn arrive(self: &Arc<Self>, client: &str, arrived: Arrived<A>) -> Option<ServerGoalHandle<A>> {
        let Arrived { id, stamp, goal } = arrived;
        let mut new = None;
        let mut desk = lock(&self.desk);
        let begin = || {
            let goal = ServerGoal { core: Arc::clone(self), id: id.clone(), stamp, goal };
            Arc::downgrade(new.insert(Arc::new(goal)))
        };
        let arrival = desk.goals.arrive(&id, stamp, begin, clock::monotonic());
        match arrival {
            Arrival::New | Arrival::Known => {}
            Arrival::Recalled => {
                let text = desk.goals.get(id.as_str()).map(|entry| entry.text.clone()).unwrap_or_default();
                self.publish_end(&desk, &id, stamp, (GoalStatus::Recalled, &text), &A::Result::default())
                    .unwrap_or_else(|error| console::error!("{error}"));
                self.publish_list(&mut desk);
            }
            Arrival::Full => {
                let text = format!("server {} works on {MAX_GOALS} goals already", self.node.full_name());
                self.refuse(format_args!("a goal of [{client}]: {text}"));
                self.publish_end(&desk, &id, stamp, (GoalStatus::Rejected, &text), &A::Result::default())
                    .unwrap_or_else(|error| console::error!("{error}"));
            }
        }
        new.map(ServerGoalHandle::new)
    }

    /// A client wants goals cancelled: gives those of which somebody is to be told.
    ///
    /// # Errors
    /// When the request cannot be read.
    pub(super) fn cancel_came(
        &self,
        client: &str,
        bytes: &[u8],
    ) -> Result<Vec<ServerGoalHandle<A>>, DecodeError> {
        let GoalID { stamp, id } = decode(bytes)?;
        let mut desk = lock(&self.desk);
        let (concerned, kept) = match id.len() <= MAX_ID {
            true => desk.goals.cancel(&id, stamp, clock::monotonic()),
            false => (Vec::new(), false),
        };
        if !concerned.is_empty() {
            self.publish_list(&mut desk);
        }
        drop(desk);
        if !kept {
            self.refuse(format_args!("a cancel request of [{client}] for a goal that has not come"));
        }
        Ok(concerned.iter().filter_map(Weak::upgrade).map(ServerGoalHandle::new).collect())
    }

    pub(super) fn status(&self, id: &GoalId) -> GoalStatus {
        lock(&self.desk).goals.get(id.as_str()).map_or(GoalStatus::Lost, |entry| entry.status)
    }

    /// Takes a goal a step on that does not end it.
    pub(super) fn step(&self, id: &GoalId, step: Step, text: &str) -> Result<(), Error> {
        let mut desk = self.open_desk()?;
        let status = self.after(&desk, id, step)?;
        desk.goals.set(id, status, text, clock::monotonic());
        self.publish_list(&mut desk);
        Ok(())
    }

    /// Ends a goal.
    pub(super) fn finish(
        &self,
        goal: (&GoalId, Time),
        step: Step,
        result: &A::Result,
        text: &str,
    ) -> Result<(), Error> {
        let ((id, stamp), mut desk) = (goal, self.open_desk()?);
        let status = self.after(&desk, id, step)?;
        // A result that is too long has reached nobody: the goal goes on.
        self.publish_end(&desk, id, stamp, (status, text), result)?;
        desk.goals.set(id, status, text, clock::monotonic());
        self.publish_list(&mut desk);
        Ok(())
    }

    /// All handles of a goal are gone.
    fn abandon(&self, id: &GoalId) {
        let mut desk = lock(&self.desk);
        let text = "nobody works on the goal any more: its handle was dropped before it ended";
        if self.end_goal(&mut desk, id, text) {
            console::warning!("action {}: goal {id}: {text}", self.action);
            self.publish_list(&mut desk);
        }
    }

    /// Ends a goal that nobody will; false if it has ended.
    fn end_goal(&self, desk: &mut Desk<A>, id: &GoalId, text: &str) -> bool {
        let Ok(status) = desk.goals.after(id, Step::Abandon) else { return false };
        let stamp = desk.goals.get(id.as_str()).map(|entry| entry.stamp).unwrap_or_default();
        self.publish_end(desk, id, stamp, (status, text), &A::Result::default())
            .unwrap_or_else(|error| console::error!("{error}"));
        desk.goals.set(id, status, text, clock::monotonic());
        true
    }

    pub(super) fn publish_feedback(&self, id: &GoalId, feedback: &A::Feedback) -> Result<(), Error> {
        let desk = self.open_desk()?;
        let Some(Entry { stamp, status, text, .. }) = desk.goals.get(id.as_str()) else { return Ok(()) };
        let (status, now) = (wire_status(id, *stamp, *status, text), self.node.now());
        match &desk.topics {
            Some(topics) => {
                topics.feedback.publish(|out| write_about(out, now, &status, |out| feedback.write(out)))
            }
            None => Ok(()),
        }
    }

    /// Tells all clients of all goals.
    pub(super) fn publish_status(&self) {
        self.publish_list(&mut lock(&self.desk));
    }

    /// Ends the server, and with it every goal.
    pub(super) fn end(&self) {
        let mut desk = lock(&self.desk);
        let open = desk.goals.entries().iter().filter(|entry| !entry.status.is_terminal());
        let open: Vec<GoalId> = open.map(|entry| entry.id.clone()).collect();
        for id in &open {
            self.end_goal(&mut desk, id, "the action server has ended");
        }
        self.publish_list(&mut desk);
        let topics = desk.topics.take();
        // Their end waits until all is sent, and wants the driver.
        drop(desk);
        drop(topics);
    }

    /// A client did what is refused: says so, the less often the more there is of it.
    fn refuse(&self, what: fmt::Arguments<'_>) {
        let count = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            console::warning!("action {}: refused (number {count}): {what}", self.action);
        }
    }

    fn open_desk(&self) -> Result<MutexGuard<'_, Desk<A>>, Error> {
        let desk = lock(&self.desk);
        if desk.topics.is_some() { Ok(desk) } else { Err(ActionError::ServerEnded.of(&self.action)) }
    }

    fn after(&self, desk: &Desk<A>, id: &GoalId, step: Step) -> Result<GoalStatus, Error> {
        desk.goals.after(id, step).map_err(|status| {
            ActionError::WrongStatus { goal: id.clone(), status, wanted: step.wanted() }.of(&self.action)
        })
    }

    fn publish_end(
        &self,
        desk: &Desk<A>,
        id: &GoalId,
        stamp: Time,
        (status, text): (GoalStatus, &str),
        result: &A::Result,
    ) -> Result<(), Error> {
        let (status, now) = (wire_status(id, stamp, status, text), self.node.now());
        match &desk.topics {
            Some(topics) => {
                topics.results.publish(|out| write_about(out, now, &status, |out| result.write(out)))
            }
            None => Ok(()),
        }
    }

    fn publish_list(&self, desk: &mut Desk<A>) {
        let Some(topics) = &desk.topics else { return };
        desk.goals.expire(clock::monotonic());
        let told = |Entry { id, stamp, status, text, .. }: &Entry<_>| wire_status(id, *stamp, *status, text);
        let status_list = desk.goals.entries().iter().map(told).collect();
        let list = GoalStatusArray { header: header(self.node.now()), status_list };
        topics.lists.publish(|out| list.write(out)).unwrap_or_else(|error| console::error!("{error}"));
    }
}
