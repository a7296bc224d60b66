//! ROS 2 end of an action client: three services and two topics.
//!
//! Replies wait in a queue, as messages of topics do: a spinning thread handles them, or a thread that waits for a goal.
//! Handling one may make the next call: once a goal is accepted, its result is requested, and its cancellation if it was
//! canceled before. So a client needs no timer, and a result cannot expire before it is requested.

use std::sync::{Arc, Weak};

use runnel_core::qos::QoS;
use runnel_core::time::Time;
use runnel_io::clock;
use runnel_msgs::action_msgs::msg::GoalStatusArray;

use super::client_input::{Input, MessageHandler};
use super::client_state_machine::Update;
use super::content::Content;
use super::goal::Goal;
use super::ros2_message::{
    STATUS_UNKNOWN, cancel_request, goal_request, is_cancel_refused, read_goal_response,
    read_result_response, read_with_uuid, result_request,
};
use super::ros2_service::{CallFailure, ServiceCaller, ServiceReply};
use super::tracker::Tracker;
use super::types::{Ros2ActionTypes, cancel_goal, ros2_name, ros2_status};
use crate::callback_group::ExclusiveGroup;
use crate::data::{CallPath, Event, EventLimit, Events};
use crate::error::Error;
use crate::goal_status::{GoalId, GoalStatus};
use crate::node::Node;
use crate::ready::Waitable;
use crate::types::announced::Topic;

/// Queue depth of feedback for a slow client. More than the original's 10, since a thread that waits for something else
/// may take it late.
const DEPTH: usize = 1000;

/// Each call has at most one reply, and no reply may be dropped.
const REPLIES: EventLimit = EventLimit { count: usize::MAX, bytes: usize::MAX };

/// See the module's documentation.
pub(super) struct Ros2Client {
    tracker: Arc<Tracker>,
    services: [ServiceCaller; 3],
    feedback: Input,
    status: Input,
    replies: Arc<Events<Replied>>,
}

/// The services, by their place in [`Ros2Client::services`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    SendGoal,
    GetResult,
    Cancel,
}

/// A reply to a call about a goal, or about many goals.
pub(super) struct Replied {
    call: Call,
    goal: Weak<Goal>,
    reply: ServiceReply,
}

impl Event for Replied {
    fn bytes(&self) -> usize {
        self.reply.result.as_ref().map_or(0, Vec::len)
    }
}

impl Ros2Client {
    pub(super) fn new(
        node: &Node,
        action: &str,
        types: Ros2ActionTypes,
        tracker: &Arc<Tracker>,
    ) -> Result<Arc<Self>, Error> {
        let service = |of, suffix: &str| ServiceCaller::new(node, ros2_name(node, action, suffix)?, of);
        let input = |of, suffix: &str, qos, group: &_, handler| {
            Input::new(node, &Topic::of_ros2(ros2_name(node, action, suffix)?, of), qos, group, handler)
        };
        let services = [
            service(types.send_goal, "send_goal")?,
            service(types.get_result, "get_result")?,
            service(cancel_goal(), "cancel_goal")?,
        ];
        // Feedback and replies share a group, so that feedback that has arrived is handled before the result.
        let [goal_group, status_group] = [(); 2].map(|()| Arc::new(ExclusiveGroup::new()));
        let handler = feedback_handler(tracker);
        let feedback = input(types.feedback, "feedback", QoS::keep_last(DEPTH), &goal_group, handler)?;
        let qos = QoS::keep_last(1).transient_local();
        let status = input(ros2_status(), "status", qos, &status_group, status_handler(tracker))?;
        let dispatch = node.inner.executor_dispatch();
        Ok(Arc::new_cyclic(|client: &Weak<Self>| {
            let client = Weak::clone(client);
            let on_reply =
                move |replied| client.upgrade().into_iter().for_each(|client| client.on_reply(&replied));
            let replies = Events::in_group(REPLIES, (dispatch, &goal_group), on_reply);
            Self { tracker: Arc::clone(tracker), services, feedback, status, replies }
        }))
    }

    pub(super) fn inputs(&self) -> [&Input; 2] {
        [&self.feedback, &self.status]
    }

    /// Replies that wait to be handled.
    pub(super) fn replies(&self) -> &Arc<Events<Replied>> {
        &self.replies
    }

    /// Handles the replies that wait. False if more wait, or another thread handles them.
    pub(super) fn process_replies(&self) -> bool {
        self.replies.run_due();
        !self.replies.is_ready()
    }

    /// Whether a server is ready: its services, and its topics.
    pub(super) fn is_ready(&self) -> bool {
        self.inputs().into_iter().all(|input| input.subscription().publisher_count() > 0)
            && self.services.iter().all(ServiceCaller::is_ready)
    }

    pub(super) fn send(&self, goal: &Arc<Goal>, content: &dyn Content) -> Result<(), Error> {
        let Some(uuid) = goal.id.uuid() else { return Ok(()) };
        let request = goal_request(uuid, content, self.tracker.action())?;
        self.call(Call::SendGoal, request, Arc::downgrade(goal)).map(drop)
    }

