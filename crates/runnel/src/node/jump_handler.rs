//! A user's callback for jumps of ROS time.

use std::fmt;
use std::sync::Arc;

use crate::node::Node;
use crate::time::time_jumps::{JumpCallback, JumpThreshold, TimeJump};

/// Calls a callback when ROS time jumps, until it is dropped. Created by [`Node::create_jump_callback`].
#[must_use = "a jump handler ends when it is dropped: bind it to a name, `let _handler = ...`, not `let _ = ...`"]
pub struct JumpHandler {
    node: Node,
    callback: Arc<JumpCallback>,
}

impl Node {
    /// Calls `callback` on a spinning thread after each jump of ROS time that exceeds the threshold: when `/clock` goes
    /// backward, as when a bag restarts, when it goes forward by more than a limit, or when simulated time is switched
    /// on or off. It runs before the callbacks of timers that the jump makes due, and of later messages.
    ///
    /// ```no_run
    /// # use runnel::JumpThreshold;
    /// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
    /// let _handler = node.create_jump_callback(JumpThreshold::default(), |jump| {
    ///     println!("time has jumped by {} s: all kept poses are void", jump.delta.as_secs_f64());
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_jump_callback(
        &self,
        threshold: JumpThreshold,
        callback: impl FnMut(&TimeJump) + Send + 'static,
    ) -> JumpHandler {
        let callback = JumpCallback::new(threshold, self.inner.executor_dispatch(), callback);
        self.inner.context.shared.jumps.add(&callback);
        JumpHandler { node: self.clone(), callback }
    }
}

impl Drop for JumpHandler {
    fn drop(&mut self) {
        self.node.inner.context.shared.jumps.remove(&self.callback);
    }
}

impl fmt::Debug for JumpHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JumpHandler").field("node", &self.node.full_name()).finish_non_exhaustive()
    }
}
