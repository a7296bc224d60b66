//! The graphs whose actions a command shows.

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};

/// Options of commands for actions.
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
