//! One direction of a topic that this bridge carries: a subscription in one graph and a publisher in the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use runnel::bridge::PublisherDescription;
use runnel::{Node, QoS, Subscription};
use runnel_bridge::decision::{Direction, is_outdated, ros1_publisher_qos, ros2_publisher_qos};
use runnel_bridge::{AnnouncedType, Plan, Rules, TypePair};

use super::forward::{Forward, Target};
use super::graphs::Ends;
use crate::types::Types;

/// How long messages wait at most until a subscriber has matched the new publisher.
const MATCHING: Duration = Duration::from_secs(10);

/// How long that is waited for at a time, before the next topic is looked at.
const MATCHING_STEP: Duration = Duration::from_millis(50);

/// What carriers are made with.
pub struct Workshop {
    /// The node in ROS 1.
    pub ros1: Node,
    /// The node in ROS 2.
    pub ros2: Node,
    /// The known types.
    pub types: Types,
    /// The rules for names.
    pub rules: Rules,
    /// Length of queues.
    pub depth: usize,
}

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

impl Workshop {
    /// The types of the ends in both graphs, of which those in ROS 2 may be several.
    fn pair(&self, ros1: Option<&AnnouncedType>, ros2: &[AnnouncedType]) -> Result<TypePair, String> {
        let library = self.types.library();
        let mut first_error = None;
        for announced in ros2 {
            match TypePair::find(ros1, Some(announced), library, &self.rules) {
                Ok(pair) => return Ok(pair),
                Err(error) => {
                    first_error.get_or_insert(error.to_string());
                }
            }
        }
        Err(first_error.unwrap_or_else(|| "no type is announced".to_owned()))
    }

    /// Begins to carry a topic.
    ///
    /// # Errors
    /// Why it cannot be carried.
    pub fn carrier(&self, topic: &str, direction: Direction, ends: &Ends) -> Result<Carrier, String> {
        match direction {
            Direction::ToRos2 => self.carrier_to_ros2(topic, ends),
            Direction::ToRos1 => self.carrier_to_ros1(topic, ends),
        }
    }

    /// The subscription comes first: its connection to the publisher says what the type is, and whether the topic is
    /// latched. Messages wait meanwhile.
    fn carrier_to_ros2(&self, topic: &str, ends: &Ends) -> Result<Carrier, String> {
        // A type that is known by its name to have no counterpart needs no connection.
        if let Some(named) = ends.ros1_type.as_ref().filter(|named| self.is_standard(named)) {
            let pair = self.pair(Some(named), &ends.ros2_subscribed)?;
            Plan::compile(&pair.ros1, &pair.ros2, &self.rules).map_err(|error| error.to_string())?;
        }
        let forward = Forward::new();
        let taker = Arc::clone(&forward);
        let qos = QoS::keep_last(self.depth);
        let subscription = self
            .ros1
            .create_raw_subscription(topic, None, qos, move |message| taker.take(message))
            .map_err(|error| error.to_string())?;
        Ok(Carrier {
            direction: Direction::ToRos2,
            topic: topic.to_owned(),
            subscription: Some(subscription),
            forward,
            publishing: None,
            stage: Stage::Learning,
        })
    }

    fn is_standard(&self, named: &AnnouncedType) -> bool {
        named.type_name().is_ok_and(|name| self.types.library().message(&name).is_ok())
    }

    /// The publisher comes first, so that its subscribers get the first message that arrives.
    fn carrier_to_ros1(&self, topic: &str, ends: &Ends) -> Result<Carrier, String> {
        let pair = self.pair(ends.ros1_type.as_ref(), &ends.ros2_published)?;
        let plan = Plan::compile(&pair.ros2, &pair.ros1, &self.rules).map_err(|error| error.to_string())?;
        let qos = ros1_publisher_qos(&ends.view.ros2_publishers, self.depth);
        let publisher = self.ros1.create_dynamic_publisher(topic, &pair.ros1, qos);
        let publisher = publisher.map_err(|error| error.to_string())?;
        let target = Box::new(Target::new(publisher, plan, &pair.ros2));
        Ok(Carrier {
            direction: Direction::ToRos1,
            topic: topic.to_owned(),
            subscription: None,
            forward: Forward::new(),
            publishing: Some(Publishing { qos, pair }),
            stage: Stage::Matching { target, since: Instant::now() },
        })
    }

