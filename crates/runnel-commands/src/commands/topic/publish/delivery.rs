//! Delivery to subscribers: waits before the first message and after the last.

use std::time::Duration;

use runnel::core::schema::Generation;
use runnel::{Context, DynamicPublisher};
use runnel_io::clock;

use super::Args;
use crate::commands::topic::subscribers::{
    self, has_best_effort_subscription, mismatch_count, ros1_only_count,
};
use crate::error::{CliError, unless_interrupted};
use crate::graphs::GraphSnapshot;
use crate::originals::command_line::TOPIC_INFO;
use crate::output::{Output, counted};
use crate::streaming::POLL_PERIOD;

/// How long a limited number of messages waits for subscribers, or is kept for them.
pub const SUBSCRIBER_TIMEOUT: Duration = Duration::from_secs(3);

/// Pause before the first and after the last of a limited number of messages, for best-effort subscriptions. In many
/// implementations one thread handles discovery and another receives, so a subscription that has acknowledged the
/// publisher may still miss messages, or drop them at its end. Other subscriptions get lost messages again.
const SETTLING: Duration = Duration::from_millis(100);

/// See the module's documentation.
pub struct Delivery<'a> {
    pub args: &'a Args,
    pub context: &'a Context,
    pub publisher: &'a DynamicPublisher,
    /// The generation whose form messages have.
    pub generation: Generation,
    pub output: Output,
}

impl Delivery<'_> {
    /// Waits without a limit for the requested number of subscribers. Otherwise, if messages are limited, waits a
    /// while for the known subscribers, or for a first one. False if no first one connected.
    pub fn wait_for_subscribers(&self, snapshot: &GraphSnapshot) -> Result<bool, CliError> {
        if let Some(count) = self.args.wait {
            self.output.note(&format!(
                "waiting for {} of {}",
                counted(count, "subscriber"),
                self.publisher.topic()
            ));
            return self.wait_for(count, None);
        }
        let topics = snapshot.topics()?;
        let topic = topics.0.get(self.publisher.topic());
        let ros2_count = topic.and_then(|topic| topic.ros2.as_ref()).map_or(0, |side| side.subscribers.len());
        let is_kept = self.args.is_kept();
        let mismatches = self.mismatch_count()?;
        let known = (ros2_count + topic.map_or(0, ros1_only_count)).saturating_sub(mismatches);
        if is_kept && known == 0 && self.generation == Generation::Ros2 {
            self.output.note(&format!("waiting for a subscriber of {}", self.publisher.topic()));
            return self.wait_for(1, Some(self.args.keep_alive()));
        }
        // A kept message needs no wait before it. But in ROS 2 only transient-local subscriptions get it later.
        let is_piped_to_nobody = self.args.stdin && known == 0;
        if !self.args.is_limited() || is_piped_to_nobody || is_kept && ros2_count == 0 {
            return Ok(true);
        }
        if known == 0 && mismatches > 0 {
            self.warn_of_mismatches();
        } else if known == 0 {
            log::warn!("no subscriber on {}", self.publisher.topic());
        } else if !self.wait_for(known, Some(SUBSCRIBER_TIMEOUT))? {
            let connected = self.publisher.subscription_count();
            log::warn!(
                "{connected} of {known} subscribers connected within {} s",
                SUBSCRIBER_TIMEOUT.as_secs()
            );
        }
        Ok(true)
    }

    /// False if fewer subscribers connect within the time-out.
    fn wait_for(&self, count: usize, timeout: Option<Duration>) -> Result<bool, CliError> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        while self.context.ok() {
            if unless_interrupted(self.publisher.wait_for_subscribers(count, POLL_PERIOD))? {
                return Ok(true);
            }
            if until.is_some_and(|until| clock::monotonic() >= until) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stays for late subscribers, unless a first subscriber was waited for in vain. Warns if a kept message reached
    /// no subscriber.
    pub fn stay(&self, has_subscriber: bool, snapshot: &GraphSnapshot) -> Result<(), CliError> {
        let keep_alive =
            if has_subscriber && !self.is_acknowledged() { self.args.keep_alive() } else { Duration::ZERO };
        let until = clock::monotonic() + keep_alive;
        if self.args.is_kept() && !self.wait_for(1, Some(keep_alive))? {
            let (topic, seconds) = (self.publisher.topic(), self.args.keep_alive().as_secs_f64());
            if self.mismatch_count()? > 0 {
                self.warn_of_mismatches();
            } else if subscribers::has_subscriber(snapshot, topic)? {
                log::warn!(
                    "message not delivered: the subscribers of {topic} do not match (see '{TOPIC_INFO} {topic}')"
                );
            } else {
                log::warn!("message not delivered: no subscriber on {topic} within {seconds} s");
            }
        }
        Ok(self.context.sleep(until.since(clock::monotonic()))?)
    }

    /// The number of ROS 2 subscriptions that do not match the publisher.
    fn mismatch_count(&self) -> Result<usize, CliError> {
        mismatch_count(self.context, self.publisher.topic())
    }

    /// Warns that no subscription matches. The library logs the reason of each pair.
    fn warn_of_mismatches(&self) {
        let topic = self.publisher.topic();
        log::warn!("message not delivered: no subscriber of {topic} matches (see '{TOPIC_INFO} {topic}')");
    }

    /// True if ROS 2 subscribers have the message, or will have it before the program ends, since that waits for
    /// their acknowledgements. ROS 1 has no acknowledgements.
    fn is_acknowledged(&self) -> bool {
        let is_default = self.args.keep_alive.is_none();
        is_default && self.generation == Generation::Ros2 && self.publisher.subscription_count() > 0
    }

    /// The pause for best-effort subscriptions.
    pub fn settling(&self) -> Result<Duration, CliError> {
        let is_needed =
            self.args.is_limited() && has_best_effort_subscription(self.context, self.publisher.topic())?;
        Ok(if is_needed { SETTLING } else { Duration::ZERO })
    }

    /// Says how long messages are published, unless their number is limited.
    pub fn note_start(&self) {
        let (args, topic) = (self.args, self.publisher.topic());
        if args.is_kept() && !self.is_acknowledged() {
            let seconds = args.keep_alive().as_secs_f64();
            self.output.note(&format!("publishing on {topic}, kept for late subscribers for {seconds} s"));
        } else if !args.is_limited() {
            let rate = args.rate.unwrap_or(1.0);
            self.output.note(&format!("publishing on {topic}, {rate} a second; Ctrl-C ends"));
        }
    }
}
