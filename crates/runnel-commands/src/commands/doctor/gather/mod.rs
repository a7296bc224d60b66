//! Asks the master, the nodes, the publishers and the servers, each kind side by side, so that a graph full of silent
//! ones takes no longer than one of them.

mod here;
mod nodes;
mod offers;
mod reach;
mod tcpros;
mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use runnel::Context;
use runnel::core::time::Instant;
use runnel::io::clock;

use super::Args;
use super::found::{Found, GraphFound, NodeFound, Trouble};
use super::links;
use crate::error::CliError;
use crate::graph::{Graph, read_connections};
use crate::session::Session;
use reach::Hosts;
pub use times::CLOCK;

/// How long two ends of a link that stands on one side only may take to agree.
const SETTLING: Duration = Duration::from_secs(1);

/// Looks at the whole graph.
///
/// # Errors
/// When the arguments are wrong, or folders with definitions cannot be read.
pub fn gather(args: &Args, session: &Session) -> Result<Found, CliError> {
    let mut here = here::gather(session);
    let context = match session.asking() {
        Ok(context) => context,
        Err(CliError::Failed(why)) => {
            here.malformed = Some(why);
            return Ok(Found { here, graph: None });
        }
        Err(error) => return Err(error),
    };
    let master = Graph::new(&context);
    let mut found = here::master(&context, &master)?;
    let mut graph = None;
    if found.trouble.is_none() {
        match whole_graph(args, session, &context, &master) {
            Ok(whole) => graph = Some(whole),
            Err(CliError::Failed(why)) => found.trouble = Some(Trouble::Nonsense(why)),
            Err(error) => return Err(error),
        }
    }
    here.master = Some(found);
    Ok(Found { here, graph })
}

fn whole_graph(
    args: &Args,
    session: &Session,
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
    found.known_md5 = known_md5(session, &found);
    found.services = offers::services(master, &found, &mut hosts)?;
    found.clock = times::clock(master, &found, &hosts)?;
    if args.stamps {
        found.stamps = times::stamps(&found.offers, &hosts);
    }
    look_again(context, master, begun, &mut found)?;
    Ok(found)
}

/// The MD5 sums of all offered types that are known here.
fn known_md5(session: &Session, found: &GraphFound) -> BTreeMap<String, String> {
    // A folder that cannot be read keeps nobody from looking at the rest.
    let Ok(types) = session.types() else { return BTreeMap::new() };
    let offered = found.offers.iter().filter_map(|offer| offer.said.as_ref().ok());
    let names: BTreeSet<&str> = offered.map(|said| said.type_name.as_str()).collect();
    let known = |name: &str| Some((name.to_owned(), types.message(name).ok()?.md5.clone()));
    names.into_iter().filter_map(known).collect()
}

/// Looks a second time at what may only have been changing: links that stood on one side, and counts of what was
/// dropped.
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
        found.state = master.system_state()?;
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
