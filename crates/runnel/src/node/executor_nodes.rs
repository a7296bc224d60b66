//! Creation of executors, and their nodes.

use std::time::Duration;

use crate::context::Context;
use crate::error::Error;
use crate::node::Node;
use crate::runtime::executor::Executor;

impl Context {
    /// A single-threaded executor of all nodes that are in no other executor, as [`Context::spin`] uses it. Use it for
    /// several threads ([`Executor::threads`]), or to run until a future completes.
    pub fn executor(&self) -> Executor {
        Executor::of_context(&self.shared)
    }

    /// Runs the callbacks of all nodes on this thread until the context shuts down, then unregisters the nodes. Nodes
    /// that are in an [`Executor`](crate::Executor) are left to it.
    ///
    /// # Errors
    /// When the operating system refuses to wait, which does not happen in practice.
    pub fn spin(&self) -> Result<(), Error> {
        self.executor().spin()
    }

    /// Runs the callbacks that are due now, without waiting.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn spin_some(&self) -> Result<(), Error> {
        self.executor().spin_some()
    }

    /// Waits at most `timeout` for a callback and runs it. False if none became due.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn spin_once(&self, timeout: Duration) -> Result<bool, Error> {
        self.executor().spin_once(timeout)
    }
}

impl Executor {
    /// A single-threaded executor. [`Executor::spin`] runs the callbacks of the nodes [added](Executor::add_node) to
    /// it, on the calling thread.
    pub fn new(context: &Context) -> Self {
        Self::without_nodes(&context.shared)
    }

    /// Adds a node: its callbacks run only in this executor until the node is [removed](Executor::remove_node) or the
    /// executor is dropped. Due callbacks move along. Any thread may add a node, also while executors spin.
    ///
    /// # Errors
    /// [`Error::NodeInExecutor`] when the node is in another executor, [`Error::OtherContext`] when it is of another context.
    pub fn add_node(&self, node: &Node) -> Result<(), Error> {
        if !self.is_of(&node.context().shared) {
            return Err(Error::OtherContext { node: node.full_name().to_owned() });
        }
        if !self.add(&node.inner.queue) {
            return Err(Error::NodeInExecutor { node: node.full_name().to_owned() });
        }
        Ok(())
    }

    /// Removes a node: [`Context::spin`] runs its callbacks again. False if the node was not in this executor. A
    /// callback that this executor has already started may still run after this returns.
    pub fn remove_node(&self, node: &Node) -> bool {
        self.remove(&node.inner.queue)
    }
}
