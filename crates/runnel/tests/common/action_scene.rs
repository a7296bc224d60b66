//! An action server and its client, in contexts of their own.

use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};

use runnel::msgs::actionlib::action::{TestAction, TestGoal, TestResult};
use runnel::{
    ActionClient, ActionServer, Context, Error, Node, ServerGoalHandle, SimpleActionServer, SimpleGoalHandle,
};

use super::common::{Graph, LONG};

/// A master, the server's context, which spins on its own thread, and the client's context, which does not spin.
pub struct Scene {
    pub graph: Graph,
    /// The server's context.
    pub near: Context,
    /// The client's context.
    pub far: Context,
    spinning: Option<JoinHandle<()>>,
}

impl Scene {
    /// Creates the contexts. The server's one spins.
    pub fn new() -> Self {
        let graph = Graph::new();
        let (near, far) = (graph.context(), graph.context());
        let context = near.clone();
        let spinning = Some(thread::spawn(move || context.spin().unwrap()));
        Self { graph, near, far, spinning }
    }

    /// A server that passes its goals to the test.
    pub fn server(&self) -> (ActionServer<TestAction>, Receiver<ServerGoalHandle<TestAction>>) {
        let (sender, goals) = channel();
        let node = self.near.create_node("server").unwrap();
        let server = node.create_action_server("test", move |goal| sender.send(goal).unwrap(), |_| {});
        (server.unwrap(), goals)
    }

    /// A simple action server.
    pub fn simple_server(
        &self,
        execute: impl FnMut(&SimpleGoalHandle<TestAction>) -> Result<(), Error> + Send + 'static,
    ) -> SimpleActionServer<TestAction> {
        self.near.create_node("server").unwrap().create_simple_action_server("test", execute).unwrap()
    }

    /// A node for the client.
    pub fn node(&self) -> Node {
        self.far.create_node("client").unwrap()
    }

    /// A client whose server is available.
    pub fn client(&self) -> ActionClient<TestAction> {
        let client = self.node().create_action_client("test").unwrap();
        assert!(client.wait_for_server(LONG).unwrap());
        client
    }
}

impl Scene {
    /// Shuts the server's context down and waits for its thread.
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

/// A goal with this number.
pub fn goal(goal: i32) -> TestGoal {
    TestGoal { goal }
}

/// A result with this number.
pub fn result(result: i32) -> TestResult {
    TestResult { result }
}
