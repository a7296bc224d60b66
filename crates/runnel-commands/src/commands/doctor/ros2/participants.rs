//! Faults of participants and nodes: names that are used twice, distributions that do not understand each other, and
//! participants that do not answer or are about to be forgotten.

use std::collections::BTreeMap;
use std::time::Duration;

use runnel::{Gid, ParticipantInfo};

use super::found::Ros2Found;
use crate::commands::doctor::finding::{Area, Finding, shell_word};
use crate::graphs::is_hidden;
use crate::output::listed;

/// Length of the ids in announcements of nodes before Iron, in bytes.
const PRE_IRON: usize = 24;

/// Runnel announces nodes to each participant in the form that it reads.
const SPEAKS_BOTH: &str = "Runnel";

/// Shorter silence says nothing.
const SHORTEST_SILENCE: Duration = Duration::from_secs(1);

/// Number of nodes named in a finding.
const NAMED: usize = 4;

pub fn judge(found: &Ros2Found) -> Vec<Finding> {
    let mut findings = duplicates(found);
    findings.extend(pre_iron(found));
    findings.extend(found.latest().participants.iter().filter_map(|one| unanswering(one, found)));
    findings.extend(found.latest().participants.iter().filter_map(|one| stale(one, found)));
    findings
}

/// Whether a participant does not answer.
pub fn has_suspects(found: &Ros2Found) -> bool {
    found.graph.participants.iter().any(|participant| !participant.is_complete)
}

fn duplicates(found: &Ros2Found) -> Vec<Finding> {
    let mut holders: BTreeMap<&str, Vec<Gid>> = BTreeMap::new();
    for node in found.graph.nodes.iter().filter(|node| !is_hidden(&node.full_name)) {
        holders.entry(&node.full_name).or_default().push(node.participant);
    }
    let finding = |(name, holders): (&str, Vec<Gid>)| {
        let places =
            holders.iter().filter_map(|gid| found.graph.participant(*gid)).map(|one| found.place(one));
        let what = format!(
            "{} nodes have this name: {}; services and parameters reach any of them",
            holders.len(),
            listed(&places.collect::<Vec<_>>(), NAMED)
        );
        let base = name.rsplit('/').next().unwrap_or(name);
        let advice = format!("start one of them with --ros-args -r __node:={}_2", shell_word(base));
        Finding::warning(Area::Node, name, what, &advice)
    };
    holders.into_iter().filter(|(_, holders)| holders.len() > 1).map(finding).collect()
}

/// Nodes from before Iron together with newer ones.
fn pre_iron(found: &Ros2Found) -> Option<Finding> {
    let with = |is_old: bool| {
        let participants = found.graph.participants.iter().filter(|one| {
            let length = found.details.get(&one.gid).and_then(|details| details.id_length);
            length.is_some_and(|length| (length == PRE_IRON) == is_old)
                && (is_old || one.vendor != SPEAKS_BOTH)
        });
        participants.map(|one| found.nodes_of(one)).collect::<Vec<_>>()
    };
    let (old, new) = (with(true), with(false));
    if old.is_empty() || new.is_empty() {
        return None;
    }
    let what = format!(
        "from before Iron (such as Humble), in one domain with newer nodes ({}): the two announce nodes in different \
         forms, so 'ros2 node list' of the older ones fails and lists are incomplete",
        listed(&new, NAMED)
    );
    let advice = "use one distribution per domain: start one side with another ROS_DOMAIN_ID, or update it";
    Some(Finding::warning(Area::Node, listed(&old, NAMED), what, advice))
}

/// A participant whose announcements arrive, and that does not answer.
fn unanswering(participant: &ParticipantInfo, found: &Ros2Found) -> Option<Finding> {
    let was_silent = |one: &ParticipantInfo| one.gid == participant.gid && !one.answers;
    if participant.answers || !found.graph.participants.iter().any(was_silent) {
        return None;
    }
    let what = "its announcements arrive, but it does not answer: either the datagrams to it or its answers are lost";
    let advice = if participant.is_same_host {
        "its process is stopped or hangs: look at it, or restart it"
    } else {
        "let UDP through in both directions on both hosts, for example: sudo ufw allow in proto udp from the other \
         host's address"
    };
    Some(Finding::warning(Area::Node, found.place(participant), what, advice))
}

