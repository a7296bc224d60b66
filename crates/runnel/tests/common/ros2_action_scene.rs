//! An action server and its client in ROS 2, in contexts of their own.

use std::sync::mpsc::{Receiver, channel};

use runnel::msgs::actionlib::action::TestAction;
use runnel::{ActionClient, ActionServer, ClientGoalHandle, Context, GoalStatus, ServerGoalHandle};

use super::common::{LONG, wait_until};
use super::ros2_pair::{context, new_domain};
use super::scene::goal;
use super::spinning::Spinning;

pub type Goal = ServerGoalHandle<TestAction>;

/// A goal that the server refuses to cancel.
pub const REFUSES_CANCEL: i32 = 13;

/// A server in a context that spins, and a client in one that does not.
pub struct Scene {
    pub server: ActionServer<TestAction>,
    pub goals: Receiver<Goal>,
    pub canceled: Receiver<Goal>,
    pub client: ActionClient<TestAction>,
    pub near: Spinning,
    pub far: Context,
}

impl Scene {
    pub fn new() -> Self {
        let domain = new_domain();
        Self::between(context(domain, false), context(domain, false))
    }

    pub fn between(near: Context, far: Context) -> Self {
        let near = Spinning::with(near);
        let ((goal_sender, goals), (cancel_sender, canceled)) = (channel(), channel());
        let node = near.context.create_node("server").unwrap();
        let on_goal = move |goal| goal_sender.send(goal).unwrap();
        let on_cancel = move |goal: Goal| {
            if goal.goal().goal == REFUSES_CANCEL {
                goal.refuse_cancel().unwrap();
            }
            cancel_sender.send(goal).unwrap();
        };
        let server = node.create_action_server("test", on_goal, on_cancel).unwrap();
        let client = far.create_node("client").unwrap().create_action_client("test").unwrap();
        assert!(client.wait_for_server(LONG).unwrap());
        Self { server, goals, canceled, client, near, far }
    }

    /// Sends a goal, which the server receives.
    pub fn send(&self, number: i32) -> (ClientGoalHandle<TestAction>, Goal) {
        let sent = self.client.send_goal(&goal(number)).unwrap();
        let arrived = self.goals.recv_timeout(LONG).unwrap();
        assert_eq!((arrived.id(), arrived.goal().goal), (sent.id(), number));
        (sent, arrived)
    }
}

pub fn end(sent: &ClientGoalHandle<TestAction>) -> (GoalStatus, Option<i32>) {
    let outcome = sent.wait_for_result(LONG).unwrap().expect("an end");
    (outcome.status, outcome.result.map(|result| result.result))
}

pub fn wait_for_status(sent: &ClientGoalHandle<TestAction>, status: GoalStatus) {
    wait_until(&format!("the goal is {status}"), || sent.status() == status);
}
