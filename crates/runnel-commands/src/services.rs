//! Services of ROS 1 as commands ask for them and call them.

use std::sync::Arc;
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Schema, ServiceSchema};
use runnel::{Node, ServiceInfo};

use crate::error::CliError;
use crate::messages::typed_message;

/// How long to wait for a service if nothing else is said: as good as for ever.
pub const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long a node may take to say of which type its service is.
const PROBE: Duration = Duration::from_secs(3);

/// Who provides a service, and of which type.
///
/// # Errors
/// When nobody does, or the node does not answer in time.
pub fn probe(node: &Node, service: &str) -> Result<ServiceInfo, CliError> {
    Ok(node.service_info(service, PROBE)?)
}

/// The fields of a request.
pub fn arguments(schema: &ServiceSchema) -> Vec<String> {
    schema.request.def.fields.iter().map(|field| field.name.clone()).collect()
}

/// The request that the values mean now.
///
/// # Errors
/// When they are no request of this type.
pub fn request(schema: &Arc<Schema>, values: &[String]) -> Result<DynamicMessage, CliError> {
    typed_message(schema, values).map_err(|error| {
        let name = &schema.def.name;
        CliError::Usage(format!("not a {name}: {error} (see 'runnel interface show' of the service's type)"))
    })
}
