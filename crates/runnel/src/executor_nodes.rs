//! Executors and the nodes that are added to them.

use std::time::Duration;

use crate::context::Context;
use crate::error::Error;
use crate::executor::Executor;
use crate::node::Node;

impl Context {
    /// An executor of one thread for all nodes that are in no other executor, which is what [`Context::spin`] uses: for several
    /// threads ([`Executor::threads`]), or until a future completes.
    pub fn executor(&self) -> Executor {
        Executor::of_context(&self.shared)
    }

    /// Serves all nodes and runs the callbacks of those that are in no [`Executor`](crate::Executor) on this thread until the
    /// context shuts down, then unregisters.
    ///
    /// # Errors
    /// When the operating system refuses to wait, which it does not in practice.
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

    /// Waits at most `timeout` for a callback and runs it; false if none became due.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn spin_once(&self, timeout: Duration) -> Result<bool, Error> {
        self.executor().spin_once(timeout)
    }
}

impl Executor {
    /// An executor of one thread, the one that calls [`Executor::spin`]. It runs the callbacks of the nodes that are
    /// [added](Executor::add_node).
    pub fn new(context: &Context) -> Self {
        Self::without_nodes(&context.shared)
    }

    /// Runs the callbacks of a node in this executor from now on, and nowhere else, until the node is
    /// [removed](Executor::remove_node) or the executor is dropped. Callbacks that are due already come along. Any thread may add
    /// a node, also while others spin.
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

    /// Runs the callbacks of a node here no longer: [`Context::spin`] runs them again. False if the node was not in this
    /// executor.
    pub fn remove_node(&self, node: &Node) -> bool {
        self.remove(&node.inner.queue)
    }
}
