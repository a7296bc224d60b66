//! Findings in the ROS 2 graph, and between the graphs of both generations; and a report of the ROS 2 graph.

mod actions;
mod bridges;
pub mod definitions;
pub mod found;
mod mixed;
mod participants;
pub mod report;
mod services;
mod topics;

use found::Ros2Found;
pub use topics::differing_hashes;

use super::finding::Finding;
use super::found::GraphFound;

/// Number of findings of one kind that are listed: anyone can announce thousands of participants.
const MOST: usize = 50;

pub fn judge(found: &Ros2Found) -> Vec<Finding> {
    let kinds =
        [topics::judge(found), services::judge(found), actions::judge(found), participants::judge(found)];
    kinds.into_iter().flat_map(limited).collect()
}

/// Findings between the graphs.
pub fn judge_both(found: &Ros2Found, ros1: &GraphFound) -> Vec<Finding> {
    [mixed::judge(found, ros1), bridges::judge(found, ros1)].into_iter().flat_map(limited).collect()
}

/// The most severe findings, and the number of others.
fn limited(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort();
    let more = findings.len().saturating_sub(MOST);
    findings.truncate(MOST);
    if let Some(last) = findings.last().filter(|_| more > 0) {
        let what = format!("{more} more findings of this kind");
        findings.push(Finding::new(last.severity, last.area, "ROS 2", what, "correct the first ones"));
    }
    findings
}

/// Whether a second look may clear a finding.
pub fn has_suspects(found: &Ros2Found) -> bool {
    services::has_suspects(&found.graph) || participants::has_suspects(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Area;

    #[test]
    fn number_of_findings_is_limited() {
        let finding = |number: usize| Finding::warning(Area::Node, number.to_string(), "", "");
        assert_eq!(limited((0..50).map(finding).collect()).len(), 50);
        let many = limited((0..1000).map(finding).collect());
        assert_eq!((many.len(), many[50].what.as_str()), (51, "950 more findings of this kind"));
    }
}
