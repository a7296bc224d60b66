//! Measurements of topics: rate, bandwidth and delay, in both generations.

pub mod bandwidth;
pub mod delay;
pub mod original_table;
pub mod rate;
pub mod statistics;

use std::time::Duration;

use runnel::{QoS, Subscription, SubscriptionOptions};

use crate::error::CliError;
use crate::output::{Output, counted};

/// Most messages that wait to be counted.
const DEPTH: usize = 1000;

/// Period of reports.
pub const PERIOD: Duration = Duration::from_secs(1);

/// What is printed after a subscription is created, with the topic behind it in brackets.
const SUBSCRIBED: &str = "subscribed to";

/// A measurement: the window of messages, and the subscription.
#[derive(Clone, Copy)]
pub struct Measured {
    /// Number of messages.
    pub window: usize,
    /// The requested QoS.
    pub qos: QoS,
    /// Whether to request datagrams from ROS 1 publishers.
    pub udp: bool,
    /// Text before the name of a topic when it is subscribed to; empty for none.
    pub subscribed: &'static str,
}

impl Measured {
    /// A measurement of messages of every publisher, without earlier messages in ROS 2.
    pub fn all(window: usize) -> Self {
        let qos = QoS::keep_last(DEPTH).reliability_best_available();
        Self { window, qos, udp: false, subscribed: SUBSCRIBED }
    }

    /// Prints that the command has subscribed.
    fn note_subscribed(self, output: Output, topic: &str) -> Result<(), CliError> {
        let is_silent = output.json || self.subscribed.is_empty();
        if is_silent { Ok(()) } else { output.line(&format!("{} [{topic}]", self.subscribed)) }
    }

    /// Options of its subscriptions.
    pub fn options(self) -> SubscriptionOptions {
        let options = SubscriptionOptions::from(self.qos).strict_qos();
        if self.udp { options.udpros() } else { options }
    }
}

/// Warns of messages that were lost on the way.
pub fn warn_of_losses<'a>(subscriptions: impl IntoIterator<Item = &'a Subscription>) {
    for subscription in subscriptions.into_iter().filter(|subscription| subscription.lost() > 0) {
        let lost = counted(subscription.lost(), "message");
        log::warn!("{}: lost {lost} on the way", subscription.topic());
    }
}
