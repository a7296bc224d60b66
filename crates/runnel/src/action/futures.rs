//! Futures of goals, and streams of their feedback.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use runnel_core::message::Action;

use super::client::{ActionClient, ClientGoalHandle, GoalOutcome, outcome, read_content};
use super::content::read;
use super::core::ClientCore;
use super::goal::{Event, Goal};
use crate::error::Error;
use crate::goal_status::GoalStatus;
use crate::log_output::console;
use crate::ready::{Dispatch, Waitable};
use crate::runtime::task_waiter::TaskWaiter;

impl<A: Action> ActionClient<A> {
    /// Waits until an action server is connected: [`ActionClient::wait_for_server`] for tasks.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn wait_for_server_async(&self) -> impl Future<Output = Result<(), Error>> + Send + Unpin + use<A> {
        let core = Arc::clone(self.core());
        // The server may send nothing once it is connected.
        let mut waiter = core.waiter(vec![core.activity()]);
        poll_fn(move |task| {
            waiter.register(task);
            match core.is_connected() {
                true => Poll::Ready(Ok(())),
                false => pending(&waiter),
            }
        })
    }

    /// Sends a goal, as [`ActionClient::send_goal`], and returns its handle and a stream of its feedback.
    ///
    /// ```no_run
    /// use runnel::msgs::actionlib::action::{TestAction, TestGoal};
    ///
    /// async fn count(client: &runnel::ActionClient<TestAction>) -> Result<(), runnel::Error> {
    ///     client.wait_for_server_async().await?;
    ///     let (goal, mut feedback) = client.send_goal_with_feedback(&TestGoal { goal: 3 })?;
    ///     if !goal.accepted().await? {
    ///         return Ok(());
    ///     }
    ///     while let Some(feedback) = feedback.next().await {
    ///         println!("{}", feedback.feedback);
    ///     }
    ///     println!("{:?}", goal.result().await?);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`ActionClient::send_goal`].
    pub fn send_goal_with_feedback(
        &self,
        goal: &A::Goal,
    ) -> Result<(ClientGoalHandle<A>, FeedbackStream<A>), Error> {
        let handle = self.send(goal, Some((Dispatch::Taken, Box::new(drop))))?;
        let (core, goal) = (Arc::clone(self.core()), Arc::clone(handle.goal()));
        let waiter = core.waiter(entities(&goal));
        let stream = FeedbackStream { core, goal, waiter, has_ended: false, action: PhantomData };
        Ok((handle, stream))
    }
}

impl<A: Action> ClientGoalHandle<A> {
    /// Whether the server accepts the goal: true once it has started it, false when it was rejected, canceled before
    /// the start, or lost.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn accepted(&self) -> impl Future<Output = Result<bool, Error>> + Send + Unpin + use<A> {
        self.poll_goal(|goal| match goal.status().0 {
            GoalStatus::Pending | GoalStatus::Recalling => None,
            GoalStatus::Rejected | GoalStatus::Recalled | GoalStatus::Lost => Some(false),
            _ => Some(true),
        })
    }

    /// The goal's outcome: [`ClientGoalHandle::wait_for_result`] for tasks. Dropping the future does not cancel the
    /// goal; [`GoalHandleBase::cancel`](crate::GoalHandleBase::cancel) does.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn result(
        &self,
    ) -> impl Future<Output = Result<GoalOutcome<A::Result>, Error>> + Send + Unpin + use<A> {
        self.poll_goal(|goal| goal.end().map(|end| outcome(end, read::<A::Result>)))
    }

    fn poll_goal<T, L: Fn(&Goal) -> Option<T> + Send + Unpin>(
        &self,
        check: L,
    ) -> impl Future<Output = Result<T, Error>> + Send + Unpin + use<A, T, L> {
        let (core, goal) = (Arc::clone(self.core()), Arc::clone(self.goal()));
        let mut waiter = core.waiter(entities(&goal));
        poll_fn(move |task| {
            waiter.register(task);
            core.process_received_for(task);
            check(&goal).map_or_else(|| pending(&waiter), |found| Poll::Ready(Ok(found)))
        })
    }
}

/// Stream of one goal's feedback. It ends with the goal or the context, and works with any async runtime.
///
/// At most 100 messages wait; then the oldest is dropped: see
/// [`GoalHandleBase::dropped_feedback`](crate::GoalHandleBase::dropped_feedback).
#[must_use = "feedback is read from the stream: bind it to a name, `let feedback = ...`, not `let _ = ...`"]
pub struct FeedbackStream<A> {
    core: Arc<ClientCore>,
    goal: Arc<Goal>,
    waiter: TaskWaiter,
    has_ended: bool,
    action: PhantomData<fn(A)>,
}

impl<A: Action> FeedbackStream<A> {
    /// Returns the next feedback; `None` once the goal has ended or the context shuts down. The same as
    /// `StreamExt::next` of the crate `futures`, without that crate.
    pub async fn next(&mut self) -> Option<A::Feedback> {
        poll_fn(|task| self.poll_feedback(task)).await
    }

    fn poll_feedback(&mut self, task: &mut Context<'_>) -> Poll<Option<A::Feedback>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        self.waiter.register(task);
        self.core.process_received_for(task);
        loop {
            match self.goal.calls().and_then(|calls| calls.take()) {
                Some(Event::Feedback(content)) => match read_content(&content, read::<A::Feedback>) {
                    Ok(feedback) => return Poll::Ready(Some(feedback)),
                    Err(error) => self.report(&error),
                },
                None if self.waiter.ok() => return Poll::Pending,
                Some(Event::End(_)) | None => {
                    self.has_ended = true;
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn report(&self, error: &str) {
        let action = self.core.action();
        console::error!("action {action}: the server sends feedback that cannot be read: {error}");
    }
}

impl<A: Action> Stream for FeedbackStream<A> {
    type Item = A::Feedback;

    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_feedback(task)
    }
}

impl<A> fmt::Debug for FeedbackStream<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedbackStream").field("goal", &self.goal.id).finish_non_exhaustive()
    }
}

/// Entities that become ready when a goal changes.
fn entities(goal: &Arc<Goal>) -> Vec<Arc<dyn Waitable>> {
    let mut entities: Vec<Arc<dyn Waitable>> = vec![Arc::<Goal>::clone(goal)];
    if let Some(calls) = goal.calls() {
        entities.push(Arc::<super::goal::Calls>::clone(calls));
    }
    entities
}

/// Result of a poll without an outcome.
fn pending<T>(waiter: &TaskWaiter) -> Poll<Result<T, Error>> {
    if waiter.ok() { Poll::Pending } else { Poll::Ready(Err(Error::ShuttingDown)) }
}
