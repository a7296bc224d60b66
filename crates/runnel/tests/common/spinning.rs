//! A context that spins on a thread of its own.

use std::thread::{self, JoinHandle};

use runnel::{Context, Node};

use super::ros2_pair::{EndOnDrop, context};

/// It spins until it is dropped.
pub struct Spinning {
    pub context: Context,
    thread: Option<JoinHandle<()>>,
}

impl Spinning {
    /// A context in a ROS 2 domain.
    pub fn new(domain: u16) -> Self {
        Self::with(context(domain, false))
    }

    pub fn with(context: Context) -> Self {
        let spinning = context.clone();
        Self { context, thread: Some(thread::spawn(move || spinning.spin().unwrap())) }
    }

    pub fn node(&self, name: &str) -> Node {
        self.context.create_node(name).unwrap()
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        drop(EndOnDrop(&self.context));
        self.thread.take().map(JoinHandle::join);
    }
}
