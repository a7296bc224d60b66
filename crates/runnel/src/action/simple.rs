//! Action servers with one goal at a time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use runnel_core::message::Action;

use super::execution::{execute_goal, is_open};
use super::server::{ActionServer, ServerGoalHandle};
use super::server_core::ServerCore;
use super::server_types::StaticTypes;
use super::single_goal_slot::SingleGoalSlot;
use crate::error::Error;
use crate::goal_status::{GoalId, GoalStatus};
use crate::node::Node;
use crate::node::options::ServerOptions;
use crate::runtime::shared::ShutdownHook;
use crate::sync::{Class, Condvar, Mutex, lock};

/// How often the executing thread checks whether the context has ended.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Time for the current goal to end when the context shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Text of a goal that a newer goal replaces.
const SUPERSEDED: &str = "a newer goal has taken its place";

impl Node {
    /// Creates an action server with one goal at a time, like actionlib's `SimpleActionServer`.
    ///
    /// A separate thread calls `execute` with each goal, which is already accepted, and `execute` ends the goal with
    /// its handle. A goal that it leaves open is aborted with the text of the returned error. A newer goal preempts the
    /// current one: [`SimpleGoalHandle::is_preempt_requested`] returns true, `execute` ends its goal, and the newer one
    /// starts. Goals are received while a thread spins.
    ///
    /// # Errors
    /// As [`Node::create_action_server`], and when no thread can be started.
    pub fn create_simple_action_server<A: Action, E: fmt::Display>(
        &self,
        action: impl Into<ServerOptions>,
        mut execute: impl FnMut(&SimpleGoalHandle<A>) -> Result<(), E> + Send + 'static,
    ) -> Result<SimpleActionServer<A>, Error> {
        let slot = Arc::new(GoalSlot::<A>::default());
        let (goals, cancels) = (Arc::clone(&slot), Arc::clone(&slot));
        let server = self.create_action_server(
            action,
            move |goal| goals.offer(goal),
            move |goal| {
                cancels.cancel(&goal);
            },
        )?;
        let hook: Arc<dyn ShutdownHook> = Arc::<GoalSlot<A>>::clone(&slot);
        self.context().shared.add_shutdown_hook(Arc::downgrade(&hook));
        let (core, mine) = (Arc::clone(server.core()), Arc::clone(&slot));
        let thread = thread::Builder::new().name("runnel-action".into());
        let execute = move |goal: &SimpleGoalHandle<A>| execute(goal).map_err(|error| error.to_string());
        let thread = thread.spawn(move || mine.work(&core, execute));
        let thread = Some(thread.map_err(|error| {
            Error::io(format_args!("no thread can be started for action {}", server.action()), &error)
        })?);
        Ok(SimpleActionServer { thread, slot, server })
    }
}

/// An action that a node provides, one goal at a time. Dropping it preempts the current goal and waits until `execute`
/// returns.
#[must_use = "an action server ends when it is dropped: bind it to a name, `let _server = ...`, not `let _ = ...`"]
pub struct SimpleActionServer<A: Action> {
    thread: Option<JoinHandle<()>>,
    slot: Arc<GoalSlot<A>>,
    server: ActionServer<A>,
}

impl<A: Action> SimpleActionServer<A> {
    /// The action's absolute name.
    pub fn action(&self) -> &str {
        self.server.action()
    }
}

impl<A: Action> Drop for SimpleActionServer<A> {
    fn drop(&mut self) {
        self.slot.ended.store(true, Ordering::SeqCst);
        self.slot.arrived.notify_all();
        // The callback itself may drop the server.
        let thread = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id());
        let _ = thread.map(JoinHandle::join);
    }
}

impl<A: Action> fmt::Debug for SimpleActionServer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimpleActionServer").field("action", &self.action()).finish_non_exhaustive()
    }
}

/// Goals for the executing thread.
struct GoalSlot<A: Action> {
    goals: Mutex<SingleGoalSlot<ServerGoalHandle<A>>>,
    arrived: Condvar,
    /// The server has ended.
    ended: AtomicBool,
}

impl<A: Action> Default for GoalSlot<A> {
    fn default() -> Self {
        let goals = Mutex::new(Class::SimpleGoal, SingleGoalSlot::default());
        Self { goals, arrived: Condvar::new(), ended: AtomicBool::new(false) }
    }
}

impl<A: Action> GoalSlot<A> {
    /// Adds a received goal.
    fn offer(&self, goal: ServerGoalHandle<A>) {
        let mut goals = lock(&self.goals);
        let busy = goals.current().is_some_and(is_open);
        let stamp = goal.id().text().map(|_| goal.stamp());
        let out = goals.offer(goal, stamp, busy);
        drop(goals);
        self.arrived.notify_all();
        out.iter().for_each(cancel_superseded);
    }