/// A participant that answered and of which nothing has been received for most of its lease.
fn stale(participant: &ParticipantInfo, found: &Ros2Found) -> Option<Finding> {
    let (lease, silent_for) = found.lease_of(participant.gid)?;
    if silent_for < SHORTEST_SILENCE || silent_for * 2 < lease {
        return None;
    }
    let what = format!(
        "nothing was received of it for {:.1} s, and after {:.1} s all others forget it",
        silent_for.as_secs_f64(),
        lease.as_secs_f64()
    );
    let advice =
        "its process has ended without saying so, hangs, or its network is gone: look at it, or restart it";
    Some(Finding::warning(Area::Node, found.nodes_of(participant), what, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;
    use runnel::NodeInfo;
    use runnel::diagnostics::ParticipantDetails;

    /// Two nodes on two participants.
    fn found() -> Ros2Found {
        let mut graph = graph(&[("rt/a", 1, true), ("rt/a", 2, false)]);
        let node = |one: &ParticipantInfo| NodeInfo {
            full_name: format!("/node{}", one.gid.0[11]),
            participant: one.gid,
        };
        graph.nodes = graph.participants.iter().map(node).collect();
        let details = |one: &ParticipantInfo| {
            let details = ParticipantDetails {
                gid: one.gid,
                vendor_id: [1, 15],
                lease: Some(Duration::from_secs(20)),
                silent_for: Duration::from_millis(100),
                id_length: Some(16),
                last_reply: None,
            };
            (one.gid, details)
        };
        let details = graph.participants.iter().map(details).collect();
        Ros2Found { graph, details, ..Ros2Found::default() }
    }

    fn only(found: &Ros2Found) -> Finding {
        let mut findings = judge(found);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.remove(0)
    }

    #[test]
    fn sound_participants_have_no_findings() {
        assert_eq!(judge(&found()), []);
    }

    #[test]
    fn name_of_two_nodes_is_reported_unless_hidden() {
        let mut found = found();
        found.graph.nodes[1].full_name = "/node1".into();
        let finding = only(&found);
        assert_eq!(finding.subject, "/node1");
        assert!(finding.what.contains("10.0.0.1:7410 and Fast DDS at 10.0.0.2:7410"), "{}", finding.what);
        assert_eq!(finding.advice, "start one of them with --ros-args -r __node:=node1_2");
        found.graph.nodes.iter_mut().for_each(|node| node.full_name = "/_ros2cli_1".into());
        assert_eq!(judge(&found), []);
    }

    #[test]
    fn pre_iron_nodes_are_reported_with_newer_ones() {
        let mut found = found();
        let one = found.graph.participants[0].gid;
        found.details.get_mut(&one).unwrap().id_length = Some(24);
        let finding = only(&found);
        assert_eq!(finding.subject, "/node1");
        assert!(finding.what.contains("newer nodes (/node2)"), "{}", finding.what);
        found.graph.participants[1].vendor = SPEAKS_BOTH.into();
        assert_eq!(judge(&found), [], "Runnel speaks both");
    }

    #[test]
    fn participant_that_never_answers_is_reported() {
        let mut found = found();
        found.graph.participants[1].answers = false;
        assert_eq!(only(&found).subject, "Fast DDS at 10.0.0.2:7410");
        let mut later = found.graph.clone();
        later.participants[1].answers = true;
        assert_eq!(judge(&Ros2Found { later: Some(later), ..found }), []);
    }

    #[test]
    fn silence_of_half_a_lease_is_reported() {
        let mut found = found();
        let one = found.graph.participants[0].gid;
        found.details.get_mut(&one).unwrap().silent_for = Duration::from_secs(10);
        let finding = only(&found);
        assert_eq!(finding.subject, "/node1");
        assert!(finding.what.contains("for 10.0 s, and after 20.0 s"), "{}", finding.what);
        let details = found.details.get_mut(&one).unwrap();
        (details.silent_for, details.lease) = (Duration::from_millis(900), Some(Duration::from_secs(1)));
        assert_eq!(judge(&found), []);
    }
}
