//! `rostopic hz`, `bw` and `delay`

use runnel::Context;

use super::Failure;
use super::subject::Subject;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::measure::original_table::table;
use crate::measure::statistics::{Summary, WIDEST};
use crate::measure::{Measured, bandwidth, delay, rate};
use crate::output::{Output, shown};

/// Show how many messages per second arrive
#[derive(Debug, clap::Args)]
pub struct HzArgs {
    /// One or more topics
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,

    /// Average over this many messages; -1 for all, at most 50000
    #[arg(short, long, default_value_t = -1, allow_negative_numbers = true)]
    window: i64,

    /// Measure by the wall clock; always so here
    #[arg(long)]
    wall_time: bool,

    /// Request TCP_NODELAY from publishers; no effect here
    #[arg(long)]
    tcpnodelay: bool,
}

/// Show how many bytes per second arrive
#[derive(Debug, clap::Args)]
pub struct BwArgs {
    /// The topic
    topic: String,

    /// Average over this many messages
    #[arg(short, long, default_value_t = 100, allow_negative_numbers = true)]
    window: i64,
}

/// Show the age of messages when they arrive, by the stamps in their headers
#[derive(Debug, clap::Args)]
pub struct DelayArgs {
    /// The topic; its messages must begin with a header
    topic: String,

    /// Average over this many messages; -1 for all, at most 50000
    #[arg(short, long, default_value_t = -1, allow_negative_numbers = true)]
    window: i64,

    /// Request TCP_NODELAY from publishers; no effect here
    #[arg(long)]
    tcpnodelay: bool,
}

pub fn hz(args: &HzArgs, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.running_context()?;
    Graph::new(&context).check_master()?;
    let mut topics = Vec::new();
    for typed in &args.topics {
        let Some(topic) = published(cli, &context, typed)? else { return Ok(()) };
        topics.push(topic);
    }
    let report = if topics.len() == 1 { rate::report } else { report_several };
    Ok(rate::measure(cli, &context, topics, all(args.window), report)?)
}

pub fn bw(args: &BwArgs, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.running_context()?;
    match published(cli, &context, &args.topic)? {
        Some(topic) => Ok(bandwidth::measure(cli, &context, topic, all(args.window), bandwidth::report)?),
        None => Ok(()),
    }
}

pub fn delay(args: &DelayArgs, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.running_context()?;
    let Some(topic) = published(cli, &context, &args.topic)? else { return Ok(()) };
    let mut any = false;
    let report = move |output: Output, topic: &str, summaries: Option<(Summary, usize)>| {
        // Unlike hz, it prints nothing before the first message.
        any |= summaries.is_some();
        if any { delay::report(output, topic, summaries) } else { Ok(()) }
    };
    Ok(delay::measure(cli, &context, topic, all(args.window), report)?)
}

/// The topic, once the master knows its type.
fn published(cli: &CliContext, context: &Context, typed: &str) -> Result<Option<String>, CliError> {
    let subject = Subject::wait_for(cli, &cli.types()?, context, typed)?;
    Ok(subject.map(|subject| subject.topic))
}

/// A measurement of all messages over a window.
fn all(window: i64) -> Measured {
    Measured::all(usize::try_from(window).unwrap_or(WIDEST))
}

/// Prints a row for each topic with new messages.
fn report_several(output: Output, summaries: &[(&str, Option<(Summary, usize)>)]) -> Result<(), CliError> {
    let rows: Vec<[String; 6]> =
        summaries.iter().filter_map(|(topic, summaries)| Some(row(topic, summaries.as_ref()?))).collect();
    output.paragraph(&if rows.is_empty() { "no new messages".into() } else { table(&rows) })
}

fn row(topic: &str, (summary, window): &(Summary, usize)) -> [String; 6] {
    let Summary { min, max, std_dev, .. } = summary;
    let figures = [rate::per_second(summary), *min, *max, *std_dev].map(four_digits);
    let [rate, min, max, std_dev] = figures;
    [shown(topic).into_owned(), rate, min, max, std_dev, window.to_string()]
}

/// Four significant digits without trailing zeros, as Python's format `.4`.
fn four_digits(number: f64) -> String {
    let scientific = format!("{number:.3e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..3).contains(&exponent) {
        let text = trimmed(&format!("{number:.*}", (3 - exponent) as usize));
        return if text.contains('.') { text } else { text + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_as_in_python() {
        for (number, text) in [
            (10.0, "10.0"),
            (9.9999, "10.0"),
            (999.95, "1e+03"),
            (999.4, "999.4"),
            (1000.0, "1e+03"),
            (123_456.0, "1.235e+05"),
            (12.345_678, "12.35"),
            (0.1, "0.1"),
            (0.000_123_45, "0.0001234"),
            (0.000_012, "1.2e-05"),
            (0.0, "0.0"),
        ] {
            assert_eq!(four_digits(number), text);
        }
    }

    #[test]
    fn several_topics_make_a_table() {
        let summary = Summary { mean: 0.1, min: 0.1, max: 0.2, std_dev: 0.01 };
        let rows = [row("/a", &(summary, 10)), row("/long_one", &(summary, 2))];
        let expected = "  topic     rate   min_delta   max_delta   std_dev   window\n\
                        ===========================================================\n\
                        /a          10.0   0.1         0.2         0.01      10    \n\
                        /long_one   10.0   0.1         0.2         0.01      2     \n";
        assert_eq!(table(&rows), expected);
    }

    #[test]
    fn missing_window_is_the_largest() {
        assert_eq!([-1, 7].map(|window| all(window).window), [WIDEST, 7]);
    }
}
