//! Python programs that read and write bags of ROS 2.

use std::process::Command;

use runnel_testkit::process::Peer;

use crate::distros::environment;
use crate::graph::start;
use crate::sources;

/// Starts `peers/bags/SCRIPT`.
///
/// # Panics
/// If its packages are not installed.
pub fn bag_tool(script: &str, arguments: &[&str]) -> Peer {
    let mut command = Command::new(environment("bags"));
    command.arg("-B").arg(sources().join("bags").join(script)).args(arguments);
    start(script, command)
}
