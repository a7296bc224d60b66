//! Futures that wait for subscribers.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use super::PublisherBase;
use crate::error::Error;
use crate::ready::Waitable;
use crate::runtime::task_waiter::TaskWaiter;

impl PublisherBase {
    /// Lets the subscribers receive all that this node has published on the topic, and no more, so that another publisher
    /// can continue without a message lost, doubled or out of order. Links to ROS 1 subscribers end behind the last message,
    /// and new ones are refused. Does not wait: see [`is_drained`](Self::is_drained).
    pub fn drain(&self) {
        self.publication.drain();
    }

    /// Whether the subscribers have received everything after [`drain`](Self::drain): reliable ones in ROS 2 have
    /// acknowledged it, and those in ROS 1 have read the end of their links. Of best-effort subscriptions and UDPROS it is
    /// not known.
    pub fn is_drained(&self) -> bool {
        self.publication.is_drained()
    }

    /// Subscribers that receive everything published from now on.
    pub fn ready_subscription_count(&self) -> usize {
        self.publication.ready_count(&self.user_publisher.group)
    }

    /// Waits until `count` subscribers receive everything published from now on:
    /// [`wait_for_subscribers`](Self::wait_for_subscribers) for tasks. It uses no CPU time while nothing changes.
    ///
    /// ```no_run
    /// use runnel::msgs::std_msgs::msg::String;
    ///
    /// async fn talk(node: &runnel::Node) -> Result<(), runnel::Error> {
    ///     let chatter = node.create_publisher::<String>("chatter", 10)?;
    ///     chatter.wait_for_subscribers_async(1).await?;
    ///     chatter.publish(String { data: "hello".into() })
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn wait_for_subscribers_async(
        &self,
        count: usize,
    ) -> impl Future<Output = Result<(), Error>> + Send + Unpin + use<> {
        let (publisher, shared) = (self.clone(), &self.end.node.context.shared);
        let activity: Arc<dyn Waitable> = Arc::clone(shared.event_loop.activity()) as _;
        let mut waiter = TaskWaiter::new(shared, vec![activity]);
        poll_fn(move |task| {
            waiter.register(task);
            if publisher.publication.ready_count(&publisher.user_publisher.group) >= count {
                return Poll::Ready(Ok(()));
            }
            if waiter.ok() { Poll::Pending } else { Poll::Ready(Err(Error::ShuttingDown)) }
        })
    }
}
