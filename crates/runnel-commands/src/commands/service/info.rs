//! `runnel service info`

use serde_json::json;

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::lines;
use crate::services::{arguments, probe};

/// Show the provider, address, type and arguments of a service
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service
    #[arg(add = completion::services())]
    service: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let service = cli.resolve(&args.service)?;
    let context = cli.query_context()?;
    let uri = Graph::new(&context).service_uri(&service)?;
    let none = || CliError::Failed(format!("no service {service} (see 'runnel service list')"));
    let uri = uri.ok_or_else(none)?;
    let info = probe(&cli.node(&context, "service")?, &service)?;
    let arguments = cli.types()?.service(&info.type_name).ok().as_ref().map(arguments);
    let text = || {
        let known = arguments.as_ref().map_or("unknown".to_owned(), |names| names.join(" "));
        lines([
            format!("Node: {}", info.node),
            format!("URI: {uri}"),
            format!("Type: {}", info.type_name),
            format!("Args: {known}"),
        ])
    };
    cli.output.answer(text, || {
        json!({
            "name": service, "node": info.node, "uri": uri, "type": info.type_name, "md5": info.md5,
            "arguments": arguments,
        })
    })
}
