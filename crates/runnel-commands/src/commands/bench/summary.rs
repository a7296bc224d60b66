//! The turns of each contestant in each case, summed up and compared.

use serde::Serialize;

use super::contestants::{ROSCPP, floor_of};
use super::outcome::{Costs, Outcome};
use super::plan::{Case, Figure};
use super::results::Run;
use super::statistics::{Summary, jitter, median, spread};
use super::usage::Cost;

/// All turns of one contestant in one case. Turns in which messages, other than calls, were lost or duplicated only
/// add to those counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseSummary {
    /// What was exchanged.
    pub case: Case,
    /// Its name.
    pub contestant: &'static str,
    /// Turns.
    pub rounds: usize,
    /// Turns whose figures count.
    pub rounds_counted: usize,
    /// Messages lost in all turns.
    pub lost: u64,
    /// Messages doubled in all turns.
    pub doubled: u64,
    /// Messages that came after later ones in all turns.
    pub out_of_order: u64,
    /// Why turns failed, each reason once.
    pub failures: Vec<String>,
    /// All messages of all turns that count.
    pub one_way_ns: Option<Summary>,
    /// As above, round trips.
    pub round_trip_ns: Option<Summary>,
    /// How late messages were sent, where they have a rate.
    pub late_ns: Option<Summary>,
    /// From the network's return to the first message, after a blackout.
    pub healed_ns: Option<Summary>,
    /// The median of the turns.
    pub jitter_ns: Option<f64>,
    /// The median of the turns.
    pub messages_per_second: Option<f64>,
    /// Millions of bytes of payload a second.
    pub megabytes_per_second: Option<f64>,
    /// Cost of the end that receives: medians of the turns.
    pub receiver: Option<Cost>,
    /// Cost of the end that sends.
    pub sender: Option<Cost>,
    /// Spread of the turns' medians or rates, in percent.
    pub spread_percent: Option<f64>,
    /// The figure that contestants are compared by (median round trip or delay, rate, or the receiver's CPU time)
    /// over the floor's.
    pub to_floor: Option<f64>,
    /// The same over roscpp's.
    pub to_roscpp: Option<f64>,
}

impl CaseSummary {
    fn of(case: Case, contestant: &'static str, runs: &[&Run]) -> Self {
        let outcomes = || runs.iter().filter_map(|run| run.result.as_ref().ok());
        let clean: Vec<&Outcome> = runs.iter().filter_map(|run| run.clean()).collect();
        let all = |of: fn(&Outcome) -> &Vec<u64>| {
            Summary::of(clean.iter().flat_map(|outcome| of(outcome)).copied().collect())
        };
        let rates: Vec<f64> = clean.iter().filter_map(|outcome| outcome.messages_per_second()).collect();
        let medians = |of: fn(&Outcome) -> &Vec<u64>| -> Vec<f64> {
            let summaries = clean.iter().filter_map(|outcome| Summary::of(of(outcome).clone()));
            summaries.map(|summary| summary.p50 as f64).collect()
        };
        let costs: Vec<Costs> = clean.iter().filter_map(|outcome| outcome.costs).collect();
        let (rates, spread_percent) = match case.exchange.figure() {
            Figure::Rate => (rates.clone(), spread(&rates)),
            Figure::OneWay => (Vec::new(), spread(&medians(|outcome| &outcome.one_way))),
            Figure::RoundTrip => (Vec::new(), spread(&medians(|outcome| &outcome.round_trip))),
            Figure::Cpu => (Vec::new(), spread(&each(&costs, |costs| costs.receiver.cpu_per_mille))),
        };
        let messages_per_second = median(rates);
        Self {
            case,
            contestant,
            rounds: runs.len(),
            rounds_counted: clean.len(),
            lost: outcomes().map(|outcome| outcome.lost).sum(),
            doubled: outcomes().map(|outcome| outcome.doubled).sum(),
            out_of_order: outcomes().map(|outcome| outcome.out_of_order).sum(),
            failures: failures(runs),
            one_way_ns: all(|outcome| &outcome.one_way),
            round_trip_ns: all(|outcome| &outcome.round_trip),
            late_ns: all(|outcome| &outcome.late),
            healed_ns: Summary::of(clean.iter().filter_map(|outcome| outcome.healed).collect()),
            jitter_ns: median(clean.iter().filter_map(|outcome| jitter(&outcome.round_trip)).collect()),
            messages_per_second,
            megabytes_per_second: messages_per_second.map(|rate| rate * case.size as f64 / 1e6),
            receiver: typical(&costs, |costs| costs.receiver),
            sender: typical(&costs, |costs| costs.sender),
            spread_percent,
            to_floor: None,
            to_roscpp: None,
        }
    }

