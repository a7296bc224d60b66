//! The results in the form in which they are saved. `bench/README.md` describes the fields.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::first::FirstMessage;
use super::footprint::Footprint;
use super::machine::Machine;
use super::outcome::{Costs, Outcome};
use super::plan::{Case, Figure};
use super::published::PUBLISHED;
use super::statistics::{Summary, jitter};
use super::summary::{CaseSummary, summaries};

/// Version of this form. It rises with each change that readers must know.
const FORMAT: u32 = 1;

/// One turn of one contestant.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was exchanged.
    pub case: Case,
    /// Its name.
    pub contestant: &'static str,
    /// Number of the round, from 1.
    pub round: u32,
    /// The outcome, or why there is none.
    pub result: Result<Outcome, String>,
}

impl Run {
    /// The outcome, if all messages arrived once. Failed calls are only left out, since they do not change the
    /// figures of the others, as a lost message does for those behind it. Exchanges that count losses always count.
    pub fn clean(&self) -> Option<&Outcome> {
        let exchange = self.case.exchange;
        let whole = |outcome: &&Outcome| outcome.lost == 0 || exchange.is_call() || exchange.counts_faults();
        let once = |outcome: &&Outcome| outcome.doubled == 0 || exchange.counts_faults();
        self.result.as_ref().ok().filter(once).filter(whole)
    }

    fn to_json(&self) -> Json {
        let outcome = self.result.as_ref().ok();
        let samples =
            |of: fn(&Outcome) -> &Vec<u64>| outcome.and_then(|outcome| Summary::of(of(outcome).clone()));
        let count = |of: fn(&Outcome) -> u64| outcome.map(of);
        json!({
            "case": self.case,
            "contestant": self.contestant,
            "round": self.round,
            "failure": self.result.as_ref().err(),
            "sent": count(|outcome| outcome.sent),
            "lost": count(|outcome| outcome.lost),
            "doubled": count(|outcome| outcome.doubled),
            "out_of_order": count(|outcome| outcome.out_of_order),
            "healed_ns": outcome.and_then(|outcome| outcome.healed),
            "one_way_ns": samples(|outcome| &outcome.one_way),
            "round_trip_ns": samples(|outcome| &outcome.round_trip),
            "late_ns": samples(|outcome| &outcome.late),
            "jitter_ns": outcome.and_then(|outcome| jitter(&outcome.round_trip)),
            "span_ns": count(|outcome| outcome.span).filter(|span| *span > 0),
            "messages_per_second": outcome.and_then(Outcome::messages_per_second),
            "receiver": outcome.and_then(|outcome| outcome.costs).map(|costs| costs.receiver),
            "sender": outcome.and_then(|outcome| outcome.costs).map(|costs| costs.sender),
        })
    }
}

/// One line of progress.
impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} round {} {}: ", self.case, self.round, self.contestant)?;
        let outcome = match &self.result {
            Ok(outcome) => outcome,
            Err(why) => return write!(f, "no figures: {why}"),
        };
        let micros = |what: &str, samples: &Vec<u64>| {
            let summary = Summary::of(samples.clone());
            summary.map(|all| format!("{what} {:.2} us", all.p50 as f64 / 1e3))
        };
        let figure = match self.case.exchange.figure() {
            Figure::Rate => outcome.messages_per_second().map(|rate| format!("{rate:.0} messages/s")),
            Figure::OneWay => micros("one-way", &outcome.one_way),
            Figure::RoundTrip if self.case.exchange.is_call() => micros("call", &outcome.round_trip),
            Figure::RoundTrip => micros("round trip", &outcome.round_trip),
            Figure::Cpu => outcome.costs.map(|Costs { receiver, sender }| {
                let (receiver, sender) = (receiver.cpu_per_mille, sender.cpu_per_mille);
                format!("receiver {receiver:.2}, sender {sender:.2} per mille of a CPU")
            }),
        };
        f.write_str(figure.as_deref().unwrap_or("nothing arrived"))?;
        if outcome.lost > 0 { write!(f, ", {} of {} lost", outcome.lost, outcome.sent) } else { Ok(()) }
    }
}

