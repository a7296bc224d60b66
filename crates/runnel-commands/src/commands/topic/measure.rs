//! What `topic hz`, `bw` and `delay` have in common.

use std::time::Duration;

use runnel::{QoS, SubscriptionOptions};

use super::transport::Asked;
use crate::error::CliError;
use crate::output::Output;

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
}

impl Measured {
    /// Every publisher is heard, and what was published earlier in ROS 2 is not.
    pub fn all(window: usize) -> Self {
        Self { window, qos: QoS::keep_last(DEPTH).reliability_best_available() }
    }

    /// The same but for what the user asks for.
    pub fn asked(window: usize, asked: &Asked) -> Self {
        let all = Self::all(window);
        Self { qos: asked.over(all.qos), ..all }
    }

    /// How its topics are subscribed to.
    pub fn options(self) -> SubscriptionOptions {
        SubscriptionOptions::from(self.qos).exactly()
    }
}
