//! `runnel service list`

use serde_json::{Value as Json, json};

use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, is_within};
use crate::output::lines;
use crate::services::probe;
use crate::session::Session;

/// List services
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this service, and those below it
    #[arg(add = completion::services())]
    namespace: Option<String>,

    /// Show who provides them
    #[arg(short, long)]
    nodes: bool,

    /// Ask each node for the type
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only say how many there are
    #[arg(short, long, conflicts_with_all = ["nodes", "show_types"])]
    count_services: bool,
}

struct Listed {
    service: String,
    nodes: Vec<String>,
    /// The type, or why it is not known.
    type_name: Option<Result<String, String>>,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let context = session.asking()?;
    let mut services = Graph::new(&context).system_state()?.services;
    if let Some(namespace) = &args.namespace {
        let namespace = session.resolve(namespace)?;
        services.retain(|service, _| is_within(service, &namespace));
    }
    if args.count_services {
        return session.output.answer(|| services.len().to_string(), || json!(services.len()));
    }
    let node = args.show_types.then(|| session.node(&context, "service")).transpose()?;
    let listed = |(service, nodes): (String, Vec<String>)| {
        let type_name = node
            .as_ref()
            .map(|node| probe(node, &service).map(|info| info.type_name).map_err(|error| error.to_string()));
        Listed { service, nodes, type_name }
    };
    let listed: Vec<Listed> = services.into_iter().map(listed).collect();
    let text = || lines(listed.iter().map(|listed| listed.text(args.nodes)));
    session.output.answer(text, || listed.iter().map(Listed::json).collect())
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
