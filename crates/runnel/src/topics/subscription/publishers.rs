//! Waits for publishers.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::Subscription;
use crate::data::SubscriptionCore;
use crate::driver::Inputs;
use crate::error::Error;
use crate::node::NodeInner;
use crate::ready::Waitable;
use crate::runtime::task_waiter::TaskWaiter;

impl Subscription {
    /// Waits at most `timeout` until `count` publishers are connected, including those of this process. False if there
    /// are fewer.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends first; [`Error::Io`] if the operating system refuses to wait.
    pub fn wait_for_publishers(&self, count: usize, timeout: Duration) -> Result<bool, Error> {
        let (shared, mut is_reached) = (&self.node.context.shared, false);
        shared.wait_unlocked(timeout, || {
            is_reached = self.publisher_count() >= count;
            is_reached || !shared.ok()
        })?;
        if is_reached || shared.ok() { Ok(is_reached) } else { Err(Error::ShuttingDown) }
    }

    /// Waits until `count` publishers are connected: [`wait_for_publishers`](Self::wait_for_publishers) for tasks. It
    /// uses no CPU time while nothing changes.
    ///
    /// ```no_run
    /// use runnel::msgs::std_msgs::msg::String;
    ///
    /// async fn listen(node: &runnel::Node) -> Result<(), runnel::Error> {
    ///     let chatter = node.create_stream::<String>("chatter", 10)?;
    ///     chatter.subscription().wait_for_publishers_async(1).await?;
    ///     println!("{} publishers", chatter.subscription().publisher_count());
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn wait_for_publishers_async(
        &self,
        count: usize,
    ) -> impl Future<Output = Result<(), Error>> + Send + Unpin + use<> {
        let (node, inputs, core) = (Arc::clone(&self.node), self.inputs.clone(), Arc::clone(&self.core));
        let shared = &self.node.context.shared;
        let activity: Arc<dyn Waitable> = Arc::clone(shared.event_loop.activity()) as _;
        let mut waiter = TaskWaiter::new(shared, vec![activity]);
        poll_fn(move |task| {
            waiter.register(task);
            if self::count(&node, &inputs, &core) >= count {
                return Poll::Ready(Ok(()));
            }
            if waiter.ok() { Poll::Pending } else { Poll::Ready(Err(Error::ShuttingDown)) }
        })
    }
}

/// Connected publishers of a subscription, including those of this process.
pub(super) fn count(node: &NodeInner, inputs: &Inputs, core: &Arc<SubscriptionCore>) -> usize {
    let ros2 = inputs.ros2.as_ref().map_or(0, |input| input.link_count_without(&inputs.ros1));
    inputs.ros1.link_count() + ros2 + node.count_publishers_of_this_process(core)
}
