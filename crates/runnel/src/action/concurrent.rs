//! Action servers that execute each goal on a thread of its own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use runnel_core::message::Action;

use super::execution::execute_goal;
use super::server::{ActionServer, ServerGoalHandle};
use crate::error::Error;
use crate::node::Node;
use crate::node::options::ServerOptions;

/// Limit of goals that are executed at the same time.
const MOST_THREADS: usize = 64;

impl Node {
    /// Creates an action server that executes its goals concurrently, like rclpy's `ActionServer` with a reentrant callback
    /// group and an executor of many threads.
    ///
    /// Each goal is accepted, and a thread of its own calls `execute`, which ends the goal with its handle. A goal that it
    /// leaves open is aborted with the text of the returned error. A cancel request is granted:
    /// [`ServerGoalHandle::is_cancel_requested`] returns true, and `execute` ends its goal. While 64 goals are executed,
    /// further ones are rejected. Goals are received while a thread spins.
    ///
    /// ```no_run
    /// # use runnel::msgs::actionlib::action::{TestAction, TestResult};
    /// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
    /// let _count = node.create_concurrent_action_server::<TestAction, runnel::Error>("count", |goal| {
    ///     for _ in 0..goal.goal().goal {
    ///         if goal.is_cancel_requested() {
    ///             return goal.canceled(&TestResult { result: 0 }, "");
    ///         }
    ///         std::thread::sleep(std::time::Duration::from_secs(1));
    ///     }
    ///     goal.succeed(&TestResult { result: goal.goal().goal }, "")
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Node::create_action_server`].
    pub fn create_concurrent_action_server<A: Action, E: fmt::Display>(
        &self,
        action: impl Into<ServerOptions>,
        execute: impl Fn(&ServerGoalHandle<A>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<ActionServer<A>, Error> {
        let execute =
            Arc::new(move |goal: &ServerGoalHandle<A>| execute(goal).map_err(|error| error.to_string()));
        let executing = Arc::new(AtomicUsize::new(0));
        let on_goal = move |goal| {
            let execution = Execution::begin(&executing);
            if let Err(error) = start(&goal, execution, Arc::clone(&execute)) {
                goal.warn(error);
            }
        };
        // Without a refusal, a cancel request is granted.
        self.create_action_server(action, on_goal, drop)
    }
}

/// One of the goals that are executed, until it is dropped.
struct Execution(Arc<AtomicUsize>);

impl Execution {
    /// `None` if so many are executed already.
    fn begin(executing: &Arc<AtomicUsize>) -> Option<Self> {
        let execution = Self(Arc::clone(executing));
        (executing.fetch_add(1, Ordering::SeqCst) < MOST_THREADS).then_some(execution)
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Accepts a goal and executes it on a new thread.
fn start<A: Action>(
    goal: &ServerGoalHandle<A>,
    execution: Option<Execution>,
    execute: Arc<impl Fn(&ServerGoalHandle<A>) -> Result<(), String> + Send + Sync + 'static>,
) -> Result<(), Error> {
    let Some(execution) = execution else {
        let text = format!("{MOST_THREADS} goals are executed already");
        return goal.reject(&A::Result::default(), &text);
    };
    goal.accept()?;
    let mine = goal.clone();
    let run = move || {
        execute_goal(&mine, || execute(&mine));
        drop(execution);
    };
    match thread::Builder::new().name("runnel-goal".into()).spawn(run) {
        Ok(_) => Ok(()),
        Err(error) => goal.abort(&A::Result::default(), &format!("no thread can be started: {error}")),
    }
}
