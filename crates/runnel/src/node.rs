//! Nodes.

pub(crate) mod publishing;
mod ros1;

use std::any::TypeId;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use runnel_core::Message;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::names::{self, Remapping};
use runnel_core::schema::{Generation, Schema};
use runnel_core::time::Time;
use runnel_core::wire::Wire;
use runnel_ros1::node::Role;

use crate::announced::Topic;
use crate::borrowed::Borrowed;
use crate::context::Context;
use crate::data::{Delivery, Kept, QosEvents, SubscriptionCore, Unreadable, When};
use crate::driver::{Driver, NodeKey};
use crate::error::Error;
use crate::forms::Forms;
use crate::logging::{Logger, NodeLog};
use crate::options::{PublisherOptions, SubscriptionOptions};
use crate::publisher::{DynamicPublisher, Publisher};
use crate::rtps::random_origin;
use crate::subscription::{RawMessage, Subscription};
use crate::timers::{Follows, Timer};
use publishing::Publishers;

/// A node of the ROS graph. It leaves the graph when its last handle is dropped, and all that was made with it: publishers,
/// subscriptions, services, clients, timers, watches.
#[derive(Clone)]
pub struct Node {
    pub(crate) inner: Arc<NodeInner>,
}

pub(crate) struct NodeInner {
    pub(crate) context: Context,
    pub(crate) key: NodeKey,
    pub(crate) namespace: String,
    pub(crate) name: String,
    full_name: String,
    pub(crate) logger: Logger,
    remapping: Remapping,
    /// Locked before the driver wherever both are, and held from looking for an end until it is made or removed.
    publishers: Mutex<Publishers>,
}

impl Node {
    pub(crate) fn new(context: Context, namespace: String, name: &str) -> Result<Self, Error> {
        let shared = &context.shared;
        let remapping = shared.arguments.remapping(&namespace, name)?;
        let full_name = names::resolve(&namespace, name, name)?;
        let log = NodeLog::of(&context, &full_name)?;
        let ros1 = shared.settings.ros1.as_ref();
        let is_in_ros2 = shared.settings.ros2.is_some();
        let origin = (ros1.is_some() && is_in_ros2).then(random_origin).transpose()?;
        let ros1 = ros1.map(|settings| ros1::end(shared, settings, &full_name, origin)).transpose()?;
        let key = shared.turning.driver().add_node(full_name.clone(), ros1, is_in_ros2, origin)?;
        let (publishers, name, logger) = (Mutex::default(), name.to_owned(), log.root());
        let inner = NodeInner { context, key, namespace, name, full_name, logger, remapping, publishers };
        inner.advertise_log(&log)?;
        inner.set_given_params()?;
        inner.follow_sim_time()?;
        if inner.context.shared.settings.ros2.is_some() {
            // Others are answered from now on, also if the program waits for nothing.
            inner.context.shared.turning.attend();
        }
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The node's name with its namespace, such as `/robot/camera`.
    pub fn full_name(&self) -> &str {
        &self.inner.full_name
    }

    /// The node's name without its namespace.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The node's namespace, such as `/robot` or `/`.
    pub fn namespace(&self) -> &str {
        &self.inner.namespace
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// The node's logger, for the macros `log_info!` and the like.
    pub fn logger(&self) -> &Logger {
        &self.inner.logger
    }

    /// Now, in ROS time: by the wall clock or, while the parameter `/use_sim_time` is true, as `/clock` tells.
    pub fn now(&self) -> Time {
        self.inner.context.now()
    }

    /// The absolute name that `name` has in this node after remapping.
    ///
    /// # Errors
    /// When it is not a valid name.
    pub fn resolve(&self, name: &str) -> Result<String, Error> {
        let resolved = names::resolve(&self.inner.namespace, &self.inner.name, name)?;
        Ok(self.inner.remapping.remap(&resolved).to_owned())
    }

    /// Publishes messages of type `M` to a topic. With [`QoS::transient_local`](crate::QoS::transient_local) the topic is latched.
    ///
    /// In ROS 1 it returns once the master knows, or with a warning if that cannot be reached: it is told as soon as it can be. In
    /// ROS 2 nobody is waited for.
    ///
    /// # Errors
    /// When the name is not valid, the node publishes the topic with another type, or the master of ROS 1 refuses.
    pub fn create_publisher<M: Message>(
        &self,
        topic: &str,
        options: impl Into<PublisherOptions>,
    ) -> Result<Publisher<M>, Error> {
        let topic = self.topic_of::<M>(topic)?;
        Ok(Publisher::new(self.publishing(&topic, options)?))
    }

    /// Publishes messages of a type that is known only while the program runs.
    ///
    /// # Errors
    /// As [`Node::create_publisher`].
    pub fn create_dynamic_publisher(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        options: impl Into<PublisherOptions>,
    ) -> Result<DynamicPublisher, Error> {
        let forms = Forms::of(schema);
        let topic = self.topic_of_forms(topic, &forms)?;
        Ok(DynamicPublisher::new(self.publishing(&topic, options)?, forms))
    }

    /// Subscribes to a topic. `callback` gets a reference: to the publisher's own message if that is of this process,
    /// and otherwise to one whose memory is used again for the next.
    ///
    /// # Errors
    /// When the name is not valid, the node subscribes to the topic with another type, or the master of ROS 1 refuses.
    pub fn create_subscription<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&M) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let topic = self.topic_of::<M>(topic)?;
        let mut message = M::default();
        self.subscribe(&topic, options, Some(TypeId::of::<M>()), move |delivery| match delivery {
            Delivery::Shared(shared) => {
                if let Some(message) = shared.downcast_ref() {
                    callback(message);
                }
                Ok(())
            }
            Delivery::Bytes { bytes, from, .. } => {
                from.read_into(&mut message, bytes)?;
                callback(&message);
                Ok(())
            }
        })
    }

