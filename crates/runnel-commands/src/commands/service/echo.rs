//! `runnel service echo`

use runnel::QoS;

use crate::cli_context::CliContext;
use crate::commands::event_echo::EchoOptions;
use crate::completion;
use crate::error::CliError;
use crate::ros2::{event_schema, service_type};

/// Print the calls of a ROS 2 service as they happen
///
/// Servers and clients publish their calls if their programs enable service introspection: the metadata, or also the
/// requests and responses. Each call gives up to four events.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service
    #[arg(add = completion::services())]
    service: String,

    /// The service type, such as std_srvs/srv/SetBool [default: that of the service]
    #[arg(value_name = "TYPE", add = completion::service_types())]
    type_name: Option<String>,

    #[command(flatten)]
    options: EchoOptions,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let service = cli.resolve(&args.service)?;
    let mut echo = args.options.open(cli, "service")?;
    let types = cli.types()?;
    let schema = service_type(&types, &echo.node, &echo.graph, (&service, args.type_name.as_deref()))?;
    let topic = format!("{service}/_service_event");
    let publishers = echo.add(&topic, &event_schema(&types, &schema)?, QoS::services_default(), None)?;
    if publishers == 0 {
        cli.output.note(&format!(
            "No publishers on topic '{topic}'; is service introspection on the client or server enabled?"
        ));
    }
    echo.run()
}
