//! Asks the master, the nodes, the publishers and the servers, each kind in parallel, so that many silent ones take
//! no longer than one.

mod here;
mod network;
mod nodes;
mod offers;
mod reach;
mod ros2;
mod tcpros;
mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use runnel::core::time::Instant;
use runnel::{Context, Graphs};
use runnel_io::clock;

use super::Args;
use super::found::{Found, GraphFound, MasterFound, NodeFound, ServerFault};
use super::links;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::{Graph, read_connections};
use reach::Hosts;
pub use times::CLOCK;

/// How long two ends of a half-open link may take to agree.
const SETTLING: Duration = Duration::from_secs(1);

/// Examines the ROS 1 graph, unless the program uses only ROS 2, and in parallel the ROS 2 graph.
///
/// # Errors
/// When the arguments are wrong.
pub fn gather(args: &Args, cli: &CliContext) -> Result<Found, CliError> {
    let mut here = here::gather(cli);
    let graphs = if cli.is_only_in_ros2() { Graphs::Ros2 } else { Graphs::Ros1 };
    let context = match cli.query_context_in(graphs) {
        Ok(context) => context,
        Err(CliError::Failed(why)) => {
            here.malformed = Some(why);
            return Ok(Found { here, ..Found::default() });
        }
        Err(error) => return Err(error),
    };
    let (is_enough, has_master) = (AtomicBool::new(false), AtomicBool::new(false));
    let ros2_context = cli.query_context_in(Graphs::Ros2).ok();
    let (ros1, mut ros2, mut network) = thread::scope(|scope| {
        let ros2 = scope.spawn(|| ros2::gather(args, cli, ros2_context.as_ref(), &has_master));
        let network = scope.spawn(|| network::gather(ros2_context.as_ref(), &is_enough));
        let ros1 = match graphs {
            Graphs::Ros2 => Ok((None, None)),
            _ => gather_ros1(args, cli, &context).map(|(master, graph)| (Some(master), graph)),
        };
        // With a master and no participants, nobody wants to know more of ROS 2.
        has_master.store(matches!(&ros1, Ok((_, Some(_)))), Ordering::Relaxed);
        let ros2 = ros2.join().ok().flatten();
        is_enough.store(ros2.is_none() && has_master.load(Ordering::Relaxed), Ordering::Relaxed);
        (ros1, ros2, network.join().unwrap_or_default())
    });
    let (master, graph) = ros1?;
    if let Some(found) = &mut ros2 {
        found.pids = network.pids(&found.graph);
    }
    network::look_elsewhere(cli, &mut network, ros2.as_ref(), graph.is_some());
    here.master = master;
    here.has_ros2 = ros2.as_ref().is_some_and(|found| found.has_nodes);
    here.has_only_commands = ros2.is_some() && !here.has_ros2;
    here.empty_domain = network.range.filter(|_| !here.has_ros2).map(|_| network.domain);
    Ok(Found { here, graph, ros2, network })
}

/// The master, and its graph if it answers.
fn gather_ros1(
    args: &Args,
    cli: &CliContext,
    context: &Context,
) -> Result<(MasterFound, Option<GraphFound>), CliError> {
    let master = Graph::new(context);
    let mut found = here::master(context, &master)?;
    if found.fault.is_some() {
        return Ok((found, None));
    }
    match whole_graph(args, cli, context, &master) {
        Ok(whole) => Ok((found, Some(whole))),
        Err(CliError::Failed(why)) => {
            // It answered at first, and may have ended or hang now.
            found = here::master(context, &master)?;
            found.fault.get_or_insert(ServerFault::Nonsense(why));
            Ok((found, None))
        }
        Err(error) => Err(error),
    }
}

fn whole_graph(
    args: &Args,
    cli: &CliContext,
    context: &Context,
    master: &Graph<'_>,
) -> Result<GraphFound, CliError> {
    let mut hosts = Hosts::default();
    let state = master.system_state()?;
    let mut found = GraphFound { state, types: master.topic_types()?, ..GraphFound::default() };
    let names: Vec<&str> = found.state.nodes().into_iter().collect();
    found.nodes = nodes::gather(master, &names, &mut hosts)?;
    let begun = clock::monotonic();
    let ask_all = args.all || args.stamps;
    found.offers = offers::gather(master, &found, ask_all, &mut hosts)?;
    found.known_md5 = known_md5(cli, &found);
    found.services = offers::services(master, &found, &mut hosts)?;
    found.clock = times::clock(master, &found, &hosts)?;
    if args.stamps {
        found.stamps = times::stamps(&found.offers, &hosts);
    }
    look_again(context, master, begun, &mut found)?;
    Ok(found)
}

