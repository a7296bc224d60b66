//! The original ROS 1 programs as peers for Runnel's tests: their master, and the talkers and listeners of `peers/`
//! in rospy, roscpp and a third, independent implementation in JavaScript, together with the same programs made with
//! Runnel. [`ros2`] has the original ROS 2 programs and programs on other DDS implementations.
//!
//! Everything here panics if a peer is missing or fails, with the peer's output: a test that silently runs without
//! its peer proves nothing.

mod bag_tools;
pub mod capture;
mod checks;
mod commands;
pub mod containers;
mod dds;
pub mod distros;
pub mod doctor;
pub mod fakes;
mod graph;
mod master_queries;
mod masters;
pub mod messages;
pub mod mouse;
mod peer_builds;
mod programs;
pub mod projects;
pub mod ros2;
pub mod ros2_checks;
pub mod ros2_hosts;
pub mod ros2_options;
pub mod ros2_runs;
mod roscpp;
pub mod sheet;
pub mod sockets;
pub mod spinning;

pub use bag_tools::{bag_tool, javascript_bag_tool};
pub use checks::{
    Outcome, body, check_all_pairs, check_all_received, check_received_after_restarts, next_messages,
    outcome, ready, rosparam_set, wait_until,
};
pub use commands::Printed;
pub use graph::{Origin, Ros1Graph};
pub use master_queries::Side;
pub use masters::{Master, Server};
pub use programs::{built, folder};

use std::path::PathBuf;

runnel::include_interfaces!();

/// Time limit of a peer, in seconds; on an idle machine it needs a fraction of a second.
pub const TIMEOUT: u64 = 60;

/// Whether all cases are tested, as in `./test --full`. Otherwise tests of many similar cases test one of each kind.
pub fn is_full() -> bool {
    std::env::var_os("RUNNEL_TEST_FULL").is_some()
}

/// The checkout in which this was built, without symbolic links.
///
/// # Panics
/// If it no longer exists.
pub fn checkout() -> PathBuf {
    let checkout = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    checkout.canonicalize().expect("the checkout that this was built in")
}

/// The sources of the peers.
fn sources() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/peers"))
}

/// The folder of built and installed peers; `./test` installs the JavaScript library there.
pub fn installed() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers"))
}
