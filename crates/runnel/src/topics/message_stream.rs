//! Streams of a topic's messages.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use runnel_core::Message;

use crate::data::{Kept, SubscriptionCore, Taken};
use crate::error::Error;
use crate::node::Node;
use crate::node::options::SubscriptionOptions;
use crate::ready::Waitable;
use crate::runtime::task_waiter::TaskWaiter;
use crate::topics::message_info::MessageInfo;
use crate::topics::subscription::Subscription;

impl Node {
    /// Creates a subscription whose messages are read from a stream, in place of a callback. They wait in a queue with
    /// the depth of the QoS, which drops the oldest.
    ///
    /// ```no_run
    /// use runnel::msgs::std_msgs::msg::String;
    ///
    /// async fn listen(node: &runnel::Node) -> Result<(), runnel::Error> {
    ///     let mut chatter = node.create_stream::<String>("chatter", 10)?;
    ///     while let Some(message) = chatter.next().await {
    ///         println!("{}: {}", message.info().publisher(), message.data);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_stream<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
    ) -> Result<MessageStream<M>, Error> {
        let subscription = self.create_waitable_subscription::<M>(topic, options)?;
        let waitable: Arc<dyn Waitable> = Arc::<SubscriptionCore>::clone(subscription.core());
        let waiter = TaskWaiter::new(&self.inner.context.shared, vec![waitable]);
        Ok(MessageStream { subscription, waiter, message: PhantomData })
    }
}

/// Stream of a topic's messages, created by [`Node::create_stream`]. It works with any async runtime and ends with the
/// context. Dropping it unregisters the subscription.
///
/// The spinning thread wakes the task; if no thread spins, a background thread does.
#[must_use = "a subscription is unregistered when it is dropped: bind it to a name, `let chatter = ...`, not `let _ = ...`"]
pub struct MessageStream<M> {
    subscription: Subscription,
    waiter: TaskWaiter,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> MessageStream<M> {
    /// Returns the next message; `None` once the context shuts down. The same as `StreamExt::next` of the crate
    /// `futures`, without that crate.
    pub async fn next(&mut self) -> Option<ReceivedMessage<M>> {
        poll_fn(|task| self.poll_message(task)).await
    }

    /// The subscription, for its counters and QoS, or to add it to a [`WaitSet`](crate::WaitSet).
    pub fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    fn poll_message(&mut self, task: &mut Context<'_>) -> Poll<Option<ReceivedMessage<M>>> {
        self.waiter.register(task);
        loop {
            match self.subscription.core().take() {
                None if self.waiter.ok() => return Poll::Pending,
                None => return Poll::Ready(None),
                Some(taken) => {
                    if let Some(message) = ReceivedMessage::new(taken, self.subscription.core()) {
                        return Poll::Ready(Some(message));
                    }
                }
            }
        }
    }
}

impl<M: Message> Stream for MessageStream<M> {
    type Item = ReceivedMessage<M>;

    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_message(task)
    }
}

impl<M> fmt::Debug for MessageStream<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageStream").field("topic", &self.subscription.topic()).finish_non_exhaustive()
    }
}

/// A message of a [stream](MessageStream) with its metadata. It dereferences to the message. A value published by this
/// process is not copied.
#[derive(Clone, Debug)]
pub struct ReceivedMessage<M> {
    message: Arc<M>,
    info: MessageInfo,
}

impl<M: Message> ReceivedMessage<M> {
    /// Metadata of the message: its times and its publisher.
    pub fn info(&self) -> &MessageInfo {
        &self.info
    }

    /// Returns the message without a copy.
    pub fn into_shared(self) -> Arc<M> {
        self.message
    }

    /// Reads a taken message. `None` if it cannot be read, which is counted and logged.
    fn new(taken: Taken, core: &SubscriptionCore) -> Option<Self> {
        match taken {
            Taken::Shared(message, info) => {
                let (from, info) = info?;
                let message = message.downcast().ok()?;
                Some(Self { message, info: MessageInfo::new(&from, info, true) })
            }
            Taken::Bytes(kept) => Self::read(&kept, core),
        }
    }

    fn read(kept: &Kept, core: &SubscriptionCore) -> Option<Self> {
        let mut message = M::default();
        match kept.from().read_into(&mut message, kept.bytes()) {
            Ok(()) => Some(Self { message: Arc::new(message), info: MessageInfo::from_kept(kept) }),
            Err(error) => {
                core.refuse(kept, error);
                None
            }
        }
    }
}

impl<M> Deref for ReceivedMessage<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.message
    }
}
