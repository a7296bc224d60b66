//! `runnel service list`

use serde_json::{Value as Json, json};

use super::hidden::Hidden;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::is_within;
use crate::graphs::{Query, Service, graph_names, keys};
use crate::output::columns;
use crate::services::Prober;

/// List services
///
/// If both ROS 1 and ROS 2 have services, each line names the graphs of its service.
///
/// Exit code: 1 if neither a master nor a ROS 2 participant is found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this service, and those below it
    #[arg(add = completion::services())]
    namespace: Option<String>,

    /// Show the nodes that provide them
    #[arg(short, long)]
    nodes: bool,

    /// Show types; in ROS 1 each node is asked
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only print how many there are
    #[arg(short, long, conflicts_with_all = ["nodes", "show_types"])]
    count_services: bool,

    #[command(flatten)]
    hidden: Hidden,

    #[command(flatten)]
    query: Query,
}

struct Listed {
    name: String,
    service: Service,
    /// Its types, if they are wanted; or why they are unknown.
    types: Option<Result<Vec<String>, String>>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let namespace = args.namespace.as_ref().map(|name| cli.resolve(name)).transpose()?;
    let snapshot = args.query.open(cli)?;
    let mut services = args.hidden.services(&snapshot)?;
    services.0.retain(|name, _| namespace.as_ref().is_none_or(|outer| is_within(name, outer)));
    if args.count_services {
        cli.output.answer(|| services.0.len().to_string(), || json!(services.0.len()))?;
        return snapshot.presence.check();
    }
    let both = services.are_in_both();
    let prober = Prober::new(cli);
    let listed = |(name, service): (String, Service)| {
        let types = args.show_types.then(|| prober.types(&name, &service).map_err(|error| error.to_string()));
        Listed { name, service, types }
    };
    let listed: Vec<Listed> = services.0.into_iter().map(listed).collect();
    let rows = || columns(listed.iter().map(|listed| listed.row(args.nodes, both)));
    cli.output.answer(rows, || listed.iter().map(Listed::json).collect())?;
    snapshot.presence.check()
}

impl Listed {
    fn row(&self, nodes: bool, both: bool) -> [String; 2] {
        let mut text = self.name.clone();
        if let Some(types) = &self.types {
            let types = types.as_ref().map(|types| types.join(", "));
            text += &format!(" [{}]", types.as_deref().unwrap_or("unknown type"));
        }
        if nodes {
            text += &format!(" {}", self.service.servers().join(", "));
        }
        let graphs = graph_names(self.service.ros1.is_some(), self.service.ros2.is_some());
        [text, if both { graphs.to_owned() } else { String::new() }]
    }

    fn json(&self) -> Json {
        let Self { name, service, types } = self;
        let graphs = keys(service.ros1.is_some(), service.ros2.is_some());
        let mut json = json!({ "name": name, "nodes": service.servers(), "graphs": graphs });
        match types {
            Some(Ok(types)) => {
                json["type"] = json!(types.first());
                if types.len() > 1 {
                    json["types"] = json!(types);
                }
            }
            Some(Err(error)) => json["error"] = json!(error),
            None => {}
        }
        json
    }
}
