//! Executors and the nodes that are added to them.

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
