//! Programs in Python and JavaScript that read and write bags.

use std::process::Command;

use runnel_testkit::process::Peer;

use crate::distros::environment;
use crate::graph::start;
use crate::{installed, sources};

/// Starts `peers/bags/SCRIPT`.
///
/// # Panics
/// If its packages are not installed.
pub fn bag_tool(script: &str, arguments: &[&str]) -> Peer {
    let mut command = Command::new(environment("bags"));
    command.arg("-B").arg(sources().join("bags").join(script)).args(arguments);
    start(script, command)
}

/// Starts `peers/bag_readers/SCRIPT` with Node.js.
///
/// # Panics
/// If its packages are not installed.
pub fn javascript_bag_tool(script: &str, arguments: &[&str]) -> Peer {
    let library = installed().join("bag_readers/node_modules");
    assert!(library.join("@mcap/core").is_dir(), "{} lacks @mcap/core: run ./test", library.display());
    let mut command = Command::new("node");
    command.arg(sources().join("bag_readers").join(script)).args(arguments).env("NODE_PATH", library);
    start(script, command)
}
