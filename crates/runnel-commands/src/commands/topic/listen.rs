//! Arguments of commands that subscribe to topics.

use runnel::{QoS, SubscriptionOptions};

use super::qos::AskedQos;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};
use crate::measure::Measured;

/// How a command subscribes, and in which graphs.
#[derive(Clone, Debug, clap::Args)]
pub struct ListenArgs {
    /// Request datagrams (UDPROS) from ROS 1 publishers: lost messages are not sent again
    #[arg(long)]
    udp: bool,

    #[command(flatten)]
    qos: AskedQos,

    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

impl ListenArgs {
    /// Opens the graphs for a command that runs until Ctrl-C.
    ///
    /// # Errors
    /// When a requested graph cannot be reached.
    pub fn open_graphs(&self, cli: &CliContext) -> Result<GraphSnapshot, CliError> {
        GraphSnapshot::open_running(cli, self.filter, &self.discovery)
    }

    /// Options of a subscription: the QoS that the user requests, or else `default`.
    pub fn options(&self, default: QoS) -> SubscriptionOptions {
        let options = SubscriptionOptions::from(self.qos.over(default)).strict_qos();
        if self.udp { options.udpros() } else { options }
    }

    /// Measurement over a window of this many messages.
    pub fn measured(&self, window: usize) -> Measured {
        let all = Measured::all(window);
        Measured { qos: self.qos.over(all.qos), udp: self.udp, ..all }
    }
}
