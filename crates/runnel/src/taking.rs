//! Entities that the user takes from in place of callbacks, chosen and waited for with a [`WaitSet`].

use std::any::TypeId;
use std::sync::Arc;

use runnel_core::Message;
use runnel_core::message::Service;
use runnel_core::wire::{DecodeError, Wire};

use crate::announced::Topic;
use crate::borrowed::Borrowed;
use crate::callback_group::CallbackGroup;
use crate::context::Context;
use crate::data::{Kept, LinkInfo, QosEvents, SampleInfo, ServiceCallback, SharedMessage, Taken};
use crate::error::Error;
use crate::message_info::MessageInfo;
use crate::node::Node;
use crate::options::{ServerOptions, SubscriptionOptions, TimerOptions};
use crate::pending_response::PendingResponse;
use crate::qos_events::QosEvent;
use crate::ready::{GuardCondition, When};
use crate::responder::Responder;
use crate::service::ServiceServer;
use crate::subscription::{Subscription, Takes};
use crate::timer::Timer;
use crate::timers::Follows;
use crate::wait_set::{WaitKey, WaitSet};

impl WaitSet {
    /// A set of no entities.
    pub fn new(context: &Context) -> Self {
        Self::of(&context.shared)
    }

    /// Adds a subscription: it is ready while a message waits.
    pub fn add_subscription(&mut self, subscription: &Subscription) -> WaitKey {
        self.add(Arc::clone(subscription.core()))
    }

    /// Adds the QoS events of a subscription, unless it has none to take.
    pub fn add_events(&mut self, subscription: &Subscription) -> Option<WaitKey> {
        let events = subscription.core().events().waitable()?;
        Some(self.add(events))
    }

    /// Adds a service: it is ready while a request waits.
    pub fn add_service(&mut self, service: &ServiceServer) -> WaitKey {
        self.add(Arc::clone(service.core()))
    }

    /// Adds a timer: it is ready once a period is over.
    pub fn add_timer(&mut self, timer: &Timer) -> WaitKey {
        self.add(Arc::clone(timer.entry()))
    }

    /// Adds a call: it is ready once there is a response, or a reason why there is none.
    pub fn add_response<S: Service>(&mut self, response: &PendingResponse<S>) -> WaitKey {
        self.add(Arc::clone(response.pending()))
    }

    /// Adds a guard condition: it is ready once it is triggered.
    pub fn add_guard_condition(&mut self, guard: &Arc<GuardCondition>) -> WaitKey {
        self.add(Arc::clone(guard))
    }
}

impl Node {
    /// Subscribes to a topic without a callback: messages are [taken](Subscription::take), and so are the
    /// [events](SubscriptionOptions::waitable_events) that the options name.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_waitable_subscription<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
    ) -> Result<Subscription, Error> {
        let SubscriptionOptions { qos, callbacks, udpros, waitable_events, .. } = options.into();
        let topic = Topic { udpros, ..self.topic_of::<M>(topic)? };
        let turn = (When::Taken, &CallbackGroup::for_entity(None));
        let takes = Takes { by_reference: Some(TypeId::of::<M>()), info: true };
        let events = match &*waitable_events {
            [] => QosEvents::new(callbacks, self.inner.spun()),
            kinds => QosEvents::taken(kinds),
        };
        self.subscribe_as((&topic, qos, takes), turn, events, |_| Ok(()))
    }

    /// Provides a service without a callback: requests are [taken](ServiceServer::take), and answered at any time by their
    /// [`Responder`].
    ///
    /// # Errors
    /// As [`Node::create_service`].
    pub fn create_waitable_service<S: Service>(
        &self,
        service: impl Into<ServerOptions>,
    ) -> Result<ServiceServer, Error> {
        self.provide::<S>(service, When::Taken, ServiceCallback::Defers(Box::new(drop)))
    }

    /// A timer of ROS time without a callback: its ticks are [taken](Timer::take).
    pub fn create_waitable_timer(&self, period: impl Into<TimerOptions>) -> Timer {
        self.timer(period, (Follows::Ros, false), When::Taken, || ())
    }
}

/// A message that was taken: the publisher's own value if that is of this process, else where its bytes lie.
pub struct TakenMessage<M> {
    content: Content<M>,
    info: Option<MessageInfo>,
}

enum Content<M> {
    Shared(Arc<M>),
    Borrowed(Borrowed<M>),
}

impl<M: Message> TakenMessage<M> {
    /// The message as a view.
    ///
    /// # Errors
    /// As [`Borrowed::view`].
    pub fn view(&self) -> Result<<M as Wire>::View<'_>, DecodeError> {
        match &self.content {
            Content::Shared(message) => Ok(message.view()),
            Content::Borrowed(message) => message.view(),
        }
    }

    /// The publisher's own value, if that is of this process and publishes values.
    pub fn shared(&self) -> Option<&Arc<M>> {
        match &self.content {
            Content::Shared(message) => Some(message),
            Content::Borrowed(_) => None,
        }
    }

    /// What is known of the message besides: when it was published, when it came, and from whom. `None` if the subscription has a
    /// callback that takes none, since nothing was noted for it then.
    pub fn info(&self) -> Option<&MessageInfo> {
        self.info.as_ref()
    }

    fn new_shared(message: SharedMessage, info: Option<(Arc<LinkInfo>, SampleInfo)>) -> Option<Self> {
        let info = info.map(|(from, info)| MessageInfo::new(&from, info, true));
        Some(Self { content: Content::Shared(message.downcast().ok()?), info })
    }

    fn new_borrowed(kept: Kept) -> Self {
        let info = kept.info().received.map(|_| MessageInfo::from_kept(&kept));
        Self { content: Content::Borrowed(Borrowed::new(kept)), info }
    }
}

impl Subscription {
    /// Takes the message that has waited longest. One that cannot be read is passed over, as callbacks do.
    pub fn take<M: Message>(&self) -> Option<TakenMessage<M>> {
        loop {
            let taken = match self.core().take()? {
                Taken::Shared(message, info) => TakenMessage::new_shared(message, info),
                Taken::Bytes(kept) => match kept.from().read_view::<M>(kept.bytes()).map(drop) {
                    Ok(()) => Some(TakenMessage::new_borrowed(kept)),
                    Err(error) => {
                        self.core().refuse(&kept, error);
                        None
                    }
                },
            };
            if taken.is_some() {
                return taken;
            }
        }
    }

    /// Takes what has happened of the kind of event that has waited longest.
    pub fn take_event(&self) -> Option<QosEvent> {
        self.core().events().take()
    }
}

impl Timer {
    /// Takes the tick that is due. True if there was one.
    pub fn take(&self) -> bool {
        self.entry().take()
    }
}

impl ServiceServer {
    /// Takes the request that has waited longest, with what answers it. The client of one that cannot be read gets an error.
    pub fn take<S: Service>(&self) -> Option<(S::Request, Responder<S>)> {
        std::iter::from_fn(|| self.core().take()).find_map(Responder::of_request)
    }
}
