//! Services, as commands query and call them.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Schema, ServiceSchema, TypeName};
use runnel::{Node, ServiceError, ServiceFailure, ServiceInfo};

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::Service;
use crate::messages::{typed_message, wrong_values};
use crate::originals::command_line::{INTERFACE_SHOW, SERVICE_LIST};
use crate::similar::meant_or_listed;

/// Time-out of waits without a limit: practically endless.
pub const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long a node may take to report the type of its service.
const PROBE: Duration = Duration::from_secs(3);

/// Asks ROS 1 nodes for the types of their services. The master does not know these.
pub struct Prober<'a> {
    cli: &'a CliContext,
    node: OnceCell<Node>,
}

impl<'a> Prober<'a> {
    /// A prober that has not asked yet.
    pub fn new(cli: &'a CliContext) -> Self {
        Self { cli, node: OnceCell::new() }
    }

    /// The provider and the type of a ROS 1 service.
    ///
    /// # Errors
    /// When there is no provider, or it does not answer in time.
    pub fn info(&self, service: &str) -> Result<ServiceInfo, CliError> {
        if self.node.get().is_none() {
            let node = self.cli.node(&self.cli.query_context()?, "service")?;
            self.node.get_or_init(|| node);
        }
        self.node.get().map_or_else(|| Err(unknown(service, [])), |node| probe(node, service))
    }

    /// The types of a service: those of ROS 2, and that of ROS 1 if it is another.
    ///
    /// # Errors
    /// As [`Prober::info`].
    pub fn types(&self, name: &str, service: &Service) -> Result<Vec<String>, CliError> {
        let mut types: Vec<String> = service.ros2.iter().flat_map(|side| side.types.clone()).collect();
        if service.ros1.is_some() {
            let ros1 = self.info(name)?.type_name;
            let is_known = TypeName::parse(&ros1)
                .is_some_and(|ros1| types.iter().any(|known| TypeName::parse(known).as_ref() == Some(&ros1)));
            if !is_known {
                types.push(ros1);
            }
        }
        Ok(types)
    }
}

/// The provider and the type of a ROS 1 service, asked by `node`.
///
/// # Errors
/// As [`Prober::info`].
pub fn probe(node: &Node, service: &str) -> Result<ServiceInfo, CliError> {
    node.service_info(service, PROBE).map_err(|error| match error {
        runnel::Error::Service { why: ServiceError::NoAnswer(ServiceFailure::NotProvided), .. } => {
            CliError::Failed(format!("{error} (see '{SERVICE_LIST}')"))
        }
        error => error.into(),
    })
}

/// The error of a service that is not among the known ones.
pub fn unknown<'a>(service: &str, known: impl IntoIterator<Item = &'a str>) -> CliError {
    CliError::Failed(format!("no service {service}{}", meant_or_listed(service, known, SERVICE_LIST)))
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
        let see = format!("'{INTERFACE_SHOW}' of the service's type");
        CliError::Usage(wrong_values(&name.to_string(), &error, &see))
    })
}
