//! The services that a bridge carries.

use std::collections::{BTreeMap, BTreeSet};

use runnel_bridge::decision::Direction;

use super::graphs::{Ros1View, Ros2View};
use super::resources::Resources;
use super::selection::Selection;
use super::server_table::{Making, ServerTable};
use super::servers::{self, Servers, is_node_service};
use super::service_probes::ServiceProbes;
use super::service_relay::ServiceRelay;
use crate::error::CliError;

/// See the module's documentation.
pub struct Services {
    table: ServerTable<ServiceRelay>,
    probes: ServiceProbes,
}

impl Services {
    pub fn new(resources: &Resources<'_>) -> Self {
        Self { table: ServerTable::new("service"), probes: ServiceProbes::new(resources.ros1.clone()) }
    }

    /// Decides about all services.
    pub fn update(
        &mut self,
        resources: &mut Resources<'_>,
        (ros1, ros2): (&Ros1View, &Ros2View),
        selection: &Selection,
    ) -> Result<(), CliError> {
        let mut found = servers::services(ros1, ros2);
        found.retain(|name, servers| selection.has_service(name, is_node_service(name, servers)));
        self.probes.retain(&found.keys().map(String::as_str).collect::<BTreeSet<_>>());
        let probes = &self.probes;
        let own_node = resources.ros1.full_name().to_owned();
        let providers: &BTreeMap<String, Vec<String>> = &ros1.state.services;
        let making = Making {
            announced: &|name: &str, direction, servers: &Servers| match direction {
                Direction::ToRos2 => probes.answer(name, &servers.ros1_nodes),
                Direction::ToRos1 => servers.ros2_type.clone().map(Ok),
            },
            begin: &ServiceRelay::new,
            is_registered: &|name: &str| providers.get(name).is_some_and(|nodes| nodes.contains(&own_node)),
        };
        self.table.update(resources, &found, &making)
    }

    /// The table.
    pub fn table(&mut self) -> &mut ServerTable<ServiceRelay> {
        &mut self.table
    }
}
