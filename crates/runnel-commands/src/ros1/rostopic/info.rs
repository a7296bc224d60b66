//! `rostopic info`, `type` and `find`

use super::Failure;
use super::subject::Subject;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::{Graph, Holders};
use crate::output::{lines, shown};
use crate::ros1::print_joined;

/// Show a topic's type, publishers and subscribers
#[derive(Debug, clap::Args)]
pub struct InfoArgs {
    /// The topic
    topic: String,
}

/// Print the type of a topic, or of a field: /pose/position
#[derive(Debug, clap::Args)]
pub struct TypeArgs {
    /// The topic or field
    topic: String,
}

/// List the topics of a type
#[derive(Debug, clap::Args)]
pub struct FindArgs {
    /// The message type, such as std_msgs/String
    #[arg(value_name = "TYPE")]
    type_name: String,
}

pub fn info(args: &InfoArgs, cli: &CliContext) -> Result<(), Failure> {
    let topic = cli.absolute(&args.topic);
    let context = cli.query_context()?;
    let graph = Graph::new(&context);
    let listing = graph.listing()?;
    let [publishers, subscribers] = [&listing.publishers, &listing.subscribers].map(|all| nodes(all, &topic));
    if publishers.is_none() && subscribers.is_none() {
        return Err(Failure::failed(format!("Unknown topic {topic}")));
    }
    let types = graph.topic_types()?;
    let type_name = types.get(&topic).map_or("unknown type", String::as_str);
    let mut text = format!("Type: {}\n\n", shown(type_name));
    for (word, nodes) in [("Publishers", publishers), ("Subscribers", subscribers)] {
        text += &section(&graph, word, nodes)?;
    }
    Ok(cli.output.paragraph(&text)?)
}

fn nodes<'a>(holders: &'a Holders, topic: &str) -> Option<&'a [String]> {
    holders.iter().find(|(name, _)| name == topic).map(|(_, nodes)| nodes.as_slice())
}

fn section(graph: &Graph<'_>, word: &str, nodes: Option<&[String]>) -> Result<String, CliError> {
    let Some(nodes) = nodes else { return Ok(format!("{word}: None\n\n")) };
    let mut text = format!("{word}: \n");
    for node in nodes {
        let uri = graph.node_uri(node)?.unwrap_or_else(|| format!("unknown address {node}"));
        text += &lines([format!(" * {node} ({uri})")]);
    }
    Ok(text + "\n")
}

pub fn type_name(args: &TypeArgs, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.query_context()?;
    let types = cli.types()?;
    let found = Subject::find(cli, &types, &Graph::new(&context), &args.topic)?;
    let Some(subject) = found else {
        let topic = cli.resolve(&args.topic)?;
        return Err(Failure::error(1, format!("unknown topic type [{topic}]")));
    };
    let of_field = subject.field_type(&types);
    Ok(cli.output.line(&match &subject.field {
        None => subject.type_name,
        Some(field) => format!("{} {field} {of_field}", subject.type_name),
    })?)
}

pub fn find(args: &FindArgs, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.query_context()?;
    let types = Graph::new(&context).listed_topic_types()?;
    let found: Vec<String> =
        types.into_iter().filter(|(_, name)| *name == args.type_name).map(|(topic, _)| topic).collect();
    Ok(print_joined(cli, &found)?)
}
