//! Arguments of commands that ask the available graphs once.

use super::{Discovery, GraphFilter, GraphSnapshot};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Arguments of commands that ask and end: graphs, discovery time.
#[derive(Clone, Debug, clap::Args)]
pub struct Query {
    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

impl Query {
    /// Opens the available graphs.
    ///
    /// # Errors
    /// When a requested graph cannot be reached.
    pub fn open(&self, cli: &CliContext) -> Result<GraphSnapshot, CliError> {
        GraphSnapshot::open(cli, self.filter, &self.discovery)
    }
}
