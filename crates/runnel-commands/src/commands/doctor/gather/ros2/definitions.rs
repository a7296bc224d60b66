//! Definitions of types whose hashes differ: from the nodes that use them, or else as known here.

use std::collections::BTreeMap;
use std::time::Duration;

use runnel::core::names::DdsTopic;
use runnel::core::schema::{Generation, TypeDescription};
use runnel::msgs::type_description_interfaces::srv::{GetTypeDescription, GetTypeDescriptionRequest};
use runnel::{EndpointInfo, Node, Ros2Graph};

use crate::cli_context::CliContext;
use crate::commands::doctor::ros2::definitions::Definition;
use crate::types::Types;

/// The service by which a node describes its types.
const SERVICE: &str = "get_type_description";

/// How long a node may take to answer.
const TIMEOUT: Duration = Duration::from_secs(1);

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
    (description.hash == hash).then(|| Definition::of_description(&description))
}

fn from_nodes(node: &Node, graph: &Ros2Graph, hash: &str, ends: &[&EndpointInfo]) -> Option<Definition> {
    let services = ends.iter().filter_map(|end| Some(format!("{}/{SERVICE}", end.node.as_deref()?)));
    let is_offered = |service: &String| {
        graph.endpoints.iter().any(|end| end.ros_topic() == Some(DdsTopic::ServiceRequest(service)))
    };
    services.filter(is_offered).take(MOST_NODES).find_map(|service| {
        let client = node.create_client::<GetTypeDescription>(&service).ok()?;
        let type_name = ends.first()?.ros_type();
        let request =
            GetTypeDescriptionRequest { type_name, type_hash: hash.to_owned(), include_type_sources: false };
        let response = client.call_timeout(&request, TIMEOUT).ok()?;
        response.successful.then(|| Definition::of_message(&response.type_description))
    })
}
