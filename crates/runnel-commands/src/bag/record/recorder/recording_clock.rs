//! The time of a recording: when messages were received, or the time of a simulation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel::{Node, QoS, RawMessage, Subscription};
use runnel_io::clock;

use crate::error::CliError;

/// The time of a recording, in nanoseconds since 1970.
#[derive(Clone, Default)]
pub struct RecordingClock {
    /// The last message on `/clock`; 0 before the first.
    simulated: Option<Arc<AtomicU64>>,
}

impl RecordingClock {
    /// The times on `/clock`, as long as the subscription lives.
    ///
    /// # Errors
    /// When `/clock` cannot be subscribed.
    pub fn simulated(node: &Node) -> Result<(Self, Subscription), CliError> {
        let time = Arc::new(AtomicU64::new(0));
        let set = Arc::clone(&time);
        let subscription = node.create_subscription("/clock", QoS::clock(), move |clock: &Clock| {
            set.store(clock.clock.as_nanos().max(0).unsigned_abs(), Ordering::Relaxed);
        })?;
        Ok((Self { simulated: Some(time) }, subscription))
    }

    /// Now.
    pub fn now(&self) -> u64 {
        match &self.simulated {
            Some(time) => time.load(Ordering::Relaxed),
            None => clock::realtime().as_nanos().max(0).unsigned_abs(),
        }
    }

    /// When a message was received; `None` if time is simulated and has not begun.
    pub fn log_time(&self, message: &RawMessage<'_>) -> Option<u64> {
        match &self.simulated {
            Some(time) => Some(time.load(Ordering::Relaxed)).filter(|time| *time > 0),
            None => Some(message.info().received_timestamp().as_nanos().max(0).unsigned_abs()),
        }
    }
}