    /// One-way delays, or round trips where messages come back.
    pub fn delays(&self) -> Option<Summary> {
        match self.case.exchange.figure() {
            Figure::RoundTrip => self.round_trip_ns,
            Figure::OneWay | Figure::Rate | Figure::Cpu => self.one_way_ns,
        }
    }

    /// The figure that contestants are compared by.
    fn figure(&self) -> Option<f64> {
        match self.case.exchange.figure() {
            Figure::Rate => self.messages_per_second,
            Figure::OneWay => self.one_way_ns.map(|delay| delay.p50 as f64),
            Figure::RoundTrip => self.round_trip_ns.map(|trip| trip.p50 as f64),
            Figure::Cpu => self.receiver.map(|cost| cost.cpu_per_mille),
        }
    }
}

/// One figure of each turn's costs.
fn each(costs: &[Costs], figure: impl Fn(&Costs) -> f64) -> Vec<f64> {
    costs.iter().map(figure).collect()
}

/// The median of each figure of one end.
fn typical(costs: &[Costs], end: fn(&Costs) -> Cost) -> Option<Cost> {
    let of = |figure: fn(Cost) -> f64| median(each(costs, |costs| figure(end(costs))));
    Some(Cost {
        cpu_per_mille: of(|cost| cost.cpu_per_mille)?,
        switches_per_second: of(|cost| cost.switches_per_second)?,
        resident_bytes: of(|cost| cost.resident_bytes as f64)? as u64,
    })
}

fn failures(runs: &[&Run]) -> Vec<String> {
    let mut failures: Vec<String> = runs.iter().filter_map(|run| run.result.clone().err()).collect();
    failures.sort_unstable();
    failures.dedup();
    failures
}

