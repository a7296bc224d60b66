//! How commands that listen have messages sent to them.

use runnel::{QoS, Subscription};

use crate::output::counted;

/// What is asked of publishers.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Transport {
    /// Have publishers send datagrams (UDPROS) if they can: what is lost is not sent again
    #[arg(long)]
    udp: bool,
}

impl Transport {
    /// To keep at most so many messages waiting.
    pub fn qos(self, depth: usize) -> QoS {
        let qos = QoS::keep_last(depth);
        if self.udp { qos.udpros() } else { qos }
    }
}

/// Says how many messages were lost on the way, if any were.
pub fn tell_lost<'a>(subscriptions: impl IntoIterator<Item = &'a Subscription>) {
    for subscription in subscriptions.into_iter().filter(|subscription| subscription.lost() > 0) {
        let lost = counted(subscription.lost(), "message");
        log::warn!("{}: lost {lost} on the way", subscription.topic());
    }
}
