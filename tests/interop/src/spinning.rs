//! A context that spins on a thread of its own.

use std::thread::{self, JoinHandle};

use runnel::{Context, Node};

/// It spins until it is dropped.
pub struct Spinning {
    /// The context.
    pub context: Context,
    thread: Option<JoinHandle<()>>,
}

impl Spinning {
    /// Has a thread spin the context.
    pub fn new(context: Context) -> Spinning {
        let spinning = context.clone();
        Spinning { context, thread: Some(thread::spawn(move || spinning.spin().expect("a spinning thread"))) }
    }

    /// A node of the context.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn node(&self, name: &str) -> Node {
        self.context.create_node(name).expect("a node")
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.context.shutdown();
        self.thread.take().map(JoinHandle::join);
    }
}