    /// Subscribes to a topic with a callback that gets a view: text and arrays borrowed from the received bytes.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_view_subscription<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl for<'a> FnMut(<M as Wire>::View<'a>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let topic = self.topic_of::<M>(topic)?;
        self.subscribe(&topic, options, Some(TypeId::of::<M>()), move |delivery| match delivery {
            Delivery::Shared(shared) => {
                if let Some(message) = shared.downcast_ref::<M>() {
                    callback(message.view());
                }
                Ok(())
            }
            Delivery::Bytes { bytes, from, .. } => {
                callback(from.read_view::<M>(bytes)?);
                Ok(())
            }
        })
    }

    /// Subscribes to a topic with a callback that gets each message to keep, where it lies: see [`Borrowed`].
    ///
    /// A message that cannot be read is counted and logged, and the callback does not get it. One of this process is
    /// serialized, as for other processes, and is not copied after that.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_borrowing_subscription<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(Borrowed<M>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let topic = self.topic_of::<M>(topic)?;
        self.subscribe(&topic, options, None, move |delivery| {
            if let Delivery::Bytes { bytes, from, queue } = delivery {
                from.read_view::<M>(bytes)?;
                callback(Borrowed::new(Kept::take(bytes, from, queue)));
            }
            Ok(())
        })
    }

    /// Subscribes to a topic of any type, or of the type of `schema`. `callback` gets the bytes, and what the
    /// publisher says of their type: see [`RawMessage::decode`].
    ///
    /// Without a schema, publishers of ROS 2 are heard as they come, of several types if there are several, and a publisher
    /// that offers less than is asked for is heard with what it offers, unless it is asked for
    /// [exactly](SubscriptionOptions::exactly).
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_raw_subscription(
        &self,
        topic: &str,
        schema: Option<&Schema>,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&RawMessage<'_>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let options = options.into();
        let topic = match schema {
            Some(schema) => self.topic_of_forms(topic, &Forms::of(&Arc::new(schema.clone())))?,
            None => {
                let exactly = options.exactly.then_some(options.qos);
                Topic { exactly, ..Topic::of_any(self.resolve(topic)?) }
            }
        };
        self.subscribe(&topic, options, None, move |delivery| {
            if let Delivery::Bytes { bytes, from, .. } = delivery {
                callback(&RawMessage::new(bytes, from));
            }
            Ok(())
        })
    }

    /// Subscribes to a topic of a type that is known only while the program runs. `callback` gets each message in the form of
    /// `schema`, whichever generation of ROS it came from.
    ///
    /// A message that cannot be read is counted and logged, and the callback does not get it.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_dynamic_subscription(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&DynamicMessage) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let forms = Forms::of(schema);
        let topic = self.topic_of_forms(topic, &forms)?;
        self.subscribe(&topic, options, None, move |delivery| {
            if let Delivery::Bytes { bytes, from, .. } = delivery {
                callback(&forms.decode(bytes, from.encoding)?);
            }
            Ok(())
        })
    }

    /// Calls `callback` every `period` of ROS time, which `/clock` may tell, while the context spins.
    pub fn create_timer(&self, period: Duration, callback: impl FnMut() + Send + 'static) -> Timer {
        self.timer(period, Follows::Ros, Box::new(callback))
    }

    /// As [`Node::create_timer`] by the clock on the wall, whatever `/clock` tells.
    pub fn create_wall_timer(&self, period: Duration, callback: impl FnMut() + Send + 'static) -> Timer {
        self.timer(period, Follows::Wall, Box::new(callback))
    }

    fn timer(&self, period: Duration, follows: Follows, callback: Box<dyn FnMut() + Send>) -> Timer {
        let shared = &self.inner.context.shared;
        let id = shared.timers.add(period, follows, callback);
        // A thread that waits already must learn of the earlier deadline.
        shared.ready.wake_all();
        Timer::new(self.clone(), id)
    }

    fn topic_of<M: Message>(&self, topic: &str) -> Result<Topic, Error> {
        Ok(Topic::of::<M>(self.resolve(topic)?))
    }

    /// A topic of a type that is known only while the program runs.
    ///
    /// # Errors
    /// When the type has a form in none of the graphs that the node is in.
    fn topic_of_forms(&self, topic: &str, forms: &Forms) -> Result<Topic, Error> {
        let name = self.resolve(topic)?;
        let settings = &self.inner.context.shared.settings;
        let why_not = |generation| forms.in_generation(generation).err();
        let missing = [
            why_not(Generation::Ros1).filter(|_| settings.ros1.is_some()),
            why_not(Generation::Ros2).filter(|_| settings.ros2.is_some()),
        ];
        let type_name = &forms.own().def.name;
        let graphs = usize::from(settings.ros1.is_some()) + usize::from(settings.ros2.is_some());
        let missing: Vec<String> = missing.into_iter().flatten().collect();
        if missing.len() == graphs
            && let Some(why) = missing.first()
        {
            return Err(Error::NotInGraph { what: format!("topic {name} of type {type_name} ({why})") });
        }
        for why in missing {
            let line = format_args!("topic {name} of type {type_name} is in one graph alone: {why}");
            self.inner.log().say(log::Level::Warn, line);
        }
        Ok(Topic::of_forms(name, forms))
    }

    /// Subscribes to a topic. With `takes` messages of this process come by reference.
    pub(crate) fn subscribe(
        &self,
        topic: &Topic,
        options: impl Into<SubscriptionOptions>,
        takes: Option<TypeId>,
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Result<Subscription, Error> {
        let SubscriptionOptions { qos, callbacks, .. } = options.into();
        let when = When::Spun(Arc::clone(&self.inner.context.shared.ready));
        let qos = self.inner.driver().settled_for_subscription(&topic.name, qos);
        let events = QosEvents::new(callbacks, when.clone());
        let core = SubscriptionCore::new(topic.subscription_options(qos, takes), when, events, callback);
        let input = self.inner.driver().add_subscription(self.inner.key, topic, qos, &core)?;
        let subscription = Subscription::new(Arc::clone(&self.inner), topic.name.clone(), qos, core, input);
        self.inner.wait_topic_registered(Role::Subscriber, topic)?;
        Ok(subscription)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.inner.full_name).finish_non_exhaustive()
    }
}

impl NodeInner {
    pub(crate) fn full_name(&self) -> &str {
        &self.full_name
    }

    pub(crate) fn log(&self) -> &NodeLog {
        self.logger.log_of_node()
    }

    pub(crate) fn driver(&self) -> MutexGuard<'_, Driver> {
        self.context.shared.turning.driver()
    }

    pub(crate) fn count_publishers_of_this_process(&self, core: &Arc<SubscriptionCore>) -> usize {
        self.driver().count_publishers_of_this_process(core)
    }

    /// A subscription of the user's is gone: with the last one to a topic, its links go.
    pub(crate) fn remove_subscription(&self, topic: &str, core: &Arc<SubscriptionCore>) {
        self.driver().remove_subscription(self.key, topic, core);
    }
}

impl Drop for NodeInner {
    fn drop(&mut self) {
        let (shared, key) = (&self.context.shared, self.key);
        self.driver().close_node(key);
        let closed = |driver: &mut Driver| {
            driver.node_slot(key).is_none_or(|slot| slot.is_closed() && slot.is_acknowledged_in_ros2())
        };
        let _ = shared.wait_out(Duration::from_secs(1), closed);
        let removed = self.driver().remove_node(key);
        drop(removed);
    }
}
