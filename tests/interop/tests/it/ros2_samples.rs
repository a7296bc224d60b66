//! Types of services and actions that are tested with rclpy, and values for their messages.

use std::any::Any;
use std::collections::BTreeSet;
use std::fs;

use interop::distros::Distro;
use interop::ros2::Ros2Graph;
use interop::spinning::Spinning;
use interop::{outcome, ready};
use runnel::Node;
use runnel::core::Message;
use runnel::core::schema::{Generation, Kind, Library, TypeName};
use runnel::core::wire::{Encoding, cdr};
use runnel_core::yaml::to_json_in;
use runnel_testkit::messages::distinct_message;
use runnel_testkit::process::Peer;
use serde_json::Value as Json;

/// What is done with one type.
pub struct TypeChecks {
    /// Its name in ROS 2.
    pub name: &'static str,
    /// The type and the values of its messages.
    pub values: fn() -> Json,
    /// Serves the type until the result is dropped.
    pub serve: fn(&Node) -> Box<dyn Any>,
    /// Uses a server of rclpy.
    pub use_server: fn(&Node, &Peer),
}

/// Has an rclpy program use servers of all types. Returns their number.
pub fn check_rclpy_client(distro: Distro, program: &str, types: &[TypeChecks]) -> usize {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let node = near.node("servers");
    let _servers: Vec<_> = types.iter().map(|checks| (checks.serve)(&node)).collect();
    let names: Vec<_> = types.iter().map(|checks| checks.name).collect();
    assert_all_pass(peer(&graph, distro, program, "client", types), &names);
    types.len()
}

/// Uses servers of all types in an rclpy program. Returns their number.
pub fn check_rclpy_server(distro: Distro, program: &str, types: &[TypeChecks]) -> usize {
    let graph = Ros2Graph::new();
    let server = ready(peer(&graph, distro, program, "server", types));
    let context = graph.context();
    let node = context.create_node("client").expect("a node");
    types.iter().for_each(|checks| (checks.use_server)(&node, &server));
    types.len()
}

/// The topics of these types.
pub fn paths(types: &[TypeChecks]) -> BTreeSet<String> {
    types.iter().map(|checks| path(checks.name)).collect()
}

/// A message with distinct values, and these values.
pub fn filled<M: Message>(library: &Library) -> (M, Json) {
    let name = TypeName::parse(M::TYPE).expect("a name");
    let schema = library.message_in(Generation::Ros2, &name).expect("a definition");
    let message = distinct_message(&schema);
    let payload = message.to_payload(Encoding::Xcdr1).expect("a form");
    (cdr::decode(&payload).expect("the same form"), to_json_in(Generation::Ros2, &message))
}

/// The topic of a type `PACKAGE/KIND/NAME`.
pub fn path(ros2_name: &str) -> String {
    let (package, rest) = ros2_name.split_once('/').expect("a package");
    let (_, name) = rest.split_once('/').expect("a kind");
    format!("/{package}/{name}")
}

/// The topics of the built-in types of a kind: all, or those that ROS 2 has.
pub fn built_in(kind: Kind, only_in_ros2: bool) -> BTreeSet<String> {
    let library = runnel_msgs::library();
    let is_meant = |name: &&TypeName| !only_in_ros2 || library.is_in(Generation::Ros2, kind, name);
    library.names(kind).filter(is_meant).map(|name| format!("/{name}")).collect()
}

/// Starts an rclpy program in this role, with these types and their values.
fn peer(graph: &Ros2Graph, distro: Distro, program: &str, role: &str, types: &[TypeChecks]) -> Peer {
    let file = graph.home().join("samples");
    let lines: String = types.iter().map(|checks| format!("{}\n", (checks.values)())).collect();
    fs::write(&file, lines).expect("a file");
    graph.rclpy(distro, &format!("{program}.py"), program, &[role, &file.display().to_string()])
}

/// Checks that an rclpy client prints the names of all types.
fn assert_all_pass(client: Peer, names: &[&str]) {
    let printed = outcome(client).success();
    // rclpy of Kilted reports that it has found type support on the second attempt.
    let passed: Vec<&str> = printed.iter().map(String::as_str).filter(|line| names.contains(line)).collect();
    assert_eq!(passed, names, "{printed:?}");
}