/// All results.
#[derive(Debug)]
pub struct Report {
    /// True for fewer rounds and messages than published.
    pub quick: bool,
    /// The machine.
    pub machine: Machine,
    /// What could not be measured, or only under other conditions.
    pub notes: Vec<String>,
    /// All turns.
    pub runs: Vec<Run>,
    /// Idle programs.
    pub footprints: Vec<Footprint>,
    /// Waits for a first message.
    pub first_messages: Vec<FirstMessage>,
}

impl Report {
    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.footprints.is_empty() && self.first_messages.is_empty()
    }

    /// An empty report about this machine.
    pub fn new(quick: bool) -> Self {
        Self {
            quick,
            machine: Machine::this(),
            notes: Vec::new(),
            runs: Vec::new(),
            footprints: Vec::new(),
            first_messages: Vec::new(),
        }
    }

    /// Adds a turn.
    pub fn add(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// The turns of each contestant, summed up.
    pub fn summaries(&self) -> Vec<CaseSummary> {
        summaries(&self.runs)
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Json {
        json!({
            "format": FORMAT,
            "version": env!("CARGO_PKG_VERSION"),
            "quick": self.quick,
            "machine": self.machine,
            "notes": self.notes,
            "published": PUBLISHED,
            "summaries": self.summaries(),
            "footprints": self.footprints,
            "first_messages": self.first_messages,
            "runs": self.runs.iter().map(Run::to_json).collect::<Vec<_>>(),
        })
    }

    /// Writes the report to a file. Readers never see a half-written file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, format!("{:#}\n", self.to_json()))?;
        fs::rename(&unfinished, path)
    }
}

#[cfg(test)]
pub mod tests {
    use runnel_floor::Touch;

    use super::*;
    use crate::commands::bench::plan::{Exchange, Placement};
    use crate::commands::bench::usage::Cost;

    const README: &str = include_str!("../../../../../bench/README.md");

    /// A report in which every field has a value.
    pub fn full() -> Report {
        let mut report = Report::new(true);
        report.notes.push("A without real-time priority 99: not permitted".into());
        for (placement, contestant, trips) in [
            (Placement::OneCore, "floor-tcp", [4000, 4200, 5000]),
            (Placement::OneCore, "runnel-tcpros", [5600, 6000, 9000]),
            (Placement::OneCore, "roscpp", [30_000, 32_000, 50_000]),
        ] {
            let case = Case::of(Exchange::PingPong, 10, placement);
            let one_way = trips.iter().map(|trip| trip / 2).collect();
            let outcome =
                Outcome { sent: 3, one_way, round_trip: trips.to_vec(), span: 90_000, ..Outcome::default() };
            report.add(Run { case, contestant, round: 1, result: Ok(outcome) });
        }
        for (contestant, lost) in [("floor-tcp", 0), ("runnel-tcpros", 0), ("roscpp", 2)] {
            let case = Case::of(Exchange::Queue, 60_000, Placement::TwoCores);
            let one_way = vec![2_500_000, 2_600_000];
            let outcome = Outcome { sent: 4 + lost, lost, one_way, span: 8_000_000, ..Outcome::default() };
            report.add(Run { case, contestant, round: 1, result: Ok(outcome) });
            report.add(Run { case, contestant, round: 2, result: Err("late".into()) });
        }
        for (contestant, lost, trips) in
            [("roscpp", 1, [80_000, 90_000]), ("roscpp-at-runnel", 0, [60_000, 72_000])]
        {
            let case = Case::of(Exchange::CallOnce, 1, Placement::OneCore);
            let outcome = Outcome { sent: 2 + lost, lost, round_trip: trips.to_vec(), ..Outcome::default() };
            report.add(Run { case, contestant, round: 1, result: Ok(outcome) });
        }
        for (contestant, size, delays, lost) in [
            ("floor-tcp", 128, [50_000, 60_000], 0),
            ("floor-tcp", 1536 << 10, [1_500_000, 1_700_000], 0),
            ("roscpp", 128, [90_000, 95_000], 1),
            ("roscpp", 1536 << 10, [3_000_000, 3_200_000], 0),
        ] {
            let mut case = Case::of(Exchange::Rates, size, Placement::TwoCores);
            case.rate = Some(1000);
            let late = vec![0, 10_000];
            let outcome =
                Outcome { sent: 2 + lost, lost, one_way: delays.to_vec(), late, ..Outcome::default() };
            report.add(Run { case, contestant, round: 1, result: Ok(outcome) });
        }
        let mut all = Case::of(Exchange::Sizes, 10, Placement::OneCore);
        all.payload = Some(Touch::Write);
        (all.pairs, all.topics, all.subscribers) = (Some(2), Some(10), Some(4));
        let outcome = Outcome { sent: 1, one_way: vec![5000], ..Outcome::default() };
        report.add(Run { case: all, contestant: "floor-tcp", round: 1, result: Ok(outcome) });
        for (contestant, topics, cpu_per_mille) in
            [("floor-tcp", 1, 2.0), ("roscpp", 1, 3.0), ("floor-tcp", 1000, 2.0), ("roscpp", 1000, 9.0)]
        {
            let mut case = Case::of(Exchange::Idle, 10, Placement::OneCore);
            (case.topics, case.rate) = (Some(topics), Some(100));
            let receiver = Cost { cpu_per_mille, switches_per_second: 200.0, resident_bytes: 12_000_000 };
            let costs = Some(Costs { receiver, sender: Cost { cpu_per_mille: 1.5, ..receiver } });
            let outcome = Outcome { sent: 1, one_way: vec![5000], costs, ..Outcome::default() };
            report.add(Run { case, contestant, round: 1, result: Ok(outcome) });
        }
        report.footprints.push(Footprint::example());
        report.first_messages.push(FirstMessage::example());
        report
    }

