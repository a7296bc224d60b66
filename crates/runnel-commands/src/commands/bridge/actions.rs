//! The actions that a bridge carries.

use runnel_bridge::decision::Direction;

use super::action_relay::ActionRelay;
use super::graphs::{Ros1View, Ros2View};
use super::resources::Resources;
use super::selection::Selection;
use super::server_table::{Making, ServerTable};
use super::servers::{self, Servers};
use crate::error::CliError;

/// See the module's documentation.
pub struct Actions {
    table: ServerTable<ActionRelay>,
}

impl Default for Actions {
    fn default() -> Self {
        Self { table: ServerTable::new("action") }
    }
}

impl Actions {
    /// Decides about all actions.
    pub fn update(
        &mut self,
        resources: &mut Resources<'_>,
        (ros1, ros2): (&Ros1View, &Ros2View),
        selection: &Selection,
    ) -> Result<(), CliError> {
        let mut found = servers::actions(ros1, ros2);
        found.retain(|name, _| selection.has_action(name));
        let making = Making {
            announced: &|_: &str, direction, servers: &Servers| match direction {
                Direction::ToRos2 => servers.ros1_type.clone().map(Ok),
                Direction::ToRos1 => servers.ros2_type.clone().map(Ok),
            },
            begin: &ActionRelay::new,
            // A topic has any number of publishers.
            is_registered: &|_: &str| true,
        };
        self.table.update(resources, &found, &making)
    }

    /// Continues with goals that their servers have not decided on. Returns whether there are such goals.
    pub fn advance(&mut self) -> bool {
        self.table.relays().fold(false, |is_any, relay| relay.advance() | is_any)
    }

    /// The table.
    pub fn table(&mut self) -> &mut ServerTable<ActionRelay> {
        &mut self.table
    }
}
