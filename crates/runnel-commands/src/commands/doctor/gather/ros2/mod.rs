//! Examines the ROS 2 graph.

mod clocks;
mod definitions;
mod messages;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use runnel::{Context, Node, Ros2Graph};

use crate::cli_context::CliContext;
use crate::commands::doctor::Args;
use crate::commands::doctor::ros2::found::Ros2Found;
use crate::commands::doctor::ros2::{differing_hashes, has_suspects};
use crate::error::{CliError, unless_interrupted};
use crate::graphs::{DiscoveredRos2, Discovery};

/// Longer than the period in which participants announce themselves that are not reached by our announcement, 3 s.
const LISTEN: Duration = Duration::from_millis(3100);

/// How often it is checked whether that is needed.
const CHECK: Duration = Duration::from_millis(100);

/// How long ROS 2 participants may take to announce all their endpoints.
const LATE_PARTICIPANTS: Duration = Duration::from_secs(2);

/// How long two halves of a server may take to be announced.
const SETTLING: Duration = Duration::from_secs(1);

/// The ROS 2 graph; `None` without participants, or if ROS 2 is not available. With a master the graph may be empty: then
/// this ends early.
pub fn gather(
    args: &Args,
    cli: &CliContext,
    context: Option<&Context>,
    has_master: &AtomicBool,
) -> Option<Ros2Found> {
    let context = context?;
    let is_empty = |graph: Option<Ros2Graph>| graph.is_none_or(|graph| graph.participants.len() <= 1);
    for _ in 0..LISTEN.as_millis() / CHECK.as_millis() {
        let is_alone = is_empty(context.ros2_graph().ok()?);
        if is_alone && has_master.load(Ordering::Relaxed) {
            break;
        }
        context.sleep_wall(CHECK).ok()?;
    }
    let discovered = DiscoveredRos2::of(context, LATE_PARTICIPANTS)?;
    if discovered.graph.participants.is_empty() {
        return None;
    }
    let (participants, has_nodes) = (discovered.text_after_ros2(), !discovered.is_empty());
    let mut found = Ros2Found { participants, has_nodes, graph: discovered.graph, ..Ros2Found::default() };
    found.marks = context.marked_endpoints().into_iter().collect();
    // Without answers of nodes, all other findings stay.
    let _ = ask_nodes(args, cli, context, &mut found);
    if has_suspects(&found) {
        found.later = look_again(context);
    }
    found.details = context.ros2_participant_details().into_iter().map(|one| (one.gid, one)).collect();
    Some(found)
}

/// Asks nodes about types that differ, about their clocks, and for messages.
fn ask_nodes(
    args: &Args,
    cli: &CliContext,
    context: &Context,
    found: &mut Ros2Found,
) -> Result<(), CliError> {
    let hashes = differing_hashes(&found.graph);
    let hosts = clocks::hosts(&found.graph);
    if hashes.is_empty() && hosts.is_empty() && !args.stamps {
        return Ok(());
    }
    let node: Node = cli.node(context, "doctor")?;
    found.definitions = definitions::gather(cli, &node, &found.graph, &hashes);
    found.clocks = clocks::gather(context, &node, &hosts);
    if args.stamps {
        found.largest = messages::gather(&node, &found.graph)?;
    }
    Ok(())
}

fn look_again(context: &Context) -> Option<Ros2Graph> {
    unless_interrupted(context.wait_for_ros2_graph(SETTLING, |_| false)).ok()?;
    let discovery = Discovery::at_least(None);
    discovery.discover_within(context, Duration::ZERO).ok()
}
