//! The environment of this process, and whether its master answers.

use std::env;
use std::net::IpAddr;

use runnel::Context;
use runnel_ros1::rpc::Uri;

use super::reach;
use crate::cli_context::CliContext;
use crate::commands::doctor::found::{Here, MasterFound, ServerFault, StatedHost};
use crate::error::CliError;
use crate::graph::{Graph, Question};

/// The variables that name addresses.
const VARIABLES: [&str; 4] = ["ROS_MASTER_URI", "ROS_HOSTNAME", "ROS_IP", "ROS_NAMESPACE"];

/// The arguments that override these variables.
const ARGUMENTS: [&str; 3] = ["__master", "__hostname", "__ip"];

/// Reads the variables and arguments. A program that uses only ROS 2 reads none of ROS 1.
pub fn gather(cli: &CliContext) -> Here {
    let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let argument = |name: &'static str| {
        let value =
            cli.context_arguments().iter().find_map(|word| word.strip_prefix(name)?.strip_prefix(":="));
        value.map(|value| (name, value.to_owned()))
    };
    let set = |name| variable(name).map(|value| (name, value));
    if cli.is_only_in_ros2() {
        let variables = super::network::VARIABLES.into_iter().filter_map(set).collect();
        return Here { variables, ..Here::default() };
    }
    let all = VARIABLES.into_iter().chain(super::network::VARIABLES);
    let variables = all.filter_map(set).chain(ARGUMENTS.into_iter().filter_map(argument));
    let variables: Vec<_> = variables.collect();
    let named = ["__hostname", "__ip", "ROS_HOSTNAME", "ROS_IP"];
    let stated = named.into_iter().find_map(|name| variables.iter().find(|(variable, _)| *variable == name));
    let master_named = variables.iter().any(|(name, _)| ["ROS_MASTER_URI", "__master"].contains(name));
    let stated = stated.map(|(variable, host)| stated_host(variable, host));
    Here { variables, master_named, stated, ..Here::default() }
}

fn stated_host(variable: &'static str, host: &str) -> StatedHost {
    let address = reach::address(host);
    let own = address.as_ref().is_ok_and(|address| reach::is_own(*address));
    StatedHost { variable, host: host.to_owned(), address, own }
}

/// Asks the master whether it answers.
///
/// # Errors
/// When the context ends first.
pub fn master(context: &Context, graph: &Graph<'_>) -> Result<MasterFound, CliError> {
    let uri = context.master_uri();
    let address = reach::address(&uri.endpoint.host);
    let own = address.as_ref().is_ok_and(|address| reach::is_own(*address));
    let fault = match &address {
        Ok(address) => answers(graph, uri, *address)?,
        Err(why) => Some(ServerFault::Unresolved { host: uri.endpoint.host.clone(), why: why.clone() }),
    };
    Ok(MasterFound { uri: uri.to_string(), address: address.ok(), own, fault })
}

fn answers(graph: &Graph<'_>, uri: &Uri, address: IpAddr) -> Result<Option<ServerFault>, CliError> {
    let question = Question { uri: uri.clone(), method: "getPid", params: Vec::new() };
    let answer = graph.ask_all(&[question])?.pop();
    let Some(Err(why)) = answer else { return Ok(None) };
    Ok(Some(super::nodes::fault(Some(address), uri.endpoint.port, &why)))
}
