//! Entities without callbacks, from which the user takes, and their use in a [`WaitSet`].

use std::any::TypeId;
use std::sync::Arc;

use runnel_core::Message;
use runnel_core::message::Service;
use runnel_core::wire::{DecodeError, Wire};

use crate::callback_group::CallbackGroup;
use crate::context::Context;
use crate::data::{Kept, LinkInfo, QosEvents, SampleInfo, ServiceCallback, SharedMessage, Taken};
use crate::error::Error;
use crate::node::Node;
use crate::node::options::{ServerOptions, SubscriptionOptions, TimerOptions};
use crate::node::timer::Timer;
use crate::qos_events::QosEvent;
use crate::ready::{Dispatch, GuardCondition};
use crate::runtime::wait_set::{WaitKey, WaitSet};
use crate::services::pending_response::PendingResponse;
use crate::services::responder::Responder;
use crate::services::service::ServiceServer;
use crate::time::timers::Follows;
use crate::topics::borrowed::Borrowed;
use crate::topics::message_info::MessageInfo;
use crate::topics::subscription::{Subscription, Takes};
use crate::types::announced::Topic;

impl WaitSet {
    /// Creates an empty wait set.
    pub fn new(context: &Context) -> Self {
        Self::of(&context.shared)
    }

    /// Adds a subscription, which is ready while a message waits.
    pub fn add_subscription(&mut self, subscription: &Subscription) -> WaitKey {
        self.add(Arc::clone(subscription.core()))
    }

    /// Adds the QoS events of a subscription. `None` if it has no waitable events.
    pub fn add_events(&mut self, subscription: &Subscription) -> Option<WaitKey> {
        let events = subscription.core().events().waitable()?;
        Some(self.add(events))
    }

    /// Adds a service, which is ready while a request waits.
    pub fn add_service(&mut self, service: &ServiceServer) -> WaitKey {
        self.add(Arc::clone(service.core()))
    }

    /// Adds a timer, which is ready once its period has passed.
    pub fn add_timer(&mut self, timer: &Timer) -> WaitKey {
        self.add(Arc::clone(timer.entry()))
    }

    /// Adds a call, which is ready once it has a response or has failed.
    pub fn add_response<S: Service>(&mut self, response: &PendingResponse<S>) -> WaitKey {
        self.add(Arc::clone(response.pending()))
    }

    /// Adds a guard condition, which is ready once it is triggered.
    pub fn add_guard_condition(&mut self, guard: &Arc<GuardCondition>) -> WaitKey {
        self.add(Arc::clone(guard))
    }
}

impl Node {
    /// Creates a subscription without a callback: the program [takes](Subscription::take) messages, and the
    /// [events](SubscriptionOptions::waitable_events) that the options name.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_waitable_subscription<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
    ) -> Result<Subscription, Error> {
        let SubscriptionOptions { qos, callbacks, udpros, waitable_events, group, overriding, .. } =
            options.into();
        let topic = Topic { udpros, ..self.topic_of::<M>(topic)? };
        let qos = overriding.map_or(Ok(qos), |overriding| overriding(self, &topic.name, qos))?;
        let scheduling = (Dispatch::Taken, &CallbackGroup::for_entity(None));
        let takes = Takes { by_reference: Some(TypeId::of::<M>()), info: true };
        let events = match &*waitable_events {
            [] => {
                let group = CallbackGroup::for_entity(group.as_ref());
                QosEvents::new(callbacks, (self.inner.executor_dispatch(), &group))
            }
            kinds => QosEvents::taken(kinds),
        };
        self.subscribe_as((&topic, qos, takes), scheduling, events, |_| Ok(()))
    }

    /// Creates a service without a callback: the program [takes](ServiceServer::take) requests, and answers each at any
    /// time with its [`Responder`].
    ///
    /// # Errors
    /// As [`Node::create_service`].
    pub fn create_waitable_service<S: Service>(
        &self,
        service: impl Into<ServerOptions>,
    ) -> Result<ServiceServer, Error> {
        self.provide::<S>(service, Dispatch::Taken, ServiceCallback::Defers(Box::new(drop)))
    }

    /// Creates a timer of ROS time without a callback: the program [takes](Timer::take) its ticks. A period of zero
    /// becomes 1 ns.
    pub fn create_waitable_timer(&self, period: impl Into<TimerOptions>) -> Timer {
        self.timer(period, (Follows::Ros, false), Dispatch::Taken, || ())
    }
}

/// A taken message: the publisher's own value if it is from this process, otherwise the received bytes, without
/// copying.
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

    /// The publisher's own value, if it is from this process and was published by value.
    pub fn shared(&self) -> Option<&Arc<M>> {
        match &self.content {
            Content::Shared(message) => Some(message),
            Content::Borrowed(_) => None,
        }
    }

    /// Metadata of the message: its times and its publisher. `None` if the subscription's callback takes no metadata,
    /// because none is recorded then.
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
    /// Takes the oldest waiting message. Unreadable messages are skipped, counted and logged, as for callbacks.
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

    /// Takes the oldest waiting QoS event. Events of one kind are reported together.
    pub fn take_event(&self) -> Option<QosEvent> {
        self.core().events().take()
    }
}

impl Timer {
    /// Takes a due tick. True if there was one.
    pub fn take(&self) -> bool {
        self.entry().take()
    }
}

impl ServiceServer {
    /// Takes the oldest waiting request, with its responder. The client of an unreadable request gets an error.
    pub fn take<S: Service>(&self) -> Option<(S::Request, Responder<S>)> {
        std::iter::from_fn(|| self.core().take()).find_map(Responder::of_request)
    }
}
