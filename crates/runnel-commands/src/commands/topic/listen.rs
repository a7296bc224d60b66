//! Arguments of the commands that subscribe to topics.

use runnel::{QoS, SubscriptionOptions};

use super::qos::AskedQos;
use crate::error::CliError;
use crate::graphs::{Listening, Sight, Which};
use crate::measure::Measured;
use crate::session::Session;

/// How a command subscribes, and in which graphs.
#[derive(Clone, Debug, clap::Args)]
pub struct ListenArgs {
    /// Have publishers send datagrams (UDPROS) if they can: what is lost is not sent again
    #[arg(long)]
    udp: bool,

    #[command(flatten)]
    qos: AskedQos,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    listening: Listening,
}

impl ListenArgs {
    /// Looks at the graphs, for a command that runs until Ctrl-C.
    ///
    /// # Errors
    /// When a graph that the user asked for cannot be reached.
    pub fn sight(&self, session: &Session) -> Result<Sight, CliError> {
        Sight::running(session, self.which, &self.listening)
    }

    /// How a topic is subscribed to, where the command chooses `otherwise` unless the user asks for something else.
    pub fn options(&self, otherwise: QoS) -> SubscriptionOptions {
        let options = SubscriptionOptions::from(self.qos.over(otherwise)).strict_qos();
        if self.udp { options.udpros() } else { options }
    }

    /// What is measured over a window of so many messages.
    pub fn measured(&self, window: usize) -> Measured {
        let all = Measured::all(window);
        Measured { qos: self.qos.over(all.qos), udp: self.udp, ..all }
    }
}
