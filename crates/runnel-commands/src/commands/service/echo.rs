//! `runnel service echo`

use runnel::{Graphs, QoS, SubscriptionOptions};

use crate::cli_context::CliContext;
use crate::commands::topic::qos::AskedQos;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Discovery;
use crate::ros2::{EventForm, event_schema, service_type};
use crate::streaming::Ending;

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
    form: EventForm,

    #[command(flatten)]
    qos: AskedQos,

    /// Accepted: only ROS 2 has service introspection
    #[arg(long, hide = true)]
    ros2: bool,

    #[command(flatten)]
    discovery: Discovery,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let service = cli.resolve(&args.service)?;
    let context = cli.running_context_in(Graphs::Ros2)?;
    let graph = args.discovery.discover(cli, &context)?;
    let node = cli.node(&context, "service")?;
    let types = cli.types()?;
    let schema = service_type(&types, &node, &graph, (&service, args.type_name.as_deref()))?;
    let event = event_schema(&types, &schema)?;
    let ending = Ending::of(&context);
    let (end, printer) = (ending.clone(), args.form.printer(cli.output));
    let options = SubscriptionOptions::from(args.qos.over(QoS::services_default())).strict_qos();
    let topic = format!("{service}/_service_event");
    let print = move |event: &_| end.check(printer.print(None, event));
    let subscription = node.create_dynamic_subscription(&topic, &event, options, print)?;
    if subscription.publisher_count() == 0 {
        cli.output.note(&format!(
            "No publishers on topic '{topic}'; is service introspection on the client or server enabled?"
        ));
    }
    ending.wait()
}
