//! `runnel service info`

use serde_json::{Value as Json, json};

use super::endpoints;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::graphs::{Query, Ros2Service};
use crate::output::lines;
use crate::services::{Prober, arguments, unknown};

/// Show the type of a service, and the nodes that provide and use it
///
/// In ROS 1: the provider, its address, the type and its arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service
    #[arg(add = completion::services())]
    service: String,

    /// Also show each server and client in ROS 2, with its QoS
    #[arg(short, long)]
    verbose: bool,

    /// Accepted as in ros2; hidden services are found by their names
    #[arg(long, hide = true)]
    include_hidden_services: bool,

    #[command(flatten)]
    query: Query,
}

/// The data of ROS 1.
struct Provider {
    node: String,
    uri: String,
    type_name: String,
    md5: String,
    arguments: Option<Vec<String>>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&args.service)?;
    let snapshot = args.query.open(cli)?;
    let services = snapshot.services()?;
    let service = services.0.get(&name).ok_or_else(|| unknown(&name, services.names()))?;
    let provider = |graph: &Graph<'_>| Provider::of(cli, graph, &name).transpose();
    let ros1 = snapshot.ros1().filter(|_| service.ros1.is_some());
    let ros1 = ros1.and_then(|graph| provider(&graph)).transpose()?;
    let ends = || match &snapshot.ros2 {
        Some(graph) if args.verbose => endpoints::of(graph, &name),
        _ => endpoints::Ends::default(),
    };
    let ros2 = || service.ros2.as_ref().map(|ros2| ros2_text(ros2, &ends()));
    let text = || match (&ros1, ros2()) {
        (Some(ros1), Some(ros2)) => format!("ROS 1\n{}\nROS 2\n{ros2}", ros1.text()),
        (Some(ros1), None) => ros1.text(),
        (None, ros2) => ros2.unwrap_or_default(),
    };
    let json = || {
        let mut json = ros1.as_ref().map_or_else(|| json!({ "name": name }), |ros1| ros1.json(&name));
        if let Some(Ros2Service { types, servers, clients }) = &service.ros2 {
            json["ros2"] = json!({ "types": types, "servers": servers, "clients": clients });
            if args.verbose {
                json["ros2"]["endpoints"] = ends().json();
            }
        }
        json
    };
    cli.output.answer(text, json)
}

/// The lines of ros2.
fn ros2_text(service: &Ros2Service, ends: &endpoints::Ends) -> String {
    let types: Vec<&str> = service.types.iter().map(String::as_str).collect();
    let types = if types.len() == 1 { types.concat() } else { format!("['{}']", types.join("', '")) };
    let head = lines([format!("Type: {types}"), format!("Clients count: {}", service.clients.len())]);
    let servers = lines([format!("Services count: {}", service.servers.len())]);
    format!("{head}{}{servers}{}", ends.text(false), ends.text(true))
}

impl Provider {
    /// `None` if the provider is gone.
    fn of(cli: &CliContext, graph: &Graph<'_>, service: &str) -> Result<Option<Self>, CliError> {
        let Some(uri) = graph.service_uri(service)? else { return Ok(None) };
        let info = Prober::new(cli).info(service)?;
        let arguments = cli.types()?.service(&info.type_name).ok().as_ref().map(arguments);
        Ok(Some(Self { node: info.node, uri, type_name: info.type_name, md5: info.md5, arguments }))
    }

    fn text(&self) -> String {
        let known = self.arguments.as_ref().map_or("unknown".to_owned(), |names| names.join(" "));
        lines([
            format!("Node: {}", self.node),
            format!("URI: {}", self.uri),
            format!("Type: {}", self.type_name),
            format!("Args: {known}"),
        ])
    }

    fn json(&self, service: &str) -> Json {
        let Self { node, uri, type_name, md5, arguments } = self;
        json!({
            "name": service, "node": node, "uri": uri, "type": type_name, "md5": md5, "arguments": arguments,
        })
    }
}
