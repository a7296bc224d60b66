//! Tables of one figure over a varied quantity: a column per size, number of topics or number of subscribers.

use runnel_floor::Touch;

use super::cells::{figures, number, ratio, row};
use crate::commands::bench::plan::{Case, Exchange};
use crate::commands::bench::summary::CaseSummary;
use crate::commands::bench::usage::Cost;

const KIB: usize = 1024;

/// The common properties of the cases of one table.
pub(super) fn in_common(case: Case) -> Case {
    match case.exchange {
        Exchange::Rates | Exchange::Flow | Exchange::FlowPairs | Exchange::Sizes => Case { size: 0, ..case },
        Exchange::Topics | Exchange::Idle => Case { topics: None, ..case },
        Exchange::Subscribers => Case { subscribers: None, ..case },
        _ => case,
    }
}

/// Heading of a case's column; empty if nothing is varied.
pub(super) fn column(case: Case) -> String {
    match case.exchange {
        Exchange::Rates | Exchange::Flow | Exchange::FlowPairs | Exchange::Sizes => size(case.size),
        Exchange::Topics | Exchange::Idle => case.topics.unwrap_or_default().to_string(),
        Exchange::Subscribers => case.subscribers.unwrap_or_default().to_string(),
        _ => String::new(),
    }
}

fn size(bytes: usize) -> String {
    if bytes >= KIB && bytes.is_multiple_of(KIB) {
        format!("{} K", bytes / KIB)
    } else {
        format!("{bytes} B")
    }
}

/// Title of a table, and its unit in nanoseconds.
pub(super) fn title(case: Case) -> (String, f64) {
    let (what, unit) = match case.exchange {
        Exchange::Rates => ("B  one-way", 1e6),
        Exchange::Flow => ("D  round trip, 1 pair", 1e6),
        Exchange::FlowPairs => ("D  round trip", 1e6),
        Exchange::Sizes => ("sizes  one-way", 1e3),
        Exchange::Topics => ("scale  round trip by so many topics", 1e3),
        _ => ("scale  to the last of so many subscribers", 1e3),
    };
    let rate = case.rate.map(|rate| format!("{rate}/s"));
    let pairs = case.pairs.map(|pairs| if pairs == 1 { "1 pair".into() } else { format!("{pairs} pairs") });
    let payload = case.payload.map(|payload| match payload {
        Touch::None => "handed over",
        Touch::Write => "written",
        Touch::Read => "written and read",
    });
    let more = [payload.map(str::to_owned), rate, pairs].into_iter().flatten();
    let unit_name = if unit == 1e6 { "milliseconds" } else { "microseconds" };
    let place = [case.placement.name().to_owned(), unit_name.to_owned()];
    let parts: Vec<String> = [what.to_owned()].into_iter().chain(more).chain(place).collect();
    (parts.join(", "), unit)
}

/// Title of a table of costs.
pub(super) fn costs_title(case: Case) -> String {
    let sent = match case.rate {
        Some(rate) if rate > 0 => format!("{rate}/s on one"),
        _ => "no message".to_owned(),
    };
    format!("idle  by so many topics, {sent}, {}, CPU in per mille", case.placement.name())
}

/// A block of rows for each figure.
pub(super) fn grid(summaries: &[CaseSummary], unit: f64) -> String {
    let grid = Grid::of(summaries);
    let mut text = grid.block("p50", |summary| figures(summary.delays(), unit)[0].clone());
    text += &grid.block("p99", |summary| figures(summary.delays(), unit)[1].clone());
    text += &grid.block("p50 over floor", |summary| ratio(summary.to_floor));
    if summaries.iter().any(|summary| summary.late_ns.is_some()) {
        text += &grid.block("latest sending", |summary| figures(summary.late_ns, unit)[2].clone());
    }
    text
}

/// The same for costs.
pub(super) fn costs(summaries: &[CaseSummary]) -> String {
    let grid = Grid::of(summaries);
    let of = |end: fn(&CaseSummary) -> Option<Cost>, figure: fn(Cost) -> f64| {
        move |summary: &CaseSummary| number(end(summary).map(figure))
    };
    let mut text = String::new();
    for (role, end) in [
        ("receiver", (|summary| summary.receiver) as fn(&CaseSummary) -> _),
        ("sender", |summary| summary.sender),
    ] {
        text += &grid.block(&format!("{role} CPU"), of(end, |cost| cost.cpu_per_mille));
        text += &grid.block("switches/s", of(end, |cost| cost.switches_per_second));
        text += &grid.block("VmRSS, MB", of(end, |cost| cost.resident_bytes as f64 / 1e6));
    }
    if summaries.iter().any(|summary| summary.to_floor.is_some()) {
        text += &grid.block("CPU over floor", |summary| ratio(summary.to_floor));
    }
    text
}

/// A table with a column per case and a row per contestant.
struct Grid<'a> {
    summaries: &'a [CaseSummary],
    cases: Vec<Case>,
    contestants: Vec<&'static str>,
}

impl<'a> Grid<'a> {
    fn of(summaries: &'a [CaseSummary]) -> Self {
        let (mut cases, mut contestants) = (Vec::new(), Vec::new());
        for summary in summaries {
            if !cases.contains(&summary.case) {
                cases.push(summary.case);
            }
            if !contestants.contains(&summary.contestant) {
                contestants.push(summary.contestant);
            }
        }
        Self { summaries, cases, contestants }
    }

    /// The rows of one figure under its name.
    fn block(&self, name: &str, cell: impl Fn(&CaseSummary) -> String) -> String {
        let heads: Vec<String> = self.cases.iter().map(|case| column(*case)).collect();
        let of = |contestant: &str, case: &Case| {
            let mut all = self.summaries.iter();
            let found = all.find(|summary| summary.contestant == contestant && summary.case == *case);
            found.map_or_else(|| number(None), &cell)
        };
        let line = |contestant: &&str| {
            row(contestant, &self.cases.iter().map(|case| of(contestant, case)).collect::<Vec<_>>())
        };
        row(name, &heads) + &self.contestants.iter().map(line).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::plan::{Amount, Placement};

    #[test]
    fn every_table_fits_into_80_columns() {
        for exchange in [
            Exchange::Rates,
            Exchange::Flow,
            Exchange::FlowPairs,
            Exchange::Sizes,
            Exchange::Topics,
            Exchange::Subscribers,
            Exchange::Idle,
        ] {
            let tasks = exchange.tasks(Amount::FULL, &[]);
            let cases = || tasks.iter().flat_map(|task| task.cases(Placement::TwoCores));
            let first = in_common(cases().last().unwrap());
            let columns: Vec<String> = cases().filter(|case| in_common(*case) == first).map(column).collect();
            assert!(columns.len() <= 8 && columns.iter().all(|column| column.len() < 8), "{columns:?}");
            let title = if exchange == Exchange::Idle { costs_title(first) } else { title(first).0 };
            assert!(title.len() + ", 2 rounds".len() <= 80, "{title}");
        }
    }
}
