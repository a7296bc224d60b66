//! `ros2 topic hz`, `bw` and `delay`

use runnel::Context;

use super::{DiscoveryArgs, Failure, interrupted, unpublished};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::GraphSnapshot;
use crate::measure::original_table::table;
use crate::measure::statistics::{Flow, Summary, WIDEST};
use crate::measure::{Measured, bandwidth, delay, rate};
use crate::output::{Output, shown};

/// Show how many messages per second arrive
#[derive(Debug, clap::Args)]
pub struct HzArgs {
    /// One or more topics
    #[arg(required = true, value_name = "TOPIC", add = completion::topics())]
    topics: Vec<String>,

    /// Average over this many messages
    #[arg(short, long, default_value_t = 10_000, value_parser = window)]
    window: usize,

    /// Measure by the wall clock; always so here
    #[arg(long)]
    wall_time: bool,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// Show how many bytes per second arrive
#[derive(Debug, clap::Args)]
pub struct BwArgs {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    /// Average over this many messages
    #[arg(short, long, default_value_t = 100, value_parser = window)]
    window: usize,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// Show the age of messages when they arrive, by the stamps in their headers
#[derive(Debug, clap::Args)]
pub struct DelayArgs {
    /// The topic; its messages must begin with a header
    #[arg(add = completion::topics())]
    topic: String,

    /// Average over this many messages
    #[arg(short, long, default_value_t = 10_000, value_parser = window)]
    window: usize,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

fn window(text: &str) -> Result<usize, String> {
    let window = text.parse().ok().filter(|window| (1..=WIDEST).contains(window));
    window.ok_or_else(|| format!("a number of messages from 1 to {WIDEST}"))
}

pub fn hz(args: &HzArgs, cli: &CliContext) -> Result<(), Failure> {
    let snapshot = args.discovery.open_running(cli)?;
    let topics = resolved(cli, &snapshot, &args.topics)?;
    let subscribed = if topics.len() == 1 { "" } else { "Subscribed to" };
    let report = if topics.len() == 1 { report_one } else { report_several };
    Ok(rate::measure(cli, snapshot.context(), topics, of(args.window, subscribed), report)?)
}

pub fn bw(args: &BwArgs, cli: &CliContext) -> Result<(), Failure> {
    let snapshot = args.discovery.open_running(cli)?;
    let topic = resolved(cli, &snapshot, std::slice::from_ref(&args.topic))?.concat();
    bandwidth::measure(cli, snapshot.context(), topic, of(args.window, "Subscribed to"), report_flow)?;
    Err(interrupted())
}

pub fn delay(args: &DelayArgs, cli: &CliContext) -> Result<(), Failure> {
    let snapshot = args.discovery.open_running(cli)?;
    let topic = resolved(cli, &snapshot, std::slice::from_ref(&args.topic))?.concat();
    let context: &Context = snapshot.context();
    let mut any = false;
    let report = move |output: Output, topic: &str, summaries: Option<(Summary, usize)>| {
        // It prints nothing before the first message.
        any |= summaries.is_some();
        if any { delay::report(output, topic, summaries) } else { Ok(()) }
    };
    delay::measure(cli, context, topic, of(args.window, ""), report)?;
    Err(interrupted())
}

/// The topics' names, with a line for each that no endpoint has yet.
fn resolved(cli: &CliContext, snapshot: &GraphSnapshot, typed: &[String]) -> Result<Vec<String>, CliError> {
    let known = snapshot.topics()?;
    let names = typed.iter().map(|name| cli.resolve(name)).collect::<Result<Vec<_>, CliError>>()?;
    for name in names.iter().filter(|name| !known.0.contains_key(*name)) {
        cli.output.line(&unpublished(name, &known))?;
    }
    Ok(names)
}

fn of(window: usize, subscribed: &'static str) -> Measured {
    Measured { subscribed, ..Measured::all(window) }
}

/// Unlike rostopic, it prints nothing without new messages.
fn report_one(output: Output, summaries: &[(&str, Option<(Summary, usize)>)]) -> Result<(), CliError> {
    if summaries.iter().any(|(_, summaries)| summaries.is_some()) {
        rate::report(output, summaries)
    } else {
        Ok(())
    }
}

fn report_several(output: Output, summaries: &[(&str, Option<(Summary, usize)>)]) -> Result<(), CliError> {
    let rows: Vec<[String; 6]> =
        summaries.iter().filter_map(|(topic, summaries)| Some(row(topic, summaries.as_ref()?))).collect();
    if rows.is_empty() { Ok(()) } else { output.paragraph(&table(&rows)) }
}

fn row(topic: &str, (summary, window): &(Summary, usize)) -> [String; 6] {
    let Summary { min, max, std_dev, .. } = summary;
    let [rate, min, max] = [rate::per_second(summary), *min, *max].map(|number| format!("{number:.3}"));
    [shown(topic).into_owned(), rate, min, max, format!("{std_dev:.5}"), window.to_string()]
}

fn report_flow(output: Output, _: &str, flow: &Flow) -> Result<(), CliError> {
    output.paragraph(&flow_text(flow))
}

/// All numbers in one unit, that of the flow.
fn flow_text(flow: &Flow) -> String {
    let (unit, digits, name) = match flow.bytes_per_second {
        ..1e3 => (1.0, 0, "B"),
        ..1e6 => (1e3, 2, "KB"),
        _ => (1e6, 2, "MB"),
    };
    let figure = |bytes: f64| format!("{:.digits$} {name}", bytes / unit);
    let Summary { mean, min, max, .. } = flow.size;
    let [bytes, mean, min, max] = [flow.bytes_per_second, mean, min, max].map(figure);
    format!("{bytes}/s from {} messages\n\tMessage size mean: {mean} min: {min} max: {max}", flow.window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flow_reads_as_in_ros2() {
        let size = Summary { mean: 102.0, min: 100.0, max: 104.0, std_dev: 0.0 };
        let text = |bytes_per_second: f64| flow_text(&Flow { bytes_per_second, size, window: 10 });
        assert_eq!(text(206.4), "206 B/s from 10 messages\n\tMessage size mean: 102 B min: 100 B max: 104 B");
        let expected = "1.02 KB/s from 10 messages\n\tMessage size mean: 0.10 KB min: 0.10 KB max: 0.10 KB";
        assert_eq!(text(1020.0), expected);
    }

    #[test]
    fn several_topics_make_a_table() {
        let summary = Summary { mean: 0.1, min: 0.1, max: 0.2, std_dev: 0.01 };
        let cells = row("/a", &(summary, 10));
        assert_eq!(cells, ["/a", "10.000", "0.100", "0.200", "0.01000", "10"].map(str::to_owned));
    }
}
