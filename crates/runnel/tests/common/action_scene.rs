//! An action server and a client of it, each in a context of its own.

use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};

use runnel::msgs::actionlib::action::{TestAction, TestGoal, TestResult};
use runnel::{
    ActionClient, ActionServer, Context, Error, Node, ServerGoalHandle, SimpleActionServer, SimpleGoalHandle,
};

use super::common::{Graph, LONG};

/// A graph with a context that spins on a thread of its own and a client's context that does not spin.
pub struct Scene {
    pub graph: Graph,
    /// Where the server is.
    pub near: Context,
    /// Where the client is.
    pub far: Context,
    spinning: Option<JoinHandle<()>>,
}

impl Scene {
    /// The contexts; the server's spins.
    pub fn new() -> Self {
        let graph = Graph::new();
        let (near, far) = (graph.context(), graph.context());
        let context = near.clone();
        let spinning = Some(thread::spawn(move || context.spin().unwrap()));
        Self { graph, near, far, spinning }
    }

    /// A server that hands its goals to the test, which keeps them.
    pub fn server(&self) -> (ActionServer<TestAction>, Receiver<ServerGoalHandle<TestAction>>) {
        let (sender, goals) = channel();
        let node = self.near.create_node("server").unwrap();
        let server = node.create_action_server("test", move |goal| sender.send(goal).unwrap(), |_| {});
        (server.unwrap(), goals)
    }

    /// A server of one goal at a time.
    pub fn simple_server(
        &self,
        execute: impl FnMut(&SimpleGoalHandle<TestAction>) -> Result<(), Error> + Send + 'static,
    ) -> SimpleActionServer<TestAction> {
        self.near.create_node("server").unwrap().create_simple_action_server("test", execute).unwrap()
    }

    /// The client's node.
    pub fn node(&self) -> Node {
        self.far.create_node("client").unwrap()
    }

    /// A client once the server is there.
    pub fn client(&self) -> ActionClient<TestAction> {
        let client = self.node().create_action_client("test").unwrap();
        assert!(client.wait_for_server(LONG).unwrap());
        client
    }
}

impl Scene {
    /// Ends the server's context, and waits until that is done.
    pub fn end_server(&mut self) {
        self.near.shutdown();
        self.spinning.take().map(JoinHandle::join);
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.end_server();
    }
}

/// A goal of this number.
pub fn goal(goal: i32) -> TestGoal {
    TestGoal { goal }
}

/// A result of this number.
pub fn result(result: i32) -> TestResult {
    TestResult { result }
}
