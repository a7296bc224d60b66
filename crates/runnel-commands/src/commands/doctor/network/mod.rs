//! Findings in the ROS 2 network: domains, discovery range, multicast, and receive buffers.

mod buffers;
mod clocks;
mod domains;
pub mod found;
mod multicast;
mod range;

use super::finding::Finding;
use super::ros2::found::Ros2Found;
use found::NetworkFound;

pub fn judge(network: &NetworkFound, ros2: Option<&Ros2Found>) -> Vec<Finding> {
    let mut findings = range::judge(network, ros2);
    findings.extend(domains::judge(network, ros2));
    findings.extend(multicast::judge(network, ros2));
    findings.extend(buffers::judge(network, ros2));
    findings.extend(ros2.into_iter().flat_map(clocks::judge));
    findings
}
