//! `runnel param load`

use std::path::Path;

use runnel::{Parameter, ParameterValue};
use serde_json::{Value as Json, json};

use super::query::{Query, Ros2Node, node_not_found};
use super::set::fitted;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::lines;
use crate::params::{file_text, yaml};

/// Set the parameters of a YAML file; others stay
///
/// 'runnel param load /robot FILE' sets those of the file that are for the ROS 2 node /robot. 'runnel param load FILE'
/// sets ROS 1 parameters.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node, or in ROS 1 the file; - for standard input
    #[arg(value_name = "NODE", add = completion::nodes_or_files())]
    file: String,

    /// The file, or in ROS 1 the name below which parameters are set
    #[arg(value_name = "FILE", default_value = "/", add = completion::parameters_or_files())]
    namespace: String,

    /// Also set those that the file has for every ROS 2 node, in its section /**
    #[arg(long)]
    use_wildcard: bool,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    if names_node(args, cli) {
        let name = cli.resolve(&args.file)?;
        let text = text_of(&args.namespace)?;
        let not_found = || node_not_found(cli, &name, &args.query.known_graph(cli));
        let node = args.query.ros2_node(cli, &name)?.ok_or_else(not_found)?;
        return load_ros2(args, cli, &node, &text);
    }
    let namespace = cli.resolve(&args.namespace)?;
    let text = text_of(&args.file)?;
    let value = yaml::from_text(&text).map_err(|error| failed(&args.file, &error.to_string()))?;
    let leaves = yaml::leaves(&namespace, value).map_err(|error| failed(&args.file, &error))?;
    let set =
        |graph: &Graph<'_>| leaves.into_iter().try_for_each(|(name, value)| graph.set_param(&name, value));
    args.query.in_ros1(cli, &args.file, set)
}

/// Whether the arguments are a ROS 2 node and a file. A ROS 1 namespace is no file.
fn names_node(args: &Args, cli: &CliContext) -> bool {
    let second = args.namespace.as_str();
    let is_file = || second == "-" || Path::new(second).is_file() || cli.resolve(second).is_err();
    second != "/" && (args.query.filter.is_only_ros2() || is_file())
}

fn load_ros2(args: &Args, cli: &CliContext, node: &Ros2Node, text: &str) -> Result<(), CliError> {
    let file = &args.namespace;
    let client = &node.client;
    let found = Parameter::from_file_text(text, client.node_name(), args.use_wildcard);
    let mut parameters = found.map_err(|why| failed(file, &why))?;
    if parameters.is_empty() {
        let hint = if args.use_wildcard { "" } else { " (see --use-wildcard)" };
        return Err(failed(file, &format!("it has no parameters for {}{hint}", client.node_name())));
    }
    for Parameter { name, value } in &mut parameters {
        let fit = value.take().map(|value| settable(fitted(client, name, value)));
        *value = fit.transpose().map_err(|why| failed(file, &format!("{name}: {why}")))?;
    }
    let results = client.set_parameters(&parameters)?;
    let outcome: Vec<(&str, Result<(), String>)> = parameters
        .iter()
        .zip(results)
        .map(|(parameter, result)| (parameter.name.as_str(), result.map_err(|why| why.to_string())))
        .collect();
    let line = |(name, result): &(&str, Result<(), String>)| match result {
        Ok(()) => format!("Set parameter {name} successful"),
        Err(why) => format!("Set parameter {name} failed: {why}"),
    };
    let row = |(name, result): &(&str, Result<(), String>)| json!({ "name": name, "successful": result.is_ok(), "reason": result.as_ref().err() });
    cli.output.answer(|| lines(outcome.iter().map(line)), || outcome.iter().map(row).collect::<Json>())?;
    if outcome.iter().all(|(_, result)| result.is_ok()) { Ok(()) } else { Err(CliError::Answered) }
}

/// The value as a node can have it. As in ros2, an empty list whose type is not known is one of booleans.
fn settable(value: ParameterValue) -> Result<ParameterValue, String> {
    match value {
        ParameterValue::List(items) if items.is_empty() => Ok(ParameterValue::BoolArray(Vec::new())),
        ParameterValue::List(_) => Err("the items of a list must have one type".to_owned()),
        value => Ok(value),
    }
}

fn text_of(file: &str) -> Result<String, CliError> {
    file_text(Path::new(file)).map_err(|error| {
        let why = error.to_string();
        failed(file, why.split(" (os error").next().unwrap_or_default())
    })
}

fn failed(file: &str, why: &str) -> CliError {
    CliError::Failed(format!("{file}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_several_types_is_refused() {
        let mixed = ParameterValue::from(vec![ParameterValue::from(1), "a".into()]);
        assert_eq!(settable(mixed), Err("the items of a list must have one type".to_owned()));
        assert_eq!(settable(ParameterValue::List(Vec::new())), Ok(ParameterValue::BoolArray(Vec::new())));
        assert_eq!(settable(5.into()), Ok(5.into()));
    }
}
