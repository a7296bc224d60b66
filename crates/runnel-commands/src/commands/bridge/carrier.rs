//! One direction of a topic that this bridge carries: a subscription in one graph and a publisher in the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use runnel::bridge::PublisherDescription;
use runnel::core::schema::Schema;
use runnel::{QoS, RawMessage, Subscription};
use runnel_bridge::decision::{Direction, is_outdated, ros1_publisher_qos, ros2_publisher_qos};
use runnel_bridge::{AnnouncedType, Plan, TypePair};

use super::forward::{Counts, Forward, Target};
use super::graphs::Ends;
use super::resources::Resources;
use crate::error::unless_interrupted;

/// How long messages wait at most until a subscriber has matched the new publisher.
const MATCHING: Duration = Duration::from_secs(10);

/// How old a carrier is at least when it is replaced, so that ends that come one by one do not replace it for each.
const LEAST_AGE: Duration = Duration::from_millis(500);

/// See the module's documentation.
pub struct Carrier {
    direction: Direction,
    topic: String,
    /// To ROS 1 it is created last.
    subscription: Option<Subscription>,
    forward: Arc<Forward>,
    /// Known once the publisher exists.
    publishing: Option<Publishing>,
    stage: Stage,
    begun: Instant,
}

/// How far it is.
enum Stage {
    /// The type of the publisher in ROS 1 is not known.
    Learning,
    /// The publisher exists, and waits for its subscribers.
    Matching { target: Box<Target>, since: Instant },
    /// Messages are carried.
    Carrying,
}

struct Publishing {
    qos: QoS,
    pair: TypePair,
}

/// The definitions for the types of the ends in both graphs, of which those in ROS 2 may be several.
fn find_pair(
    resources: &Resources<'_>,
    ros1: Option<&AnnouncedType>,
    ros2: &[AnnouncedType],
) -> Result<TypePair, String> {
    let library = resources.types.library();
    if ros1.is_some() && ros2.is_empty() {
        // A topic that is carried without a subscriber.
        let pair = TypePair::find(ros1, None, library, &resources.rules);
        return pair.map_err(|error| error.to_string());
    }
    let mut first_error = None;
    for announced in ros2 {
        match TypePair::find(ros1, Some(announced), library, &resources.rules) {
            Ok(pair) => return Ok(pair),
            Err(error) => {
                first_error.get_or_insert(error.to_string());
            }
        }
    }
    Err(first_error.unwrap_or_else(|| "no type is announced".to_owned()))
}

fn compile(from: &Arc<Schema>, to: &Arc<Schema>, resources: &Resources<'_>) -> Result<Plan, String> {
    Plan::compile(from, to, &resources.rules).map_err(|error| error.to_string())
}

impl Carrier {
    /// Begins to carry a topic.
    ///
    /// # Errors
    /// Why it cannot be carried.
    pub fn new(
        resources: &Resources<'_>,
        topic: &str,
        direction: Direction,
        ends: &Ends,
    ) -> Result<Self, String> {
        match direction {
            Direction::ToRos2 => Self::to_ros2(resources, topic, ends),
            Direction::ToRos1 => Self::to_ros1(resources, topic, ends),
        }
    }

