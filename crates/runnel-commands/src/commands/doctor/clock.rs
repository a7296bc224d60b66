//! What may be wrong with time: simulated time that nobody tells, and hosts whose clocks differ.

use super::finding::{Area, Finding};
use super::found::{ClockFound, GraphFound, Heard, Stamp};
use super::gather::CLOCK;
use crate::output::listed;

/// How far a stamp may lie from this host's clock, in seconds.
const TOLERANCE: f64 = 1.0;

/// How many nodes are named in a finding.
const NAMED: usize = 3;

pub fn judge(graph: &GraphFound) -> Vec<Finding> {
    let clock = &graph.clock;
    let simulated = clock.simulated == Some(true);
    let mut findings: Vec<Finding> = untold(clock, simulated).into_iter().collect();
    if clock.publishers.len() > 1 {
        let what = format!("published by {}: time jumps between them", listed(&clock.publishers, NAMED));
        findings.push(Finding::warning(Area::Clock, CLOCK, what, "leave one of them running"));
    }
    findings.extend(clock.heard.iter().filter_map(backwards));
    if !simulated {
        findings.extend(graph.stamps.iter().filter_map(far_off));
    }
    findings
}

fn untold(clock: &ClockFound, simulated: bool) -> Option<Finding> {
    let publishers = listed(&clock.publishers, NAMED);
    match (simulated, clock.publishers.is_empty()) {
        (true, true) => {
            let what = "true, but nobody publishes /clock: time stands still, and timers and sleeps with it";
            let advice =
                "start the simulator or 'rosbag play --clock', or: runnel param set /use_sim_time false";
            Some(Finding::error(Area::Clock, "/use_sim_time", what, advice))
        }
        (false, false) => {
            let what = format!("published by {publishers}, but /use_sim_time is not true: nobody follows it");
            let advice = "runnel param set /use_sim_time true, then restart the nodes";
            Some(Finding::warning(Area::Clock, CLOCK, what, advice))
        }
        (true, false) if clock.heard.iter().all(|heard| heard.times.is_empty()) => {
            let what = format!("{publishers} told no time within a second: time stands still");
            Some(Finding::warning(Area::Clock, CLOCK, what, "is the simulator or the bag paused?"))
        }
        _ => None,
    }
}

fn backwards(heard: &Heard) -> Option<Finding> {
    let back = heard.times.windows(2).find(|pair| matches!(pair, [one, other] if other < one))?;
    let [from, to] = back else { return None };
    let what = format!("{} ran back from {from} to {to}", heard.node);
    let advice = "a bag that loops, or a simulator that was reset: nodes that keep state must be told";
    Some(Finding::warning(Area::Clock, CLOCK, what, advice))
}

fn far_off(stamp: &Stamp) -> Option<Finding> {
    let Stamp { topic, node, seconds } = stamp;
    if seconds.abs() <= TOLERANCE {
        return None;
    }
    let (far, side) = (seconds.abs(), if *seconds > 0.0 { "ahead of" } else { "behind" });
    let what = format!("stamps of {node} are {far:.1} s {side} this host's clock");
    let advice =
        "set the clocks of both hosts (chrony), unless the node replays a bag, or its messages are that old";
    Some(Finding::warning(Area::Clock, topic, what, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;
    use runnel::Time;

    fn clock(simulated: Option<bool>, times: &[&[i32]]) -> GraphFound {
        let time = |sec: &i32| Time { sec: *sec, nanosec: 0 };
        let heard = |(index, times): (usize, &&[i32])| Heard {
            node: format!("/sim_{index}"),
            times: times.iter().map(time).collect(),
        };
        let heard: Vec<Heard> = times.iter().enumerate().map(heard).collect();
        let publishers = heard.iter().map(|heard| heard.node.clone()).collect();
        GraphFound { clock: ClockFound { simulated, publishers, heard }, ..GraphFound::default() }
    }

    fn told(graph: &GraphFound) -> Vec<(Severity, String)> {
        judge(graph)
            .into_iter()
            .map(|found| (found.severity, format!("{}: {}", found.who, found.what)))
            .collect()
    }

    #[test]
    fn time_that_is_not_simulated_or_that_is_told_is_in_order() {
        for sound in [clock(None, &[]), clock(Some(false), &[]), clock(Some(true), &[&[1, 2, 2, 3]])] {
            assert_eq!(told(&sound), []);
        }
    }

    #[test]
    fn time_that_is_not_as_it_should_is_told() {
        let cases = [
            (clock(Some(true), &[]), Severity::Error, "/use_sim_time: true, but nobody"),
            (clock(Some(false), &[&[1, 2]]), Severity::Warning, "/clock: published by /sim_0, but"),
            (clock(None, &[&[1, 2]]), Severity::Warning, "/clock: published by /sim_0, but"),
            (clock(Some(true), &[&[]]), Severity::Warning, "/clock: /sim_0 told no time"),
            (clock(Some(true), &[&[5, 6, 2]]), Severity::Warning, "/clock: /sim_0 ran back from 6"),
            (clock(Some(true), &[&[1], &[1]]), Severity::Warning, "/clock: published by /sim_0 and /sim_1"),
        ];
        for (graph, severity, text) in cases {
            let told = told(&graph);
            assert!(
                matches!(&told[..], [(found, what)] if *found == severity && what.starts_with(text)),
                "{told:?}"
            );
        }
    }

    #[test]
    fn stamps_far_from_our_clock_are_told_unless_time_is_simulated() {
        let mut graph = clock(None, &[]);
        let stamp = |seconds| Stamp { topic: "/t".into(), node: "/a".into(), seconds };
        graph.stamps = vec![stamp(0.9), stamp(-0.9), stamp(-12.0), stamp(3.0)];
        let told_of = told(&graph);
        let [(Severity::Warning, behind), (_, ahead)] = &told_of[..] else { panic!("{told_of:?}") };
        assert!(behind.contains("12.0 s behind") && ahead.contains("3.0 s ahead of"), "{told_of:?}");
        graph.clock = clock(Some(true), &[&[1]]).clock;
        assert_eq!(told(&graph), []);
    }
}