    /// The names of all fields of a value, those within it included.
    fn fields(value: &Json, found: &mut Vec<String>) {
        match value {
            Json::Object(map) => map.iter().for_each(|(name, value)| {
                found.push(name.clone());
                fields(value, found);
            }),
            Json::Array(values) => values.iter().for_each(|value| fields(value, found)),
            _ => {}
        }
    }

    #[test]
    fn readme_describes_every_result_field() {
        let mut found = Vec::new();
        fields(&full().to_json(), &mut found);
        assert!(found.len() > 50);
        let undocumented: Vec<_> =
            found.iter().filter(|name| !README.contains(&format!("`{name}`"))).collect();
        assert!(undocumented.is_empty(), "bench/README.md does not describe {undocumented:?}");
    }

    #[test]
    fn results_are_saved_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.json");
        full().save(&path).unwrap();
        let read: Json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read["format"], FORMAT);
        assert_eq!(read["runs"][0]["case"], json!({ "scenario": "C", "size": 10, "placement": "one-core" }));
        assert_eq!(read["runs"][0]["round_trip_ns"]["p50"], 4200);
        assert_eq!(read["runs"][4]["failure"], "late");
        assert_eq!(read["runs"][4]["sent"], Json::Null);
        assert_eq!((&read["runs"][9]["one_way_ns"], &read["runs"][9]["span_ns"]), (&Json::Null, &Json::Null));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished stays");
    }

    #[test]
    fn progress_shows_figures_losses_and_failures() {
        let lines: Vec<String> = full().runs.iter().map(Run::to_string).collect();
        assert_eq!(lines[1], "C 10 B one-core round 1 runnel-tcpros: round trip 6.00 us");
        assert_eq!(lines[4], "A 60000 B two-cores round 2 floor-tcp: no figures: late");
        assert_eq!(lines[7], "A 60000 B two-cores round 1 roscpp: 500 messages/s, 2 of 6 lost");
        assert_eq!(
            lines[lines.len() - 1],
            "idle 10 B 100/s 1000 topics one-core round 1 roscpp: receiver 9.00, sender 1.50 per mille of a CPU"
        );
        assert_eq!(lines[9], "service-once 1 B one-core round 1 roscpp: call 80.00 us, 1 of 3 lost");
    }
}
