//! Actions with missing parts: an action is three services and two topics.

use std::collections::{BTreeMap, BTreeSet};

use runnel::Gid;
use runnel::core::names::DdsTopic;

use super::found::{Ros2Found, names};
use crate::commands::doctor::finding::{Area, Finding};
use crate::graphs::{holder, is_publisher};
use crate::output::listed;

const SERVICES: [&str; 3] = ["send_goal", "cancel_goal", "get_result"];
const TOPICS: [&str; 2] = ["feedback", "status"];

/// The part of a name between that of the action and that of its part.
const MIDDLE: &str = "/_action/";

/// The parts of one action in one participant.
#[derive(Default)]
struct Parts<'g> {
    served: BTreeSet<&'g str>,
    called: BTreeSet<&'g str>,
    published: BTreeSet<&'g str>,
    nodes: BTreeSet<String>,
}

pub fn judge(found: &Ros2Found) -> Vec<Finding> {
    let mut actions: BTreeMap<(&str, Gid), Parts<'_>> = BTreeMap::new();
    let graph = found.latest();
    for end in &graph.endpoints {
        let (name, is_request) = match end.ros_topic() {
            Some(DdsTopic::ServiceRequest(name)) => (name, true),
            Some(DdsTopic::Topic(name)) => (name, false),
            _ => continue,
        };
        let Some((action, part)) = name.rsplit_once(MIDDLE) else { continue };
        let parts = actions.entry((action, end.gid.participant())).or_default();
        match (is_request, is_publisher(end)) {
            (true, true) => drop(parts.called.insert(part)),
            (true, false) => drop(parts.served.insert(part)),
            (false, true) => drop(parts.published.insert(part)),
            // Anyone may read feedback.
            (false, false) => continue,
        }
        parts.nodes.insert(holder(end));
    }
    let is_complete = |gid: Gid| graph.participant(gid).is_some_and(|participant| participant.is_complete);
    let whole = actions.iter().filter(|((_, participant), _)| is_complete(*participant));
    whole.flat_map(|((action, _), parts)| parts.judge(action)).collect()
}

impl Parts<'_> {
    fn judge(&self, action: &str) -> Vec<Finding> {
        let nodes = names(self.nodes.iter().cloned());
        let missing = |all: &[&'static str], there: &BTreeSet<&str>| {
            all.iter().filter(|part| !there.contains(*part)).copied().collect::<Vec<_>>()
        };
        let mut findings = Vec::new();
        let advice = format!("restart {nodes}, and look in its log for an endpoint that it could not create");
        if !self.served.is_empty() || !self.published.is_empty() {
            let lacks = [missing(&SERVICES, &self.served), missing(&TOPICS, &self.published)].concat();
            if !lacks.is_empty() {
                let what =
                    format!("the server {nodes} lacks {}: goals cannot be completed", listed(&lacks, 5));
                findings.push(Finding::error(Area::Service, action, what, &advice));
            }
        }
        let lacks = missing(&SERVICES, &self.called);
        if self.called.contains("send_goal") && !lacks.is_empty() {
            let what = format!("the client {nodes} lacks {}", listed(&lacks, 5));
            findings.push(Finding::warning(Area::Service, action, what, &advice));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;

    const SERVER: [(&str, u8, bool); 5] = [
        ("rq/fib/_action/send_goalRequest", 1, false),
        ("rq/fib/_action/cancel_goalRequest", 1, false),
        ("rq/fib/_action/get_resultRequest", 1, false),
        ("rt/fib/_action/feedback", 1, true),
        ("rt/fib/_action/status", 1, true),
    ];
    const CLIENT: [(&str, u8, bool); 3] = [
        ("rq/fib/_action/send_goalRequest", 2, true),
        ("rq/fib/_action/cancel_goalRequest", 2, true),
        ("rq/fib/_action/get_resultRequest", 2, true),
    ];

    fn texts(ends: &[(&str, u8, bool)]) -> Vec<String> {
        let found = Ros2Found { graph: graph(ends), ..Ros2Found::default() };
        judge(&found).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn whole_action_and_reader_of_feedback_are_sound() {
        assert!(texts(&SERVER).is_empty() && texts(&CLIENT).is_empty());
        assert!(texts(&[("rt/fib/_action/feedback", 3, false)]).is_empty());
    }

    #[test]
    fn each_missing_part_is_named() {
        let parts = [&SERVICES[..], &TOPICS].concat();
        for (missing, part) in parts.iter().enumerate() {
            let ends: Vec<_> = (0..5).filter(|at| *at != missing).map(|at| SERVER[at]).collect();
            let expected = format!("the server /node1 lacks {part}: goals cannot be completed");
            assert_eq!(texts(&ends), [expected]);
        }
        assert_eq!(texts(&CLIENT[..2]), ["the client /node2 lacks get_result"]);
    }
}
