//! ROS 1 end of an action client: the five topics of actionlib.

use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_core::time::Time;
use runnel_core::wire::{Encoding, Wire, decode};
use runnel_io::clock;
use runnel_msgs::actionlib_msgs::msg::{GoalID, GoalStatusArray};

use super::client_input::{Input, MessageHandler};
use super::content::{Content, ReceivedContent};
use super::goal::Goal;
use super::header::{read_with_status, write_goal_head};
use super::tracker::Tracker;
use super::types::{Ros1ActionTypes, Type};
use crate::callback_group::ExclusiveGroup;
use crate::error::Error;
use crate::goal_status::GoalId;
use crate::node::Node;
use crate::topics::publisher::BytesPublisher;

/// Queue depth of goals and cancel requests for a slow server, and of results and feedback for a slow client.
const DEPTH: usize = 1000;

/// Queue depth of status lists: each replaces those before it.
const LISTS: usize = 10;

/// See the module's documentation.
pub(super) struct Ros1Client {
    goals: BytesPublisher,
    cancels: BytesPublisher,
    feedback: Input,
    results: Input,
    lists: Input,
}

impl Ros1Client {
    pub(super) fn new(
        node: &Node,
        action: &str,
        types: Ros1ActionTypes,
        tracker: &Arc<Tracker>,
    ) -> Result<Self, Error> {
        let publisher = |of: Type, suffix: &str| {
            let topic = of.topic(node, action, suffix)?;
            Ok::<_, Error>(BytesPublisher::new(node.publishing(&topic, QoS::keep_last(DEPTH))?))
        };
        let input = |of: Type, suffix: &str, depth, group, handler| {
            Input::new(node, &of.topic(node, action, suffix)?, QoS::keep_last(depth), group, handler)
        };
        let (goals, cancels) = (publisher(types.goal, "goal")?, publisher(Type::cancel(), "cancel")?);
        // Feedback and results share a group, so that they stay in order.
        let [goal_group, list_group] = [(); 2].map(|()| Arc::new(ExclusiveGroup::new()));
        let handler = feedback_handler(tracker);
        let feedback = input(types.feedback, "feedback", DEPTH, &goal_group, handler)?;
        let handler = result_handler(tracker, &feedback);
        let results = input(types.result, "result", DEPTH, &goal_group, handler)?;
        let handler = list_handler(tracker, &results);
        let lists = input(Type::status(), "status", LISTS, &list_group, handler)?;
        Ok(Self { goals, cancels, feedback, results, lists })
    }

    pub(super) fn inputs(&self) -> [&Input; 3] {
        [&self.feedback, &self.results, &self.lists]
    }

    pub(super) fn send(&self, goal: &Goal, content: &dyn Content) -> Result<(), Error> {
        self.goals.publish_encoded(|_, out| {
            content.encode(Encoding::Ros1, &|out| write_goal_head(out, &goal.id, goal.stamp), out)
        })
    }

    /// Requests the server to cancel the goal with this id, those with this stamp or an earlier one, or (with neither)
    /// all.
    pub(super) fn request_cancel(&self, id: Option<&GoalId>, stamp: Time) -> Result<(), Error> {
        let request = GoalID { stamp, id: id.map(GoalId::to_string).unwrap_or_default() };
        self.cancels.publish(|out| request.write(out))
    }

    /// Whether the server of this node is connected on all topics: it publishes lists, feedback and results, and receives
    /// goals and cancel requests.
    pub(super) fn is_connected_to(&self, server: &str) -> bool {
        self.goals.reaches(server)
            && self.cancels.reaches(server)
            && self.results.subscription().has_publisher(server)
            && self.feedback.subscription().has_publisher(server)
    }
}

fn feedback_handler(tracker: &Arc<Tracker>) -> MessageHandler {
    let tracker = Arc::clone(tracker);
    Arc::new(move |_, bytes| {
        let (status, feedback) = read_with_status(bytes)?;
        let id = GoalId::from(&*status.goal_id.id);
        tracker.on_feedback(&id, || ReceivedContent::new(feedback, Encoding::Ros1, 0));
        Ok(())
    })
}

/// Handles results. Feedback that has arrived was sent before the result, so it is processed first.
fn result_handler(tracker: &Arc<Tracker>, feedback: &Input) -> MessageHandler {
    let (tracker, feedback) = (Arc::clone(tracker), feedback.clone());
    Arc::new(move |server, bytes| {
        let (status, result) = read_with_status(bytes)?;
        feedback.take_all();
        tracker.on_result(&server.publisher, &status, result);
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
        tracker.on_status_list(&server.publisher, (&list, has_all_results), clock::monotonic());
        Ok(())
    })
}
