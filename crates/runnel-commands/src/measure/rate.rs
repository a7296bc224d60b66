//! Rate of a topic: messages per second, and the intervals between them.

use std::sync::{Arc, Mutex};

use runnel::{Context, RawMessage};
use runnel_io::clock;
use serde_json::json;

use super::statistics::{Intervals, Summary};
use super::{Measured, PERIOD, warn_of_losses};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::{Output, table};
use crate::streaming::{Ending, lock};

type Shared = Arc<Mutex<Intervals>>;

/// For each topic the intervals and the number of messages, if any came since the last report.
type Summaries<'a> = [(&'a str, Option<(Summary, usize)>)];

/// Measures topics, and reports once a second until Ctrl-C.
pub fn measure(
    cli: &CliContext,
    context: &Context,
    topics: Vec<String>,
    of: Measured,
    report: fn(Output, &Summaries<'_>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let node = cli.node(context, "hz")?;
    let ending = Ending::of(context);
    let (mut subscriptions, mut measured) = (Vec::new(), Vec::new());
    for topic in topics {
        let intervals: Shared = Arc::new(Mutex::new(Intervals::new(of.window)));
        let count = Arc::clone(&intervals);
        let arrived = move |_: &RawMessage<'_>| lock(&count).arrived(clock::monotonic());
        subscriptions.push(node.create_raw_subscription(&topic, None, of.options(), arrived)?);
        of.note_subscribed(cli.output, &topic)?;
        measured.push((topic, intervals));
    }
    let (output, end) = (cli.output, ending.clone());
    let _timer = node.create_timer(PERIOD, move || {
        let summaries =
            measured.iter().map(|(topic, intervals)| (topic.as_str(), lock(intervals).take_summary()));
        end.check(report(output, &summaries.collect::<Vec<_>>()));
    });
    let ended = ending.wait();
    warn_of_losses(&subscriptions);
    ended
}

/// Prints a paragraph for one topic, and a table for several.
pub fn report(output: Output, measured: &Summaries<'_>) -> Result<(), CliError> {
    let summaries: Vec<_> =
        measured.iter().filter_map(|(topic, summary)| Some((*topic, (*summary)?))).collect();
    if output.json {
        return summaries
            .iter()
            .try_for_each(|(topic, (summary, window))| output.json(&to_json(topic, summary, *window)));
    }
    match summaries.as_slice() {
        [] => output.line("no new messages"),
        [(_, (summary, window))] if measured.len() == 1 => output.paragraph(&text(summary, *window)),
        several => output.paragraph(&table(&COLUMNS, &rows(several))),
    }
}

const COLUMNS: [&str; 6] = ["topic", "rate", "min", "max", "std dev", "window"];

/// Messages a second.
pub fn per_second(summary: &Summary) -> f64 {
    if summary.mean > 0.0 { 1.0 / summary.mean } else { 0.0 }
}

fn text(summary: &Summary, window: usize) -> String {
    let Summary { min, max, std_dev, .. } = summary;
    let rate = per_second(summary);
    format!(
        "average rate: {rate:.3}\n\tmin: {min:.3}s max: {max:.3}s std dev: {std_dev:.5}s window: {window}"
    )
}

fn rows(measured: &[(&str, (Summary, usize))]) -> Vec<Vec<String>> {
    let row = |(topic, (summary, window)): &(&str, (Summary, usize))| {
        let Summary { min, max, std_dev, .. } = summary;
        let rate = format!("{:.3}", per_second(summary));
        let times = [format!("{min:.3}s"), format!("{max:.3}s"), format!("{std_dev:.5}s")];
        [(*topic).to_owned(), rate].into_iter().chain(times).chain([window.to_string()]).collect()
    };
    measured.iter().map(row).collect()
}

fn to_json(topic: &str, summary: &Summary, window: usize) -> serde_json::Value {
    let Summary { min, max, std_dev, .. } = summary;
    json!({ "topic": topic, "rate": per_second(summary), "min": min, "max": max, "std_dev": std_dev, "window": window })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Summary = Summary { mean: 0.1, min: 0.09996, max: 0.2, std_dev: 0.000_014 };

    #[test]
    fn text_reads_as_in_rostopic() {
        let expected = "average rate: 10.000\n\tmin: 0.100s max: 0.200s std dev: 0.00001s window: 10";
        assert_eq!(text(&TENTH, 10), expected);
    }

    #[test]
    fn simultaneous_messages_have_no_rate() {
        assert_eq!(per_second(&Summary { mean: 0.0, ..TENTH }), 0.0);
    }

    #[test]
    fn several_topics_make_a_table() {
        let text = table(&COLUMNS, &rows(&[("/a", (TENTH, 10)), ("/long_one", (TENTH, 2))]));
        let expected = "topic        rate     min     max   std dev  window\n\
                        /a         10.000  0.100s  0.200s  0.00001s      10\n\
                        /long_one  10.000  0.100s  0.200s  0.00001s       2\n";
        assert_eq!(text, expected);
    }
}