    /// Requests the server to cancel a goal that it has accepted.
    pub(super) fn cancel(&self, goal: &Arc<Goal>) -> Result<(), Error> {
        let request = cancel_request(goal.id.uuid(), Time::default());
        self.call(Call::Cancel, request, Arc::downgrade(goal)).map(drop)
    }

    /// Requests the server to cancel the goals accepted at this stamp or earlier, or (if it is zero) all.
    pub(super) fn cancel_many(&self, stamp: Time) -> Result<(), Error> {
        self.call(Call::Cancel, cancel_request(None, stamp), Weak::new()).map(drop)
    }

    /// Ends calls that wait for the results of goals.
    pub(super) fn end_calls(&self, calls: &[CallPath]) {
        calls.iter().for_each(|call| self.services[Call::GetResult as usize].end(*call));
    }

    fn call(&self, call: Call, request: Vec<u8>, goal: Weak<Goal>) -> Result<CallPath, Error> {
        let replies = Arc::clone(&self.replies);
        let on_reply = move |reply| replies.push(Replied { call, goal, reply });
        self.services[call as usize].call(request, on_reply)
    }

    /// Handles a reply. The caller is in the group of feedback.
    fn on_reply(&self, Replied { call, goal, reply }: &Replied) {
        self.services[*call as usize].end(reply.path);
        let Some(goal) = goal.upgrade() else { return };
        let update = match (&reply.result, call) {
            (Err(_), Call::Cancel) => Update::Unchanged,
            (Err(CallFailure::Refused(why)), Call::SendGoal) => {
                goal.on_result(GoalStatus::Rejected, why, None)
            }
            (Err(CallFailure::Refused(why)), _) => goal.on_failure(why),
            (Err(CallFailure::NoAnswer(why)), _) => {
                goal.on_failure(&format!("the action server gives no answer: {why}"))
            }
            (Ok(response), Call::SendGoal) => self.on_goal_response(&goal, response),
            (Ok(response), Call::GetResult) => self.on_result_response(&goal, response),
            (Ok(response), Call::Cancel) => on_cancel_response(&goal, response),
        };
        if update == Update::End {
            self.tracker.remove(&goal);
        }
    }

    fn on_goal_response(&self, goal: &Arc<Goal>, response: &[u8]) -> Update {
        match read_goal_response(response) {
            Ok(Some(_)) => self.on_accepted(goal),
            Ok(None) => goal.on_result(GoalStatus::Rejected, "the action server has rejected the goal", None),
            Err(error) => goal.on_failure(&unreadable("to the goal", &error.to_string())),
        }
    }

    fn on_accepted(&self, goal: &Arc<Goal>) -> Update {
        let must_cancel = goal.on_accepted();
        let request = goal.id.uuid().map(result_request).unwrap_or_default();
        let sent = self.call(Call::GetResult, request, Arc::downgrade(goal));
        let mut sent = sent.map(|call| self.tracker.set_result_call(goal, call));
        if must_cancel {
            sent = sent.and(self.cancel(goal));
            self.tracker.release(goal);
        }
        sent.map_or_else(|error| goal.on_failure(&error.to_string()), |()| Update::Changed)
    }

    fn on_result_response(&self, goal: &Goal, response: &[u8]) -> Update {
        // Feedback that has arrived was sent before the result.
        self.feedback.take_all();
        match read_result_response(response) {
            Ok((STATUS_UNKNOWN, _)) => goal.on_failure("the action server does not know the goal"),
            Ok((number, result)) => match GoalStatus::of_ros2_number(number) {
                Some(status) => goal.on_result(status, "", Some(result)),
                None => goal
                    .on_failure(&format!("the action server sent a result with the unknown status {number}")),
            },
            Err(error) => goal.on_failure(&unreadable("with the result", &error.to_string())),
        }
    }
}

/// Handles the response to a request to cancel one goal.
fn on_cancel_response(goal: &Goal, response: &[u8]) -> Update {
    if goal.id.uuid().is_some_and(|uuid| is_cancel_refused(response, uuid) == Ok(true)) {
        goal.on_cancel_refused();
    }
    // Otherwise the goal ends, is being canceled, or the response with its result says that it is lost.
    Update::Unchanged
}

fn unreadable(which: &str, error: &str) -> String {
    format!("the action server sent a response {which} that cannot be read: {error}")
}

fn feedback_handler(tracker: &Arc<Tracker>) -> MessageHandler {
    let tracker = Arc::clone(tracker);
    Arc::new(move |from, bytes| {
        let (uuid, feedback) = read_with_uuid(from.encoding, bytes)?;
        tracker.on_feedback(&GoalId::from(uuid), || feedback);
        Ok(())
    })
}

fn status_handler(tracker: &Arc<Tracker>) -> MessageHandler {
    let tracker = Arc::clone(tracker);
    Arc::new(move |from, bytes| {
        let mut list = GoalStatusArray::default();
        from.read_into(&mut list, bytes)?;
        tracker.on_ros2_status_list(from, &list, clock::monotonic());
        Ok(())
    })
}
