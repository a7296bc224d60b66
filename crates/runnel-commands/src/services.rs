//! ROS 1 services, as commands query and call them.

use std::sync::Arc;
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Schema, ServiceSchema};
use runnel::{Node, ServiceError, ServiceFailure, ServiceInfo};

use crate::error::CliError;
use crate::messages::{typed_message, wrong_values};

/// Time-out of waits without a limit: practically endless.
pub const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long a node may take to report the type of its service.
const PROBE: Duration = Duration::from_secs(3);

/// The provider and the type of a service.
///
/// # Errors
/// When there is no provider, or it does not answer in time.
pub fn probe(node: &Node, service: &str) -> Result<ServiceInfo, CliError> {
    node.service_info(service, PROBE).map_err(|error| match error {
        runnel::Error::Service { why: ServiceError::NoAnswer(ServiceFailure::NotProvided), .. } => {
            CliError::Failed(format!("{error} (see 'runnel service list')"))
        }
        error => error.into(),
    })
}

/// The fields of a request.
pub fn arguments(schema: &ServiceSchema) -> Vec<String> {
    schema.request.def.fields.iter().map(|field| field.name.clone()).collect()
}

/// The request of these values; `now` is the current time.
///
/// # Errors
/// When they do not describe a request of this type.
pub fn request(schema: &Arc<Schema>, values: &[String]) -> Result<DynamicMessage, CliError> {
    typed_message(schema, values).map_err(|error| {
        let name = &schema.def.name;
        let see = "'runnel interface show' of the service's type";
        CliError::Usage(wrong_values(&name.to_string(), &error, see))
    })
}
