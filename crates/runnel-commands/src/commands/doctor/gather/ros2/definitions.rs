//! Definitions of types whose hashes differ: from the nodes that use them, or else as known here.

use std::collections::{BTreeMap, BTreeSet};

use runnel::core::schema::{Generation, TypeDescription};
use runnel::{EndpointInfo, Node, Ros2Graph};

use crate::cli_context::CliContext;
use crate::commands::doctor::ros2::definitions::Definition;
use crate::learned_types::checked_types;
use crate::types::Types;

/// The service by which a node describes its types.
const SERVICE: &str = "get_type_description";

/// Number of hashes and of nodes for each that are asked for.
const MOST_HASHES: usize = 8;
const MOST_NODES: usize = 2;

/// The definitions of these hashes, by hash, as far as they are known.
pub fn gather(
    cli: &CliContext,
    node: &Node,
    graph: &Ros2Graph,
    hashes: &BTreeMap<String, Vec<&EndpointInfo>>,
) -> BTreeMap<String, Definition> {
    let types = if hashes.is_empty() { None } else { cli.types().ok() };
    let definition = |(hash, ends): (&String, &Vec<&EndpointInfo>)| {
        let known = types.as_ref().and_then(|types| known(types, hash, ends.first()?));
        let definition = known.or_else(|| from_nodes(node, graph, hash, ends))?;
        Some((hash.clone(), definition))
    };
    hashes.iter().take(MOST_HASHES).filter_map(definition).collect()
}

/// The definition that is known here, if it has this hash.
fn known(types: &Types, hash: &str, end: &EndpointInfo) -> Option<Definition> {
    let name = end.ros_type();
    let schema = types.message_in(Generation::Ros2, &name).ok()?;
    let description = TypeDescription::of_message(&name, &schema.full_text).ok()?;
    (description.hash == hash).then(|| Definition::of_description(&description)).flatten()
}

/// The definition as a node that uses it describes it, with this hash.
fn from_nodes(node: &Node, graph: &Ros2Graph, hash: &str, ends: &[&EndpointInfo]) -> Option<Definition> {
    let type_name = ends.first()?.ros_type();
    let users: BTreeSet<&str> = ends.iter().filter_map(|end| end.node.as_deref()).collect();
    let describes = |user: &&str| graph.count_services(&format!("{user}/{SERVICE}")) > 0;
    users.into_iter().filter(describes).take(MOST_NODES).find_map(|user| {
        let (_, types) = checked_types(node, graph, user, [&type_name, hash]).ok()?;
        Definition::of_types(&types)
    })
}
