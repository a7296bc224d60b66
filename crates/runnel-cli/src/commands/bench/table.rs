//! The results as tables for a terminal of 80 columns.

use std::fmt::Write;

use super::contestants::FLOOR;
use super::first::FirstMessage;
use super::footprint::Footprint;
use super::plan::{Case, Exchange, INT};
use super::results::Report;
use super::statistics::Summary;
use super::summary::CaseSummary;

/// Width of the columns behind the name, and of the name.
const COLUMN: usize = 8;
const NAME: usize = 16;

/// What stands where there is no figure.
const NOTHING: &str = "-";

/// All results.
pub fn report(report: &Report) -> String {
    let summaries = report.summaries();
    let mut text = String::new();
    let mut rest = summaries.as_slice();
    while let Some(first) = rest.first() {
        let of_case = rest.iter().take_while(|summary| summary.case == first.case).count();
        let (these, others) = rest.split_at(of_case);
        text += &case_table(first.case, these);
        rest = others;
    }
    text += &footprints(&report.footprints);
    text += &first_messages(&report.first_messages);
    text += &notes(report);
    text
}

fn case_table(case: Case, summaries: &[CaseSummary]) -> String {
    let placement = case.placement.name();
    let rounds = summaries.iter().map(|summary| summary.rounds).max().unwrap_or_default();
    let (title, table) = match case.scenario {
        Exchange::PingPong => {
            (format!("C  ping-pong, {} B, {placement}, microseconds", case.size), ping_pong(summaries))
        }
        Exchange::Queue => {
            (format!("A  burst, {} B, {placement}, one-way in milliseconds", case.size), queue(summaries))
        }
        _ => (format!("{}, {placement}, microseconds", call(case)), calls(summaries)),
    };
    let rounds = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
    format!("{title}, {rounds}\n{table}{}\n", marks(summaries))
}

fn ping_pong(summaries: &[CaseSummary]) -> String {
    let mut text = row("round trip", &["p50", "p99", "max", "min", "jitter", "spread", "/floor", "/roscpp"]);
    for summary in summaries {
        let [p50, p99, max, min] = figures(summary.round_trip_ns, 1e3);
        let more = [
            micros(summary.jitter_ns),
            percent(summary.spread_percent),
            ratio(summary.to_floor),
            ratio(summary.to_roscpp),
        ];
        text += &row(summary.contestant, &[[p50, p99, max, min], more].concat());
    }
    text += &row("one-way", &[""; 0]);
    for summary in summaries {
        text += &row(summary.contestant, &figures(summary.one_way_ns, 1e3));
    }
    text
}

/// What a call does.
fn call(case: Case) -> String {
    let value = if case.size == INT { "an int".into() } else { format!("a string of {} B", case.size) };
    match case.scenario {
        Exchange::CallOnce => "service  calls, each on its own connection".into(),
        Exchange::CallPersistent => "service  calls, all on one connection".into(),
        Exchange::SetParam => format!("param  setting {value}"),
        _ => format!("param  getting {value}"),
    }
}

fn calls(summaries: &[CaseSummary]) -> String {
    let mut text = row("", &["p50", "p99", "max", "min", "jitter", "spread", "/roscpp"]);
    for summary in summaries {
        let trips = figures(summary.round_trip_ns, 1e3);
        let more = [micros(summary.jitter_ns), percent(summary.spread_percent), ratio(summary.to_roscpp)];
        text += &row(summary.contestant, &[&trips[..], &more].concat());
    }
    text
}

fn queue(summaries: &[CaseSummary]) -> String {
    let mut text = row("", &["msg/s", "MB/s", "p50", "p99", "max", "spread", "/floor", "/roscpp"]);
    for summary in summaries {
        let [p50, p99, max, _] = figures(summary.one_way_ns, 1e6);
        let rates = [number(summary.messages_per_second), number(summary.megabytes_per_second)];
        let more = [percent(summary.spread_percent), ratio(summary.to_floor), ratio(summary.to_roscpp)];
        text += &row(summary.contestant, &[&rates[..], &[p50, p99, max], &more].concat());
    }
    text
}

/// A line for each contestant that lost or doubled messages or failed.
fn marks(summaries: &[CaseSummary]) -> String {
    let mut text = String::new();
    for summary in summaries {
        let CaseSummary { contestant, lost, doubled, rounds, rounds_counted, .. } = summary;
        let mut why: Vec<String> = summary.failures.clone();
        let what = if summary.case.scenario.is_call() { "calls not answered" } else { "messages lost" };
        why.extend((*lost > 0).then(|| format!("{lost} {what}")));
        why.extend((*doubled > 0).then(|| format!("{doubled} messages doubled")));
        if !why.is_empty() {
            let why = why.join("; ");
            // Writing to a String cannot fail.
            let _ = writeln!(text, "! {contestant}: {rounds_counted} of {rounds} rounds count: {why}");
        }
    }
    text
}

fn footprints(footprints: &[Footprint]) -> String {
    let Some(first) = footprints.first() else { return String::new() };
    let switches = format!("switches in {} s", first.seconds);
    let mut text = format!("footprint  idle programs, MB (of 1000000 B)\n{:<NAME$}", "");
    for name in ["VmRSS", "Pss", "threads", switches.as_str()] {
        let width = if name.len() > COLUMN { 18 } else { COLUMN };
        let _ = write!(text, "{name:>width$}");
    }
    for footprint in footprints {
        let megabytes = |bytes: u64| format!("{:.2}", bytes as f64 / 1e6);
        let (resident, shared) =
            (megabytes(footprint.resident_bytes), megabytes(footprint.proportional_bytes));
        let Footprint { program, threads, context_switches, .. } = footprint;
        let _ = write!(
            text,
            "\n{program:<NAME$}{resident:>COLUMN$}{shared:>COLUMN$}{threads:>COLUMN$}{context_switches:>18}"
        );
    }
    text + "\n\n"
}

