//! `runnel service list`

use serde_json::{Value as Json, json};

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, is_within};
use crate::output::lines;
use crate::services::probe;

/// List services
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this service, and those below it
    #[arg(add = completion::services())]
    namespace: Option<String>,

    /// Show the nodes that provide them
    #[arg(short, long)]
    nodes: bool,

    /// Ask each node for the type
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only print how many there are
    #[arg(short, long, conflicts_with_all = ["nodes", "show_types"])]
    count_services: bool,
}

struct Listed {
    service: String,
    nodes: Vec<String>,
    /// The type, or why it is unknown.
    type_name: Option<Result<String, String>>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.query_context()?;
    let mut services = Graph::new(&context).system_state()?.services;
    if let Some(namespace) = &args.namespace {
        let namespace = cli.resolve(namespace)?;
        services.retain(|service, _| is_within(service, &namespace));
    }
    if args.count_services {
        return cli.output.answer(|| services.len().to_string(), || json!(services.len()));
    }
    let node = args.show_types.then(|| cli.node(&context, "service")).transpose()?;
    let listed = |(service, nodes): (String, Vec<String>)| {
        let type_name = node
            .as_ref()
            .map(|node| probe(node, &service).map(|info| info.type_name).map_err(|error| error.to_string()));
        Listed { service, nodes, type_name }
    };
    let listed: Vec<Listed> = services.into_iter().map(listed).collect();
    let text = || lines(listed.iter().map(|listed| listed.text(args.nodes)));
    cli.output.answer(text, || listed.iter().map(Listed::json).collect())
}

impl Listed {
    fn text(&self, nodes: bool) -> String {
        let mut text = self.service.clone();
        if let Some(type_name) = &self.type_name {
            text += &format!(" [{}]", type_name.as_deref().unwrap_or("unknown type"));
        }
        if nodes {
            text += &format!(" {}", self.nodes.join(", "));
        }
        text
    }

    fn json(&self) -> Json {
        let mut json = json!({ "name": self.service, "nodes": self.nodes });
        match &self.type_name {
            Some(Ok(type_name)) => json["type"] = json!(type_name),
            Some(Err(error)) => json["error"] = json!(error),
            None => {}
        }
        json
    }
}
