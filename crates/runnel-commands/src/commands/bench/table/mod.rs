//! The results as tables in 80 columns.

mod cells;
mod grid;

use std::fmt::Write;

use self::cells::{COLUMN, NAME, figures, micros, number, percent, ratio, row, shortened};
use super::contestants::{BRIDGED, BRIDGED_IPC, floor_of};
use super::first::FirstMessage;
use super::footprint::Footprint;
use super::plan::{Case, Exchange, INT};
use super::published;
use super::results::{Report, Run};
use super::statistics::Summary;
use super::summary::CaseSummary;
use crate::output::counted;

/// All results.
pub fn report(report: &Report) -> String {
    let summaries = report.summaries();
    let mut text = String::new();
    let mut rest = summaries.as_slice();
    while let Some(first) = rest.first() {
        let in_common = grid::in_common(first.case);
        let of_table = rest.iter().take_while(|summary| grid::in_common(summary.case) == in_common).count();
        let (these, others) = rest.split_at(of_table);
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
    let (title, unit, table) = match case.exchange {
        Exchange::PingPong => {
            let title = format!("C  ping-pong, {} B, {placement}, microseconds", case.size);
            (title, 1e3, ping_pong(summaries))
        }
        Exchange::Reliable | Exchange::BestEffort => {
            let what = case.exchange.name();
            let title = format!("{what}  ping-pong, {} B, {placement}, microseconds", case.size);
            (title, 1e3, ping_pong(summaries))
        }
        Exchange::Ipc => {
            let title = format!("ipc  ping-pong, {} B, {placement}, microseconds", case.size);
            (title, 1e3, ping_pong(summaries))
        }
        Exchange::Bridge => {
            let title = format!("bridge  ping-pong, {} B, {placement}, microseconds", case.size);
            (title, 1e3, ping_pong(summaries) + &added_by_bridge(summaries))
        }
        Exchange::Queue => {
            let title = format!("A  burst, {} B, {placement}, one-way in milliseconds", case.size);
            (title, 1e6, queue(summaries))
        }
        Exchange::Hello => {
            (format!("hello  a text, {placement}, one-way in microseconds"), 1e3, one_way(summaries))
        }
        Exchange::Chain => {
            let title = format!("chain  first to third node, {placement}, microseconds");
            (title, 1e3, one_way(summaries))
        }
        Exchange::Ros2Call => (ros2_calls_title(placement), 1e3, ros2_calls(summaries)),
        _ if case.exchange.counts_faults() => (faults(case), 1e6, with_faults(summaries)),
        Exchange::Idle => (grid::costs_title(case), 1e3, grid::costs(summaries)),
        _ if case.exchange.is_call() => {
            (format!("{}, {placement}, microseconds", call(case)), 1e3, calls(summaries))
        }
        _ => {
            let (title, unit) = grid::title(case);
            (title, unit, grid::grid(summaries, unit))
        }
    };
    format!(
        "{title}, {}\n{table}{}{}\n",
        counted(rounds, "round"),
        averages(summaries, unit),
        marks(summaries)
    )
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

/// What the bridge adds to a message: half of what a round trip takes longer with it than without, where those without are
/// the mean of both graphs.
fn added_by_bridge(summaries: &[CaseSummary]) -> String {
    let mut text = row("added, one-way", &["p50", "p99"]);
    for [bridged, ros1, ros2] in [BRIDGED, BRIDGED_IPC] {
        let trips = |name: &str| summaries.iter().find(|summary| summary.contestant == name)?.round_trip_ns;
        let (Some(bridged_trips), Some(ros1), Some(ros2)) = (trips(bridged), trips(ros1), trips(ros2)) else {
            continue;
        };
        let added = |figure: fn(&Summary) -> u64| {
            let [bridged, ros1, ros2] = [&bridged_trips, &ros1, &ros2].map(|trips| figure(trips) as f64);
            micros(Some((bridged - (ros1 + ros2) / 2.0) / 2.0))
        };
        text += &row(bridged, &[added(|trips| trips.p50), added(|trips| trips.p99)]);
    }
    text
}

/// Title: the fault of the network, and the messages.
fn faults(case: Case) -> String {
    let done = match (case.exchange, case.loss) {
        (Exchange::Blackout, _) => "blackout  the network was away".to_owned(),
        (_, Some(percent)) => format!("loss  {percent}% of the datagrams each way"),
        (_, None) => "large  best effort".to_owned(),
    };
    format!("{done}, {} B, {}, milliseconds", case.size, case.placement.name())
}

/// Counts and delays of messages, all turns together.
fn with_faults(summaries: &[CaseSummary]) -> String {
    let heads = ["missing", "doubled", "order", "p50", "p99", "max", "late", "healed"];
    let mut text = row("", &heads);
    for summary in summaries {
        let counts = [summary.lost, summary.doubled, summary.out_of_order].map(|count| count.to_string());
        let [p50, p99, max, _] = figures(summary.one_way_ns, 1e6);
        let [_, _, late, _] = figures(summary.late_ns, 1e6);
        let [_, _, healed, _] = figures(summary.healed_ns, 1e6);
        text += &row(summary.contestant, &[&counts[..], &[p50, p99, max, late, healed]].concat());
    }
    text
}

/// One-way delays of messages that have a rate, with the greatest lateness.
fn one_way(summaries: &[CaseSummary]) -> String {
    let mut text = row("", &["p50", "p99", "max", "min", "late", "spread", "/floor", "/roscpp"]);
    for summary in summaries {
        let [_, _, late, _] = figures(summary.late_ns, 1e3);
        let more = [late, percent(summary.spread_percent), ratio(summary.to_floor), ratio(summary.to_roscpp)];
        text += &row(summary.contestant, &[figures(summary.one_way_ns, 1e3), more].concat());
    }
    text
}

/// Averages, next to the published ones of the same exchange.
fn averages(summaries: &[CaseSummary], unit: f64) -> String {
    let published = |summary: &&CaseSummary| published::of_case(summary.case).next().is_some();
    let ours: Vec<&CaseSummary> = summaries.iter().filter(published).collect();
    let Some(first) = ours.first() else { return String::new() };
    let line = |name: &str, ours: &str, theirs: &str| {
        let line = format!("{:<NAME$}{ours:>COLUMN$}{theirs:>12}", shortened(name));
        line.trim_end().to_owned() + "\n"
    };
    let column = grid::column(first.case);
    let mut text = line(&format!("average {column}"), "here", "published");
    for summary in &ours {
        text += &line(summary.contestant, &number(summary.delays().map(|delays| delays.mean / unit)), "");
    }
    for published in published::of_case(first.case) {
        text += &line(published.system, "", &number(Some(published.mean_ns / unit)));
    }
    text
}

/// What a call does.
fn call(case: Case) -> String {
    let value = if case.size == INT { "an int".into() } else { format!("a string of {} B", case.size) };
    match case.exchange {
        Exchange::CallOnce => "service  calls, each on its own connection".into(),
        Exchange::CallPersistent => "service  calls, all on one connection".into(),
        Exchange::SetParam => format!("param  setting {value}"),
        _ => format!("param  getting {value}"),
    }
}

fn ros2_calls_title(placement: &str) -> String {
    format!("service-ros2  calls, {placement}, microseconds")
}

fn ros2_calls(summaries: &[CaseSummary]) -> String {
    let mut text = row("", &["p50", "p99", "max", "min", "jitter", "spread", "/floor"]);
    for summary in summaries {
        let trips = figures(summary.round_trip_ns, 1e3);
        let more = [micros(summary.jitter_ns), percent(summary.spread_percent), ratio(summary.to_floor)];
        text += &row(summary.contestant, &[&trips[..], &more].concat());
    }
    text
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

/// A line per contestant that lost or duplicated messages or failed, with the columns in which it did.
fn marks(summaries: &[CaseSummary]) -> String {
    let mut marks: Vec<(&str, String, Vec<String>)> = Vec::new();
    for summary in summaries {
        let Some(mark) = mark(summary) else { continue };
        let column = grid::column(summary.case);
        match marks
            .iter_mut()
            .find(|(contestant, other, _)| *contestant == summary.contestant && *other == mark)
        {
            Some((_, _, columns)) => columns.push(column),
            None => marks.push((summary.contestant, mark, vec![column])),
        }
    }
    let line = |(contestant, mark, columns): &(&str, String, Vec<String>)| {
        let at = if columns.iter().all(String::is_empty) { String::new() } else { columns.join(", ") + ": " };
        format!("! {contestant}: {at}{mark}\n")
    };
    marks.iter().map(line).collect()
}

fn mark(summary: &CaseSummary) -> Option<String> {
    let CaseSummary { lost, doubled, rounds, rounds_counted, .. } = summary;
    let mut why: Vec<String> = summary.failures.clone();
    let is_call = summary.case.exchange.is_call();
    let (what, how) = if is_call { ("call", "not answered") } else { ("message", "lost") };
    why.extend((*lost > 0).then(|| format!("{} {how}", counted(*lost, what))));
    why.extend((*doubled > 0).then(|| format!("{} doubled", counted(*doubled, "message"))));
    let rounds = counted(*rounds, "round");
    (!why.is_empty()).then(|| format!("{rounds_counted} of {rounds} counted: {}", why.join("; ")))
}

fn footprints(footprints: &[Footprint]) -> String {
    let Some(first) = footprints.first() else { return String::new() };
    let switches = format!("switches in {} s", first.seconds);
    let mut text = format!("footprint  idle programs, MB (of 1000000 B)\n{:<NAME$}", "");
    for name in ["file", "VmRSS", "Pss", "threads", switches.as_str()] {
        let width = if name.len() > COLUMN { 18 } else { COLUMN };
        let _ = write!(text, "{name:>width$}");
    }
    for footprint in footprints {
        let megabytes = |bytes: u64| format!("{:.2}", bytes as f64 / 1e6);
        let [file, resident, shared] =
            [footprint.file_bytes, footprint.resident_bytes, footprint.proportional_bytes].map(megabytes);
        let Footprint { program, threads, context_switches, .. } = footprint;
        let _ = write!(
            text,
            "\n{program:<NAME$}{file:>COLUMN$}{resident:>COLUMN$}{shared:>COLUMN$}{threads:>COLUMN$}{context_switches:>18}"
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
    let compared = |run: &&Run| !run.case.exchange.is_call() && !run.case.exchange.counts_faults();
    let messages = || report.runs.iter().filter(compared);
    let is_floor = |run: &Run| run.contestant == floor_of(run.case.exchange);
    if messages().next().is_some() && !messages().any(is_floor) {
        text += "note: without the floor there is nothing to compare with\n";
    }
    if report.quick {
        text += "note: --quick shows whether it works, not how fast\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::contestants::FLOOR;
    use crate::commands::bench::results::tests::full;

    #[test]
    fn tables_show_results_within_80_columns() {
        let text = report(&full());
        let wide: Vec<_> =
            text.lines().filter(|line| line.chars().count() > 80 && !line.starts_with("note")).collect();
        assert!(wide.is_empty(), "{wide:?}");
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
        assert_eq!(
            line("runnel-tcpros"),
            "runnel-tcpros       6.00    9.00    9.00    5.60    1.70      0%    1.43    0.19"
        );
        assert_eq!(line("! roscpp"), "! roscpp: 0 of 2 rounds counted: late; 2 messages lost");
        assert_eq!(
            line("runnel-static"),
            "runnel-static       2.30    1.60    1.50       1                 0"
        );
        assert!(text.contains("note: A without real-time priority 99: not permitted\n"), "{text}");
    }

    #[test]
    fn burst_table_shows_rates() {
        let text = report(&full());
        let burst = text.split("A  burst, 60000 B").nth(1).unwrap();
        let line = burst.lines().find(|line| line.starts_with("floor-tcp")).unwrap();
        assert_eq!(line, "floor-tcp          500.0   30.00    2.50    2.60    2.60      0%    1.00       -");
    }

    #[test]
    fn call_table_shows_ratios_and_failed_calls() {
        let text = report(&full());
        let (_, calls) = text.split_once("service  calls, each on its own connection, one-core, ").unwrap();
        let lines: Vec<&str> = calls.lines().skip(2).take(3).collect();
        assert_eq!(lines[0], "roscpp             80.00   90.00   90.00   80.00   10.00      0%    1.00");
        assert_eq!(lines[1], "roscpp-at-runnel   60.00   72.00   72.00   60.00   12.00      0%    0.75");
        assert_eq!(lines[2], "! roscpp: 1 of 1 round counted: 1 call not answered");
    }

    #[test]
    fn idle_costs_have_a_column_per_topic_count() {
        let text = report(&full());
        let title = "idle  by so many topics, 100/s on one, one-core, CPU in per mille, 1 round\n";
        let (_, costs) = text.split_once(title).unwrap();
        let lines: Vec<&str> = costs.lines().take_while(|line| !line.is_empty()).collect();
        assert_eq!(
            lines,
            [
                "receiver CPU           1    1000",
                "floor-tcp           2.00    2.00",
                "roscpp              3.00    9.00",
                "switches/s             1    1000",
                "floor-tcp          200.0   200.0",
                "roscpp             200.0   200.0",
                "VmRSS, MB              1    1000",
                "floor-tcp          12.00   12.00",
                "roscpp             12.00   12.00",
                "sender CPU             1    1000",
                "floor-tcp           1.50    1.50",
                "roscpp              1.50    1.50",
                "switches/s             1    1000",
                "floor-tcp          200.0   200.0",
                "roscpp             200.0   200.0",
                "VmRSS, MB              1    1000",
                "floor-tcp          12.00   12.00",
                "roscpp             12.00   12.00",
                "CPU over floor         1    1000",
                "floor-tcp           1.00    1.00",
                "roscpp              1.50    4.50",
            ]
        );
    }

    #[test]
    fn missing_floor_is_noted_for_message_exchanges() {
        let missed = "note: without the floor there is nothing to compare with\n";
        let mut some = full();
        assert!(!report(&some).contains(missed));
        some.runs.retain(|run| run.contestant != FLOOR);
        assert!(report(&some).contains(missed));
        some.runs.retain(|run| run.case.exchange.is_call());
        assert!(!some.runs.is_empty() && !report(&some).contains(missed));
    }

    #[test]
    fn varied_sizes_have_columns_and_published_averages() {
        let text = report(&full());
        let (_, rates) = text.split_once("B  one-way, 1000/s, two-cores, milliseconds, 1 round\n").unwrap();
        let lines: Vec<&str> = rates.lines().take_while(|line| !line.is_empty()).collect();
        assert_eq!(
            lines,
            [
                "p50                128 B  1536 K",
                "floor-tcp           0.05    1.50",
                "roscpp                 -    3.00",
                "p99                128 B  1536 K",
                "floor-tcp           0.06    1.70",
                "roscpp                 -    3.20",
                "p50 over floor     128 B  1536 K",
                "floor-tcp           1.00    1.00",
                "roscpp                 -    2.00",
                "latest sending     128 B  1536 K",
                "floor-tcp           0.01    0.01",
                "roscpp                 -    0.01",
                "average 1536 K      here   published",
                "floor-tcp           1.60",
                "roscpp              3.10",
                "ROS 2                         1881.0",
                "Cyber RT                        1.81",
                "Isaac                           1.19",
                "! roscpp: 128 B: 0 of 1 round counted: 1 message lost",
            ]
        );
    }
}
