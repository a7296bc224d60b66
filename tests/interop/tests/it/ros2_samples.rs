//! Values for the messages of services and actions, and the types that rclpy is tested with.

use std::collections::BTreeSet;
use std::fs;

use interop::distros::Distro;
use interop::outcome;
use interop::ros2::Ros2Graph;
use runnel::core::Message;
use runnel::core::schema::{Generation, Kind, Library, TypeName};
use runnel::core::wire::{Encoding, cdr};
use runnel_core::yaml::to_json_in;
use runnel_testkit::messages::distinct_message;
use runnel_testkit::process::Peer;
use serde_json::Value as Json;

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

/// Starts an rclpy program in this role, with these types and values.
pub fn peer(graph: &Ros2Graph, distro: Distro, program: &str, role: &str, samples: &[Json]) -> Peer {
    let file = graph.home().join("samples");
    fs::write(&file, samples.iter().map(|sample| format!("{sample}\n")).collect::<String>()).expect("a file");
    graph.rclpy(distro, &format!("{program}.py"), program, &[role, &file.display().to_string()])
}

/// Checks that an rclpy client prints the names of all types.
pub fn assert_all_pass(client: Peer, names: &[&str]) {
    let printed = outcome(client).success();
    // rclpy of Kilted reports that it has found type support on the second attempt.
    let passed: Vec<&str> = printed.iter().map(String::as_str).filter(|line| names.contains(line)).collect();
    assert_eq!(passed, names, "{printed:?}");
}