    /// The subscription in ROS 2. It requests from each publisher what that offers.
    fn subscribe_in_ros2(&self, topic: &str, forward: &Arc<Forward>) -> Result<Subscription, String> {
        let taker = Arc::clone(forward);
        let requested = QoS::keep_last(self.depth).reliability_best_available().durability_best_available();
        let subscription =
            self.ros2.create_raw_subscription(topic, None, requested, move |message| taker.take(message));
        subscription.map_err(|error| error.to_string())
    }
}

impl Carrier {
    /// Goes on as far as possible. Returns whether messages are carried from now on.
    ///
    /// # Errors
    /// Why the topic cannot be carried.
    pub fn advance(&mut self, workshop: &Workshop, ends: &Ends) -> Result<bool, String> {
        if matches!(self.stage, Stage::Learning) {
            self.learn(workshop, ends)?;
        }
        let Stage::Matching { target, since } = &self.stage else { return Ok(false) };
        let has_subscriber = target.publisher().wait_for_subscribers(1, MATCHING_STEP);
        if !has_subscriber.map_err(|error| error.to_string())? && since.elapsed() < MATCHING {
            return Ok(false);
        }
        if let Stage::Matching { target, .. } = std::mem::replace(&mut self.stage, Stage::Carrying) {
            self.forward.set_target(*target);
        }
        if self.subscription.is_none() {
            self.subscription = Some(workshop.subscribe_in_ros2(&self.topic, &self.forward)?);
        }
        Ok(true)
    }

    /// Creates the publisher in ROS 2 if the publisher in ROS 1 is connected.
    fn learn(&mut self, workshop: &Workshop, ends: &Ends) -> Result<(), String> {
        let publishers = self.ros1_publishers();
        let Some(publisher) = publishers.first() else { return Ok(()) };
        let announced = AnnouncedType {
            name: publisher.type_name.clone(),
            sum: publisher.md5.clone(),
            definition: publisher.definition.clone(),
        };
        let pair = workshop.pair(Some(&announced), &ends.ros2_subscribed)?;
        let plan =
            Plan::compile(&pair.ros1, &pair.ros2, &workshop.rules).map_err(|error| error.to_string())?;
        let qos = self.wanted_qos(workshop, ends);
        let publisher = workshop.ros2.create_dynamic_publisher(&self.topic, &pair.ros2, qos);
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
    pub fn is_outdated(&self, workshop: &Workshop, ends: &Ends) -> bool {
        let Some(publishing) = &self.publishing else { return false };
        let wanted = self.wanted_qos(workshop, ends);
        let (subscriptions, types) = match self.direction {
            Direction::ToRos2 => (ends.view.ros2_subscriptions.as_slice(), &ends.ros2_subscribed),
            Direction::ToRos1 => (&[][..], &ends.ros2_published),
        };
        let carried = &publishing.pair.ros2.def.ros2_name;
        !types.iter().any(|announced| announced.name == *carried)
            || is_outdated(&publishing.qos, &wanted, subscriptions)
    }

    fn wanted_qos(&self, workshop: &Workshop, ends: &Ends) -> QoS {
        match self.direction {
            Direction::ToRos2 => {
                let publishers = self.ros1_publishers();
                let latched = publishers.iter().filter(|publisher| publisher.is_latching).count();
                ros2_publisher_qos(&ends.view.ros2_subscriptions, latched, workshop.depth)
            }
            Direction::ToRos1 => ros1_publisher_qos(&ends.view.ros2_publishers, workshop.depth),
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

    /// Messages that the subscription dropped or lost before they could be converted.
    pub fn lost(&self) -> u64 {
        self.subscription.as_ref().map_or(0, |subscription| subscription.dropped() + subscription.lost())
    }
}
