//! Hidden services, which commands leave out unless an option includes them.

use crate::error::CliError;
use crate::graphs::{GraphSnapshot, Services};

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
