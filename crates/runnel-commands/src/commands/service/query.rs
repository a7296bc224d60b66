//! The graphs whose services a command lists.

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot, Services};

/// Options of commands for services.
#[derive(Clone, Debug, clap::Args)]
pub struct Query {
    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

impl Query {
    /// Opens the available graphs, for a command that asks and ends.
    ///
    /// # Errors
    /// When a requested graph cannot be reached.
    pub fn open(&self, cli: &CliContext) -> Result<GraphSnapshot, CliError> {
        GraphSnapshot::open(cli, self.filter, &self.discovery)
    }
}

/// Whether a command considers hidden services.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Hidden {
    /// Also hidden ROS 2 services, which have a part that begins with an underscore, as those of actions
    #[arg(long)]
    include_hidden_services: bool,
}

impl Hidden {
    /// The services that the command considers.
    ///
    /// # Errors
    /// When the master does not answer.
    pub fn services(self, snapshot: &GraphSnapshot) -> Result<Services, CliError> {
        let mut services = snapshot.services()?;
        if !self.include_hidden_services {
            services.remove_hidden();
        }
        Ok(services)
    }
}