    /// The subscription comes first: its connection to the publisher says what the type is, and whether the topic is
    /// latched. Messages wait meanwhile.
    fn to_ros2(resources: &Resources<'_>, topic: &str, ends: &Ends) -> Result<Self, String> {
        let library = resources.types.library();
        let is_standard =
            |named: &AnnouncedType| named.type_name().is_ok_and(|name| library.message(&name).is_ok());
        // A type that is known by its name to have no counterpart needs no connection.
        if let Some(named) = ends.ros1_type.as_ref().filter(|named| is_standard(named)) {
            let pair = find_pair(resources, Some(named), &ends.ros2_subscribed)?;
            compile(&pair.ros1, &pair.ros2, resources)?;
        }
        let forward = Forward::new();
        let taker = Arc::clone(&forward);
        let qos = QoS::keep_last(resources.depth);
        let subscription = resources
            .ros1
            .create_raw_subscription(topic, None, qos, move |message| taker.take(message))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            direction: Direction::ToRos2,
            topic: topic.to_owned(),
            subscription: Some(subscription),
            forward,
            publishing: None,
            stage: Stage::Learning,
            begun: Instant::now(),
        })
    }

    /// The publisher comes first, so that its subscribers get the first message that arrives.
    fn to_ros1(resources: &Resources<'_>, topic: &str, ends: &Ends) -> Result<Self, String> {
        let pair = find_pair(resources, ends.ros1_type.as_ref(), &ends.ros2_published)?;
        let plan = compile(&pair.ros2, &pair.ros1, resources)?;
        let qos = ros1_publisher_qos(&ends.view.ros2_publishers, resources.depth);
        let publisher = resources.ros1.create_dynamic_publisher(topic, &pair.ros1, qos);
        let publisher = publisher.map_err(|error| error.to_string())?;
        let target = Box::new(Target::new(publisher, plan, &pair.ros2));
        let now = Instant::now();
        Ok(Self {
            direction: Direction::ToRos1,
            topic: topic.to_owned(),
            subscription: None,
            forward: Forward::new(),
            publishing: Some(Publishing { qos, pair }),
            stage: Stage::Matching { target, since: now },
            begun: now,
        })
    }

    /// The subscription in ROS 2. It requests from each publisher what that offers.
    fn subscribe_in_ros2(&self, resources: &Resources<'_>) -> Result<Subscription, String> {
        let taker = Arc::clone(&self.forward);
        let requested =
            QoS::keep_last(resources.depth).reliability_best_available().durability_best_available();
        let take = move |message: &RawMessage<'_>| taker.take(message);
        let subscription = resources.ros2.create_raw_subscription(&self.topic, None, requested, take);
        subscription.map_err(|error| error.to_string())
    }

    /// Goes on as far as possible. Returns whether messages are carried from now on.
    ///
    /// # Errors
    /// Why the topic cannot be carried.
    pub fn advance(&mut self, resources: &Resources<'_>, ends: &Ends) -> Result<bool, String> {
        if matches!(self.stage, Stage::Learning) {
            self.learn(resources, ends)?;
        }
        let Stage::Matching { target, since } = &self.stage else { return Ok(false) };
        let has_subscriber = match ends.view.is_subscribed(self.direction) {
            true => unless_interrupted(target.publisher().wait_for_subscribers(1, Duration::ZERO)),
            false => Ok(true),
        };
        if !has_subscriber.map_err(|error| error.to_string())? && since.elapsed() < MATCHING {
            return Ok(false);
        }
        if let Stage::Matching { target, .. } = std::mem::replace(&mut self.stage, Stage::Carrying) {
            self.forward.set_target(*target);
        }
        if self.subscription.is_none() {
            self.subscription = Some(self.subscribe_in_ros2(resources)?);
        }
        Ok(true)
    }

    /// Creates the publisher in ROS 2 if the publisher in ROS 1 is connected.
    fn learn(&mut self, resources: &Resources<'_>, ends: &Ends) -> Result<(), String> {
        let publishers = self.ros1_publishers();
        let Some(publisher) = publishers.first() else { return Ok(()) };
        let announced = AnnouncedType {
            name: publisher.type_name.clone(),
            sum: publisher.md5.clone(),
            definition: publisher.definition.clone(),
        };
        let pair = find_pair(resources, Some(&announced), &ends.ros2_subscribed)?;
        let plan = compile(&pair.ros1, &pair.ros2, resources)?;
        let qos = self.wanted_qos(resources, ends);
        let publisher = resources.ros2.create_dynamic_publisher(&self.topic, &pair.ros2, qos);
        let target = Target::new(publisher.map_err(|error| error.to_string())?, plan, &pair.ros1);
        self.stage = Stage::Matching { target: Box::new(target), since: Instant::now() };
        self.publishing = Some(Publishing { qos, pair });
        Ok(())
    }

    /// The connected publishers that are only in ROS 1.
    fn ros1_publishers(&self) -> Vec<PublisherDescription> {
        let mut publishers =
            self.subscription.as_ref().map(Subscription::ros1_publishers).unwrap_or_default();
        publishers.retain(|publisher| !publisher.is_relay);
        publishers
    }

    /// True if it has to begin again, because the ends request or offer something else by now.
    pub fn is_outdated(&self, resources: &Resources<'_>, ends: &Ends) -> bool {
        let Some(publishing) = self.publishing.as_ref().filter(|_| self.begun.elapsed() >= LEAST_AGE) else {
            return false;
        };
        let wanted = self.wanted_qos(resources, ends);
        let (subscriptions, types) = match self.direction {
            Direction::ToRos2 => (ends.view.ros2_subscriptions.as_slice(), &ends.ros2_subscribed),
            Direction::ToRos1 => (&[][..], &ends.ros2_published),
        };
        let has_other_types =
            !types.is_empty() && !types.iter().any(|announced| is_of(announced, &publishing.pair.ros2));
        has_other_types
            || self.has_another_ros1_type(&publishing.pair)
            || is_outdated(&publishing.qos, &wanted, subscriptions)
    }

    /// True if all connected publishers in ROS 1 have another definition than the one that is carried.
    fn has_another_ros1_type(&self, pair: &TypePair) -> bool {
        let publishers = match self.direction {
            Direction::ToRos2 => self.ros1_publishers(),
            Direction::ToRos1 => Vec::new(),
        };
        let is_same = |publisher: &PublisherDescription| {
            matches!(&*publisher.md5, "" | "*") || publisher.md5 == pair.ros1.md5
        };
        !publishers.is_empty() && !publishers.iter().any(is_same)
    }

    fn wanted_qos(&self, resources: &Resources<'_>, ends: &Ends) -> QoS {
        match self.direction {
            Direction::ToRos2 => {
                let publishers = self.ros1_publishers();
                let latched = publishers.iter().filter(|publisher| publisher.is_latching).count();
                ros2_publisher_qos(&ends.view.ros2_subscriptions, latched, resources.depth)
            }
            Direction::ToRos1 => ros1_publisher_qos(&ends.view.ros2_publishers, resources.depth),
        }
    }

    /// True once messages are carried.
    pub fn is_complete(&self) -> bool {
        matches!(self.stage, Stage::Carrying)
    }

    /// The types in ROS 1 and ROS 2, once they are known.
    pub fn pair(&self) -> Option<&TypePair> {
        self.publishing.as_ref().map(|publishing| &publishing.pair)
    }

    /// The messages.
    pub fn forward(&self) -> &Forward {
        &self.forward
    }

    /// The messages until now. Those that the subscription dropped or lost before they could be converted count as dropped.
    pub fn counts(&self) -> Counts {
        let counts = self.forward.counts();
        let lost = |subscription: &Subscription| subscription.dropped() + subscription.lost();
        Counts { dropped: counts.dropped + self.subscription.as_ref().map_or(0, lost), ..counts }
    }
}

/// Whether an end in ROS 2 announces this type.
fn is_of(announced: &AnnouncedType, schema: &Schema) -> bool {
    let is_same_hash = || announced.sum.is_empty() || Some(&announced.sum) == schema.rihs01().as_ref();
    announced.name == schema.def.ros2_name && is_same_hash()
}
