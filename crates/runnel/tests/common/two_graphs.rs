//! A dual talker, and a listener in each graph, all in contexts of their own.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::core::Message;
use runnel::{Context, ContextOptions, Graphs, Node, QoS, Subscription};
use runnel_io::clock;

use super::common::{Graph, LONG};
use super::domains::new_domain;

pub struct TwoGraphs {
    _graph: Graph,
    pub both: Context,
    pub ros1: Context,
    pub ros2: Context,
}

impl TwoGraphs {
    pub fn new() -> Self {
        let domain = new_domain();
        let graph = Graph::new();
        let alone = ContextOptions::default().signals(false).arguments([""; 0]);
        let context = |options: ContextOptions| Context::with_options(options.domain_id(domain)).unwrap();
        Self {
            both: context(graph.options().graphs(Graphs::Both)),
            ros1: context(graph.options().graphs(Graphs::Ros1)),
            ros2: context(alone.graphs(Graphs::Ros2)),
            _graph: graph,
        }
    }

    /// Spins all contexts until `done`.
    #[track_caller]
    pub fn spin_until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let deadline = clock::monotonic() + LONG;
        while !done() {
            assert!(clock::monotonic() < deadline, "timed out: {what}");
            for context in [&self.both, &self.ros1, &self.ros2] {
                context.spin_once(Duration::from_millis(1)).unwrap();
            }
        }
    }
}

/// Messages that a subscription has received.
pub struct Received<M> {
    pub subscription: Subscription,
    messages: Arc<Mutex<Vec<M>>>,
}

impl<M: Message> Received<M> {
    pub fn on(node: &Node, topic: &str, qos: impl Into<QoS>) -> Self {
        let messages: Arc<Mutex<Vec<M>>> = Arc::default();
        let into = Arc::clone(&messages);
        let take = move |message: &M| into.lock().unwrap().push(message.clone());
        Self { subscription: node.create_subscription(topic, qos, take).unwrap(), messages }
    }

    pub fn len(&self) -> usize {
        self.messages.lock().unwrap().len()
    }

    /// The last message, after asserting the number of messages.
    #[track_caller]
    pub fn last_of(&self, count: usize) -> M {
        let messages = self.messages.lock().unwrap();
        assert_eq!(messages.len(), count);
        messages[count - 1].clone()
    }
}
