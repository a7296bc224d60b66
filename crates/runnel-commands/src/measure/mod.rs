//! Measurements of topics: rate, bandwidth and delay, for the programs of either generation.

pub mod bandwidth;
pub mod delay;
pub mod rate;
pub mod statistics;

use std::time::Duration;

use runnel::{QoS, Subscription, SubscriptionOptions};

use crate::error::CliError;
use crate::output::{Output, counted};

/// Messages that wait at most to be counted.
const DEPTH: usize = 1000;

/// How often results are printed.
pub const PERIOD: Duration = Duration::from_secs(1);

/// Tells people that messages are waited for.
pub fn subscribed(output: Output, topic: &str) -> Result<(), CliError> {
    if output.json { Ok(()) } else { output.line(&format!("subscribed to [{topic}]")) }
}

/// What is measured: a window of the last messages, and of which publishers.
#[derive(Clone, Copy)]
pub struct Measured {
    /// Messages.
    pub window: usize,
    /// What the publishers are asked for.
    pub qos: QoS,
    /// Whether ROS 1 publishers are asked for datagrams.
    pub udp: bool,
}

impl Measured {
    /// Every publisher is heard, and what was published earlier in ROS 2 is not.
    pub fn all(window: usize) -> Self {
        Self { window, qos: QoS::keep_last(DEPTH).reliability_best_available(), udp: false }
    }

    /// How its topics are subscribed to.
    pub fn options(self) -> SubscriptionOptions {
        let options = SubscriptionOptions::from(self.qos).strict_qos();
        if self.udp { options.udpros() } else { options }
    }
}

/// Says how many messages were lost on the way, if any were.
pub fn tell_lost<'a>(subscriptions: impl IntoIterator<Item = &'a Subscription>) {
    for subscription in subscriptions.into_iter().filter(|subscription| subscription.lost() > 0) {
        let lost = counted(subscription.lost(), "message");
        log::warn!("{}: lost {lost} on the way", subscription.topic());
    }
}