    /// Cancels a goal for a client.
    fn cancel(&self, goal: &ServerGoalHandle<A>) {
        lock(&self.goals).cancel(|other| other.is(goal));
    }

    /// Executes goals until the server ends.
    fn work(
        self: &Arc<Self>,
        server: &ServerCore<StaticTypes<A>>,
        mut execute: impl FnMut(&SimpleGoalHandle<A>) -> Result<(), String>,
    ) {
        while let Some(goal) = self.next(server) {
            match goal.accept() {
                Err(error) => goal.warn(error),
                Ok(()) => {
                    let handle = SimpleGoalHandle { goal: goal.clone(), slot: Arc::clone(self) };
                    execute_goal(&goal, || execute(&handle));
                }
            }
            let over = lock(&self.goals).release();
            // Dropping the last handle publishes a result, which must not happen under the lock.
            drop(over);
            self.arrived.notify_all();
        }
    }

    /// Notifies that the current goal may have ended. Waiting threads check that under the lock.
    fn notify_ended(&self) {
        drop(lock(&self.goals));
        self.arrived.notify_all();
    }

    /// Waits for the next goal; `None` once the server or the context has ended.
    fn next(&self, server: &ServerCore<StaticTypes<A>>) -> Option<ServerGoalHandle<A>> {
        let mut goals = lock(&self.goals);
        loop {
            if self.ended.load(Ordering::SeqCst) || !server.ok() {
                return None;
            }
            if let Some(goal) = goals.take() {
                return Some(goal.clone());
            }
            // The end of the context does not notify this condition variable.
            goals = self.arrived.wait_timeout(goals, STOP_CHECK_INTERVAL).0;
        }
    }
}

/// When the context ends, the current goal gets time to end regularly.
impl<A: Action> ShutdownHook for GoalSlot<A> {
    fn run(&self) {
        let goals = lock(&self.goals);
        let ended = self
            .arrived
            .wait_timeout_while(goals, SHUTDOWN_TIMEOUT, |goals| goals.current().is_some_and(is_open));
        drop(ended);
    }
}

/// Cancels a goal that was replaced before its start.
fn cancel_superseded<A: Action>(goal: &ServerGoalHandle<A>) {
    if let Err(error) = goal.canceled(&A::Result::default(), SUPERSEDED) {
        goal.warn(error);
    }
}

/// Handle of the current goal.
pub struct SimpleGoalHandle<A: Action> {
    goal: ServerGoalHandle<A>,
    slot: Arc<GoalSlot<A>>,
}

impl<A: Action> SimpleGoalHandle<A> {
    /// The goal's id.
    pub fn id(&self) -> &GoalId {
        self.goal.id()
    }

    /// The goal's content.
    pub fn goal(&self) -> &A::Goal {
        self.goal.goal()
    }

    /// The goal's status.
    pub fn status(&self) -> GoalStatus {
        self.goal.status()
    }

    /// Whether the goal must end: a client has canceled it, a newer one has arrived, or the server or the context
    /// ends. End it then, for example with [`SimpleGoalHandle::preempted`].
    pub fn is_preempt_requested(&self) -> bool {
        let ends = self.slot.ended.load(Ordering::SeqCst) || !self.goal.is_context_running();
        ends || lock(&self.slot.goals).is_preempted()
    }

    /// Whether a newer goal waits.
    pub fn is_new_goal_available(&self) -> bool {
        lock(&self.slot.goals).has_next()
    }

    /// Publishes feedback about the goal.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::publish_feedback`].
    pub fn publish_feedback(&self, feedback: &A::Feedback) -> Result<(), Error> {
        self.goal.publish_feedback(feedback)
    }

    /// Ends the goal as succeeded.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::succeed`].
    pub fn succeed(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.ended(self.goal.succeed(result, text))
    }

    /// Ends the goal as aborted.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::abort`].
    pub fn abort(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.ended(self.goal.abort(result, text))
    }

    /// Ends the goal as canceled or preempted.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::canceled`].
    pub fn preempted(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.ended(self.goal.canceled(result, text))
    }

    fn ended(&self, ended: Result<(), Error>) -> Result<(), Error> {
        self.slot.notify_ended();
        ended
    }
}

impl<A: Action> fmt::Debug for SimpleGoalHandle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimpleGoalHandle").field("id", self.id()).finish_non_exhaustive()
    }
}