fn first_messages(firsts: &[FirstMessage]) -> String {
    if firsts.is_empty() {
        return String::new();
    }
    let mut text = "subscribing until the first latched message, milliseconds\n".to_owned();
    text += &row("", &["p50", "p99", "max", "min"]);
    for first in firsts {
        text += &row(first.contestant, &figures(Some(first.wait_ns), 1e6));
    }
    text + "\n"
}

fn notes(report: &Report) -> String {
    let mut text = String::new();
    for note in &report.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let mut messages = report.runs.iter().filter(|run| !run.case.scenario.is_call()).peekable();
    if messages.peek().is_some() && messages.all(|run| run.contestant != FLOOR) {
        text += "note: without the floor there is nothing to compare with\n";
    }
    if report.quick {
        text += "note: --quick shows whether it works, not how fast\n";
    }
    text
}

fn row(name: &str, cells: &[impl AsRef<str>]) -> String {
    let cells: String = cells.iter().map(|cell| format!("{:>COLUMN$}", cell.as_ref())).collect();
    format!("{}\n", format_args!("{name:<NAME$}{cells}").to_string().trim_end())
}

/// Median, 99th percentile, greatest and least, in so many nanoseconds.
fn figures(summary: Option<Summary>, unit: f64) -> [String; 4] {
    let of = |figure: fn(Summary) -> u64| number(summary.map(|summary| figure(summary) as f64 / unit));
    [
        of(|summary| summary.p50),
        of(|summary| summary.p99),
        of(|summary| summary.max),
        of(|summary| summary.min),
    ]
}

fn micros(nanos: Option<f64>) -> String {
    number(nanos.map(|nanos| nanos / 1e3))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| NOTHING.into(), |share| format!("{share:.0}%"))
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| NOTHING.into(), |ratio| format!("{ratio:.2}"))
}

/// A figure in at most seven characters, with as many decimals as tell something.
fn number(figure: Option<f64>) -> String {
    match figure {
        None => NOTHING.into(),
        Some(figure) if figure < 100.0 => format!("{figure:.2}"),
        Some(figure) if figure < 10_000.0 => format!("{figure:.1}"),
        Some(figure) if figure < 1e7 => format!("{figure:.0}"),
        Some(figure) => format!("{figure:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::results::tests::full;

    #[test]
    fn the_tables_hold_ratios_losses_and_notes_within_80_columns() {
        let text = report(&full());
        let wide: Vec<_> =
            text.lines().filter(|line| line.chars().count() > 80 && !line.starts_with("note")).collect();
        assert!(wide.is_empty(), "{wide:?}");
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
        assert_eq!(
            line("runnel-tcpros"),
            "runnel-tcpros       6.00    9.00    9.00    5.60    1.70      0%    1.43    0.19"
        );
        assert_eq!(line("! roscpp"), "! roscpp: 0 of 2 rounds count: late; 2 messages lost");
        assert_eq!(line("runnel-static"), "runnel-static       1.60    1.50       1                 0");
        assert!(text.contains("note: A without real-time priority 99: not permitted\n"), "{text}");
    }

    #[test]
    fn a_burst_shows_rates() {
        let text = report(&full());
        let burst = text.split("A  burst, 60000 B").nth(1).unwrap();
        let line = burst.lines().find(|line| line.starts_with("floor-tcp")).unwrap();
        assert_eq!(line, "floor-tcp          500.0   30.00    2.50    2.60    2.60      0%    1.00       -");
    }

    #[test]
    fn calls_are_compared_with_roscpp_and_failed_ones_told() {
        let text = report(&full());
        let (_, calls) = text.split_once("service  calls, each on its own connection, one-core, ").unwrap();
        let lines: Vec<&str> = calls.lines().skip(2).take(3).collect();
        assert_eq!(lines[0], "roscpp             80.00   90.00   90.00   80.00   10.00      0%    1.00");
        assert_eq!(lines[1], "roscpp-at-runnel   60.00   72.00   72.00   60.00   12.00      0%    0.75");
        assert_eq!(lines[2], "! roscpp: 1 of 1 rounds count: 1 calls not answered");
    }

    #[test]
    fn the_floor_is_missed_only_where_messages_are_exchanged() {
        let missed = "note: without the floor there is nothing to compare with\n";
        let mut some = full();
        assert!(!report(&some).contains(missed));
        some.runs.retain(|run| run.contestant != FLOOR);
        assert!(report(&some).contains(missed));
        some.runs.retain(|run| run.case.scenario.is_call());
        assert!(!some.runs.is_empty() && !report(&some).contains(missed));
    }

    #[test]
    fn numbers_keep_to_their_column() {
        for figure in [0.0, 0.004, 99.99, 100.0, 9999.94, 12_345.6, 9_999_999.4, 1e12] {
            let text = number(Some(figure));
            assert!(text.len() < COLUMN, "{text}");
        }
        assert_eq!(number(None), "-");
    }
}