/// The MD5 sums of all offered types that are known here.
fn known_md5(cli: &CliContext, found: &GraphFound) -> BTreeMap<String, String> {
    // An unreadable folder does not stop the other checks.
    let Ok(types) = cli.types() else { return BTreeMap::new() };
    let offered = found.offers.iter().filter_map(|offer| offer.answer.as_ref().ok());
    let names: BTreeSet<&str> = offered.map(|said| said.type_name.as_str()).collect();
    let known = |name: &str| Some((name.to_owned(), types.message(name).ok()?.md5.clone()));
    names.into_iter().filter_map(known).collect()
}

/// Asks again about facts that may have been changing: half-open links, and counts of dropped messages.
fn look_again(
    context: &Context,
    master: &Graph<'_>,
    begun: Instant,
    found: &mut GraphFound,
) -> Result<(), CliError> {
    let suspects = links::suspects(found);
    let dropping: BTreeSet<String> = droppers(found).map(|(name, _)| name.clone()).collect();
    if suspects.is_empty() && dropping.is_empty() {
        return Ok(());
    }
    let passed = clock::monotonic().since(begun);
    context.sleep_wall(SETTLING.saturating_sub(passed))?;
    if !suspects.is_empty() {
        // Registrations since the first look are ignored: the nodes were not asked about them.
        found.state.keep_common(&master.system_state()?);
        let connections = nodes::ask_again(master, &of(found, &suspects), "getBusInfo", read_connections)?;
        for (name, connections) in connections {
            found.nodes.entry(name).and_modify(|node| node.connections = connections);
        }
    }
    for (name, drops) in nodes::drops_again(master, &of(found, &dropping))? {
        found.nodes.entry(name).and_modify(|node| node.drops_later = drops);
    }
    Ok(())
}

fn droppers(found: &GraphFound) -> impl Iterator<Item = (&String, &NodeFound)> {
    found.nodes.iter().filter(|(_, node)| node.drops.iter().any(|drops| drops.count > 0))
}

fn of<'f>(found: &'f GraphFound, names: &'f BTreeSet<String>) -> Vec<(&'f str, &'f NodeFound)> {
    names.iter().filter_map(|name| Some((name.as_str(), found.answering(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use runnel::core::names;
    use runnel_ros1::xmlrpc::Value;

    use super::*;
    use crate::arguments::Arguments;
    use crate::graph::{SystemState, fake};

    #[test]
    fn master_that_ends_halfway_counts_as_refused() {
        let master = fake::server(vec![Some(fake::granted(7)), None]);
        let ros = names::Arguments::parse([format!("__master:={master}")]).expect("sound");
        let cli = CliContext::new(Arguments { ros, own: Vec::new() }, false, Vec::new()).expect("sound");
        let args = Args { report: false, all: false, stamps: false };
        let found = gather(&args, &cli).expect("it looks");
        assert!(found.graph.is_none());
        assert_eq!(found.here.master.and_then(|master| master.fault), Some(ServerFault::Refused));
    }

    #[test]
    fn registrations_during_the_check_are_ignored() {
        let list = |values: &[&Value]| Value::Array(values.iter().map(|value| (*value).clone()).collect());
        let held = |topic: &str, node: &str| list(&[&topic.into(), &list(&[&node.into()])]);
        let publishers = list(&[&held("/new", "/a"), &held("/t", "/a")]);
        let later = list(&[&publishers, &list(&[&held("/t", "/b")]), &list(&[])]);
        let context = fake::context(vec![Some(fake::granted(later))]);

        let ends = |node: &str| BTreeMap::from([("/t".to_owned(), vec![node.to_owned()])]);
        let (publishers, subscribers) = (ends("/a"), ends("/b"));
        let state = SystemState { publishers, subscribers, ..SystemState::default() };
        let node = || NodeFound { connections: Some(Vec::new()), ..NodeFound::default() };
        let nodes = [("/a".to_owned(), node()), ("/b".to_owned(), node())].into();
        let mut found = GraphFound { state: state.clone(), nodes, ..GraphFound::default() };
        look_again(&context, &Graph::new(&context), Instant(0), &mut found).expect("the master answers");
        assert_eq!(found.state, state);
    }
}
