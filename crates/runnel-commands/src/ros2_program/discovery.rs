//! Arguments of commands that look at the ROS 2 graph.

use std::time::Duration;

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};
use crate::value_parsers;

/// How a command discovers the graph.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DiscoveryArgs {
    /// Listen for nodes for at least this long [default: 0.2]
    #[arg(long, alias = "wait", value_name = "SECONDS", value_parser = value_parsers::seconds)]
    spin_time: Option<Duration>,

    /// Use simulated time; no effect here
    #[arg(short = 's', long)]
    use_sim_time: bool,

    /// Do not use a daemon; no effect here, as there is none
    #[arg(long)]
    no_daemon: bool,
}

impl DiscoveryArgs {
    /// The graph, for a command that asks and ends.
    ///
    /// # Errors
    /// When sockets cannot be opened.
    pub fn open(&self, cli: &CliContext) -> Result<GraphSnapshot, CliError> {
        GraphSnapshot::open(cli, GraphFilter::default(), &self.discovery())
    }

    /// The same for a command that runs until Ctrl-C.
    ///
    /// # Errors
    /// As [`DiscoveryArgs::open`].
    pub fn open_running(&self, cli: &CliContext) -> Result<GraphSnapshot, CliError> {
        GraphSnapshot::open_running(cli, GraphFilter::default(), &self.discovery())
    }

    fn discovery(&self) -> Discovery {
        Discovery::at_least(self.spin_time)
    }
}
