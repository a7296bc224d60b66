//! Faults of time: simulated time without a publisher, and hosts whose clocks differ.

use super::finding::{Area, Finding};
use super::found::{ClockFound, GraphFound, Stamp, TimeSource};
use super::gather::CLOCK;
use crate::output::listed;

/// How far a stamp may differ from this host's clock, in seconds.
const TOLERANCE: f64 = 1.0;

/// Number of nodes named in a finding.
const NAMED: usize = 3;

pub fn judge(graph: &GraphFound) -> Vec<Finding> {
    let clock = &graph.clock;
    let simulated = clock.simulated == Some(true);
    let mut findings: Vec<Finding> = clock_source(clock, simulated).into_iter().collect();
    if clock.publishers.len() > 1 {
        let what = format!("published by {}: time jumps between them", listed(&clock.publishers, NAMED));
        findings.push(Finding::warning(Area::Clock, CLOCK, what, "leave one of them running"));
    }
    findings.extend(clock.sources.iter().filter_map(backwards));
    if !simulated {
        findings.extend(graph.stamps.iter().filter_map(far_off));
    }
    findings
}

fn clock_source(clock: &ClockFound, simulated: bool) -> Option<Finding> {
    let publishers = listed(&clock.publishers, NAMED);
    match (simulated, clock.publishers.is_empty()) {
        (true, true) => {
            let what = "true, but no node publishes /clock: time stands still, and so do timers and sleeps";
            let advice =
                "start the simulator or 'rosbag play --clock', or: runnel param set /use_sim_time false";
            Some(Finding::error(Area::Clock, "/use_sim_time", what, advice))
        }
        (false, false) => {
            let what = format!("published by {publishers}, but /use_sim_time is not true: no node uses it");
            let advice = "runnel param set /use_sim_time true, then restart the nodes";
            Some(Finding::warning(Area::Clock, CLOCK, what, advice))
        }
        (true, false) if clock.sources.iter().all(|sources| sources.times.is_empty()) => {
            let what = format!("no message from {publishers} within a second: time stands still");
            Some(Finding::warning(Area::Clock, CLOCK, what, "is the simulator or the bag paused?"))
        }
        _ => None,
    }
}

fn backwards(sources: &TimeSource) -> Option<Finding> {
    let back = sources.times.windows(2).find(|pair| matches!(pair, [one, other] if other < one))?;
    let [from, to] = back else { return None };
    let what = format!("{} ran back from {from} to {to}", sources.node);
    let advice = "a looping bag, or a simulator reset: reset nodes that keep state";
    Some(Finding::warning(Area::Clock, CLOCK, what, advice))
}

fn far_off(stamp: &Stamp) -> Option<Finding> {
    let Stamp { topic, node, seconds } = stamp;
    if seconds.abs() <= TOLERANCE {
        return None;
    }
    let (far, side) = (seconds.abs(), if *seconds > 0.0 { "ahead of" } else { "behind" });
    let what = format!("stamps of {node} are {far:.1} s {side} this host's clock");
    let advice = "set the clocks of both hosts (chrony), unless the node replays a bag or sends old messages";
    Some(Finding::warning(Area::Clock, topic, what, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;
    use runnel::Time;

    fn clock(simulated: Option<bool>, times: &[&[i32]]) -> GraphFound {
        let time = |sec: &i32| Time { sec: *sec, nanosec: 0 };
        let sources = |(index, times): (usize, &&[i32])| TimeSource {
            node: format!("/sim_{index}"),
            times: times.iter().map(time).collect(),
        };
        let sources: Vec<TimeSource> = times.iter().enumerate().map(sources).collect();
        let publishers = sources.iter().map(|sources| sources.node.clone()).collect();
        GraphFound { clock: ClockFound { simulated, publishers, sources }, ..GraphFound::default() }
    }

    fn reported(graph: &GraphFound) -> Vec<(Severity, String)> {
        judge(graph)
            .into_iter()
            .map(|found| (found.severity, format!("{}: {}", found.subject, found.what)))
            .collect()
    }

    #[test]
    fn published_or_unsimulated_time_is_sound() {
        for sound in [clock(None, &[]), clock(Some(false), &[]), clock(Some(true), &[&[1, 2, 2, 3]])] {
            assert_eq!(reported(&sound), []);
        }
    }

    #[test]
    fn faults_of_time_are_reported() {
        let cases = [
            (clock(Some(true), &[]), Severity::Error, "/use_sim_time: true, but no node"),
            (clock(Some(false), &[&[1, 2]]), Severity::Warning, "/clock: published by /sim_0, but"),
            (clock(None, &[&[1, 2]]), Severity::Warning, "/clock: published by /sim_0, but"),
            (clock(Some(true), &[&[]]), Severity::Warning, "/clock: no message from /sim_0"),
            (clock(Some(true), &[&[5, 6, 2]]), Severity::Warning, "/clock: /sim_0 ran back from 6"),
            (clock(Some(true), &[&[1], &[1]]), Severity::Warning, "/clock: published by /sim_0 and /sim_1"),
        ];
        for (graph, severity, text) in cases {
            let reported = reported(&graph);
            assert!(
                matches!(&reported[..], [(found, what)] if *found == severity && what.starts_with(text)),
                "{reported:?}"
            );
        }
    }

    #[test]
    fn distant_stamps_are_reported_unless_time_is_simulated() {
        let mut graph = clock(None, &[]);
        let stamp = |seconds| Stamp { topic: "/t".into(), node: "/a".into(), seconds };
        graph.stamps = vec![stamp(0.9), stamp(-0.9), stamp(-12.0), stamp(3.0)];
        let found_all = reported(&graph);
        let [(Severity::Warning, behind), (_, ahead)] = &found_all[..] else { panic!("{found_all:?}") };
        assert!(behind.contains("12.0 s behind") && ahead.contains("3.0 s ahead of"), "{found_all:?}");
        graph.clock = clock(Some(true), &[&[1]]).clock;
        assert_eq!(reported(&graph), []);
    }
}
