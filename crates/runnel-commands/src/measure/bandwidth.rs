//! Bandwidth of a topic: bytes per second, and message sizes.

use std::sync::{Arc, Mutex};

use runnel::{Context, RawMessage};
use runnel_io::clock;
use serde_json::json;

use super::statistics::{Bandwidth, Flow};
use super::{Measured, PERIOD, warn_of_losses};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::Output;
use crate::streaming::{Ending, lock};

/// Measures a topic, and reports once a second until Ctrl-C.
pub fn measure(
    cli: &CliContext,
    context: &Context,
    topic: String,
    of: Measured,
    report: fn(Output, &str, &Flow) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let node = cli.node(context, "bw")?;
    let ending = Ending::of(context);
    let bandwidth = Arc::new(Mutex::new(Bandwidth::new(of.window)));
    let count = Arc::clone(&bandwidth);
    let arrived =
        move |message: &RawMessage<'_>| lock(&count).arrived(clock::monotonic(), message.bytes().len());
    let subscription = node.create_raw_subscription(&topic, None, of.options(), arrived)?;
    of.note_subscribed(cli.output, &topic)?;
    let (output, end) = (cli.output, ending.clone());
    let _timer = node.create_timer(PERIOD, move || {
        let flow = lock(&bandwidth).flow(clock::monotonic());
        end.check(flow.map_or(Ok(()), |flow| report(output, &topic, &flow)));
    });
    let ended = ending.wait();
    warn_of_losses([&subscription]);
    ended
}

/// Prints the flow.
pub fn report(output: Output, topic: &str, flow: &Flow) -> Result<(), CliError> {
    if output.json { output.json(&to_json(topic, flow)) } else { output.paragraph(&text(flow)) }
}

/// All numbers in one unit, that of the flow.
fn text(flow: &Flow) -> String {
    let (unit, name) = match flow.bytes_per_second {
        ..1e3 => (1.0, "B"),
        ..1e6 => (1e3, "KB"),
        _ => (1e6, "MB"),
    };
    let figure = |bytes: f64| format!("{:.2}{name}", bytes / unit);
    let per_second = figure(flow.bytes_per_second);
    let [mean, min, max] = [flow.size.mean, flow.size.min, flow.size.max].map(figure);
    format!("average: {per_second}/s\n\tmean: {mean} min: {min} max: {max} window: {}", flow.window)
}

fn to_json(topic: &str, flow: &Flow) -> serde_json::Value {
    let Flow { bytes_per_second, size, window } = flow;
    json!({
        "topic": topic, "bytes_per_second": bytes_per_second,
        "mean": size.mean, "min": size.min, "max": size.max, "window": window
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::statistics::Summary;

    fn flow(bytes_per_second: f64) -> Flow {
        let size = Summary { mean: 102.0, min: 100.0, max: 104.0, std_dev: 0.0 };
        Flow { bytes_per_second, size, window: 10 }
    }

    #[test]
    fn text_reads_as_in_rostopic() {
        let expected = "average: 1.02KB/s\n\tmean: 0.10KB min: 0.10KB max: 0.10KB window: 10";
        assert_eq!(text(&flow(1020.0)), expected);
        let expected = "average: 999.00B/s\n\tmean: 102.00B min: 100.00B max: 104.00B window: 10";
        assert_eq!(text(&flow(999.0)), expected);
        assert!(text(&flow(2.5e6)).starts_with("average: 2.50MB/s\n\tmean: 0.00MB"));
    }
}