/// Sums up turns: by scenario in the order of measurement, then by contestant.
pub fn summaries(runs: &[Run]) -> Vec<CaseSummary> {
    let mut cases: Vec<Case> = Vec::new();
    let mut series: Vec<(Case, &'static str)> = Vec::new();
    for run in runs {
        if !cases.contains(&run.case) {
            cases.push(run.case);
        }
        if !series.contains(&(run.case, run.contestant)) {
            series.push((run.case, run.contestant));
        }
    }
    series.sort_by_key(|(case, _)| cases.iter().position(|other| other == case));
    let of = |&(case, contestant): &(Case, &'static str)| {
        let runs: Vec<&Run> =
            runs.iter().filter(|run| run.case == case && run.contestant == contestant).collect();
        CaseSummary::of(case, contestant, &runs)
    };
    compared(series.iter().map(of).collect())
}

fn compared(mut summaries: Vec<CaseSummary>) -> Vec<CaseSummary> {
    let figures: Vec<_> =
        summaries.iter().map(|summary| (summary.case, summary.contestant, summary.figure())).collect();
    let of = |case: Case, name: &str| {
        figures.iter().find(|(other, contestant, _)| *other == case && *contestant == name)?.2
    };
    for summary in &mut summaries {
        // There is no ratio to zero.
        let to = |name| of(summary.case, name).filter(|other| *other > 0.0);
        let ratio = |name| Some(summary.figure()? / to(name)?);
        let floor = floor_of(summary.case.exchange);
        (summary.to_floor, summary.to_roscpp) = (ratio(floor), ratio(ROSCPP));
    }
    summaries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::plan::{Exchange, Placement};

    fn run(contestant: &'static str, round: u32, trips: &[u64], lost: u64) -> Run {
        let case = Case::of(Exchange::PingPong, 10, Placement::OneCore);
        let sent = trips.len() as u64 + lost;
        let outcome = Outcome { sent, lost, round_trip: trips.to_vec(), ..Outcome::default() };
        Run { case, contestant, round, result: Ok(outcome) }
    }

    #[test]
    fn rounds_are_one_series_with_a_spread() {
        let runs = [run("floor-tcp", 1, &[9, 10, 11], 0), run("floor-tcp", 2, &[10, 11, 12], 0)];
        let summary = summaries(&runs).remove(0);
        let trip = summary.round_trip_ns.unwrap();
        assert_eq!((trip.min, trip.p50, trip.max), (9, 10, 12));
        assert_eq!((summary.rounds, summary.rounds_counted), (2, 2));
        assert_eq!(summary.spread_percent, Some(1.0 / 10.5 * 100.0));
        assert_eq!(summary.jitter_ns, Some(1.0));
    }

    #[test]
    fn round_with_losses_is_not_averaged() {
        let runs = [run("roscpp", 1, &[10], 0), run("roscpp", 2, &[1000], 3)];
        let summary = summaries(&runs).remove(0);
        assert_eq!((summary.lost, summary.rounds, summary.rounds_counted), (3, 2, 1));
        assert_eq!(summary.round_trip_ns.unwrap().max, 10);
    }

    #[test]
    fn unanswered_calls_keep_figures_of_the_others() {
        let mut run = run("roscpp", 1, &[10, 12], 1);
        run.case.exchange = Exchange::CallOnce;
        let summary = summaries(&[run]).remove(0);
        assert_eq!((summary.lost, summary.rounds_counted), (1, 1));
        assert_eq!(summary.round_trip_ns.unwrap().max, 12);
    }

    #[test]
    fn ratios_compare_the_same_case() {
        let mut runs = vec![run("floor-tcp", 1, &[10], 0), run("runnel-tcpros", 1, &[14], 0)];
        runs.push(run("roscpp", 1, &[56], 0));
        let mut other_placement = run("runnel-tcpros", 1, &[14], 0);
        other_placement.case.placement = Placement::TwoCores;
        runs.push(other_placement);
        let ratios: Vec<_> =
            summaries(&runs).iter().map(|summary| (summary.to_floor, summary.to_roscpp)).collect();
        assert_eq!(ratios[0], (Some(1.0), Some(10.0 / 56.0)));
        assert_eq!(ratios[1], (Some(1.4), Some(0.25)));
        assert_eq!(ratios[3], (None, None));
    }

    #[test]
    fn costs_are_compared_by_receiver_cpu_time() {
        let run = |contestant, round, receiving: f64, sending| {
            let cost = |cpu_per_mille, resident_bytes| Cost {
                cpu_per_mille,
                switches_per_second: cpu_per_mille,
                resident_bytes,
            };
            let costs = Costs { receiver: cost(receiving, 100 * u64::from(round)), sender: cost(sending, 7) };
            let case = Case::of(Exchange::Idle, 10, Placement::OneCore);
            let outcome = Outcome { sent: 1, one_way: vec![1], costs: Some(costs), ..Outcome::default() };
            Run { case, contestant, round, result: Ok(outcome) }
        };
        let of = |floor| {
            let runs =
                [run("floor-tcp", 1, floor, 9.0), run("roscpp", 1, 4.0, 1.0), run("roscpp", 2, 8.0, 3.0)];
            summaries(&runs)
        };
        let roscpp = of(2.0).remove(1);
        let (receiver, sender) = (roscpp.receiver.unwrap(), roscpp.sender.unwrap());
        assert_eq!(
            (receiver.cpu_per_mille, receiver.switches_per_second, sender.cpu_per_mille),
            (6.0, 6.0, 2.0)
        );
        assert_eq!((receiver.resident_bytes, sender.resident_bytes), (150, 7));
        assert_eq!((roscpp.to_floor, roscpp.to_roscpp), (Some(3.0), Some(1.0)));
        assert_eq!(of(0.0)[1].to_floor, None, "no ratio to zero");
    }

    #[test]
    fn failing_contestant_has_reasons_and_no_figures() {
        let mut failed = run("roscpp", 1, &[], 0);
        failed.result = Err("too late".into());
        let summary = summaries(&[failed.clone(), failed]).remove(0);
        assert_eq!((summary.failures, summary.rounds_counted), (vec!["too late".to_owned()], 0));
        assert_eq!((summary.round_trip_ns, summary.spread_percent), (None, None));
    }
}
