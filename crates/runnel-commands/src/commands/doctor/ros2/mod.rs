//! Findings in the ROS 2 graph, and between the graphs of both generations.

mod actions;
mod bridges;
pub mod definitions;
pub mod found;
mod mixed;
mod participants;
mod services;
mod topics;

use found::Ros2Found;
pub use topics::differing_hashes;

use super::finding::Finding;
use super::found::GraphFound;

pub fn judge(found: &Ros2Found, ros1: Option<&GraphFound>) -> Vec<Finding> {
    let mut findings = topics::judge(found);
    findings.extend(services::judge(found));
    findings.extend(actions::judge(found));
    findings.extend(participants::judge(found));
    if let Some(ros1) = ros1 {
        findings.extend(mixed::judge(found, ros1));
        findings.extend(bridges::judge(found, ros1));
    }
    findings
}

/// Whether a second look may clear a finding.
pub fn has_suspects(found: &Ros2Found) -> bool {
    services::has_suspects(&found.graph) || participants::has_suspects(found)
}
