//! How commands that listen have messages sent to them.

use runnel::{QoS, Subscription};

use super::qos::AskedQos;
use crate::output::counted;

/// What the user asks of publishers.
#[derive(Clone, Debug, clap::Args)]
pub struct Asked {
    /// Have publishers send datagrams (UDPROS) if they can: what is lost is not sent again
    #[arg(long)]
    udp: bool,

    #[command(flatten)]
    qos: AskedQos,
}

impl Asked {
    /// The same as part of the QoS that the command would choose otherwise.
    pub fn over(&self, otherwise: QoS) -> QoS {
        self.qos.over(if self.udp { otherwise.udpros() } else { otherwise })
    }
}

/// Says how many messages were lost on the way, if any were.
pub fn tell_lost<'a>(subscriptions: impl IntoIterator<Item = &'a Subscription>) {
    for subscription in subscriptions.into_iter().filter(|subscription| subscription.lost() > 0) {
        let lost = counted(subscription.lost(), "message");
        log::warn!("{}: lost {lost} on the way", subscription.topic());
    }
}
