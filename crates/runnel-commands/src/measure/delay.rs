//! Delay of a topic: the age of messages when they arrive, by the stamps in their headers.

use std::sync::{Arc, Mutex};

use runnel::core::dynamic::{DynamicError, DynamicMessage, ValueRef};
use runnel::core::schema::Schema;
use runnel::{Context, RawMessage, Time};
use runnel_io::clock;
use serde_json::json;

use super::statistics::{Delays, Summary};
use super::{Measured, PERIOD, warn_of_losses};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::Output;
use crate::received_types::ReceivedTypes;
use crate::streaming::{Ending, lock};

/// Measures a topic, and reports once a second until Ctrl-C.
pub fn measure(
    cli: &CliContext,
    context: &Context,
    topic: String,
    of: Measured,
    mut report: impl FnMut(Output, &str, Option<(Summary, usize)>) -> Result<(), CliError> + Send + 'static,
) -> Result<(), CliError> {
    let node = cli.node(context, "delay")?;
    let ending = Ending::of(context);
    let delays = Arc::new(Mutex::new(Delays::new(of.window)));
    let (count, end) = (Arc::clone(&delays), ending.clone());
    let mut types = ReceivedTypes::new(cli.types_loader()).learning(context, &node);
    let take = move |message: &RawMessage<'_>| match stamp(message, &mut types) {
        Ok(Some(stamp)) => lock(&count).arrived((clock::realtime() - stamp).as_secs_f64()),
        Ok(None) => {}
        Err(error) => end.check(Err(error)),
    };
    let subscription = node.create_raw_subscription(&topic, None, of.options(), take)?;
    of.note_subscribed(cli.output, &topic)?;
    let (output, end) = (cli.output, ending.clone());
    let _timer = node.create_timer(PERIOD, move || {
        let summary = lock(&delays).take_summary();
        end.check(report(output, &topic, summary));
    });
    let ended = ending.wait();
    warn_of_losses([&subscription]);
    ended
}

/// The stamp of a message. Messages without one are skipped with a warning.
fn stamp(message: &RawMessage<'_>, types: &mut ReceivedTypes) -> Result<Option<Time>, CliError> {
    let schema = types.of(message)?;
    let Some(header) = header_field(&schema) else {
        let name = &schema.def.name;
        return Err(CliError::Failed(format!(
            "{name} does not begin with a header, so its delay is unknown"
        )));
    };
    let stamp = stamp_in(message.decode(&schema), header);
    let stamp = stamp.inspect_err(|why| log::warn!("message of publisher {}: {why}", message.publisher()));
    Ok(stamp.ok())
}

fn stamp_in(message: Result<DynamicMessage, DynamicError>, header: &str) -> Result<Time, String> {
    match message.map_err(|error| error.to_string())?.get(&format!("{header}.stamp")) {
        Ok(ValueRef::Time(stamp)) => Ok(stamp),
        _ => Err("the header has no stamp".into()),
    }
}

fn header_field(schema: &Schema) -> Option<&str> {
    schema.def.fields.first().filter(|_| schema.def.has_header()).map(|field| field.name.as_str())
}

/// Prints the delays, or that no messages came.
pub fn report(output: Output, topic: &str, measured: Option<(Summary, usize)>) -> Result<(), CliError> {
    match measured {
        Some((summary, window)) if output.json => output.json(&to_json(topic, &summary, window)),
        Some((summary, window)) => output.paragraph(&text(&summary, window)),
        None if output.json => Ok(()),
        None => output.line("no new messages"),
    }
}

fn text(summary: &Summary, window: usize) -> String {
    let Summary { mean, min, max, std_dev } = summary;
    format!(
        "average delay: {mean:.3}\n\tmin: {min:.3}s max: {max:.3}s std dev: {std_dev:.5}s window: {window}"
    )
}

fn to_json(topic: &str, summary: &Summary, window: usize) -> serde_json::Value {
    let Summary { mean, min, max, std_dev } = summary;
    json!({ "topic": topic, "delay": mean, "min": min, "max": max, "std_dev": std_dev, "window": window })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Types;

    #[test]
    fn undecodable_message_has_no_stamp() {
        let types = Types::new(&[]).expect("no folder to read");
        let schema = types.message("geometry_msgs/PointStamped").expect("built in");
        let mut message = DynamicMessage::default_of(&schema).expect("a small one");
        message.set("header.stamp", Time { sec: 1, nanosec: 2 }).expect("there is one");
        let bytes = message.to_bytes();
        let stamp_in = |bytes: &[u8]| stamp_in(DynamicMessage::decode(&schema, bytes), "header");
        assert_eq!(stamp_in(&bytes), Ok(Time { sec: 1, nanosec: 2 }));
        let why = stamp_in(&bytes[1..]).expect_err("too short");
        assert!(why.contains("field "), "{why}");
    }

    #[test]
    fn text_reads_as_in_rostopic() {
        let summary = Summary { mean: 0.0012, min: 0.001, max: 0.0015, std_dev: 0.000_11 };
        let expected = "average delay: 0.001\n\tmin: 0.001s max: 0.002s std dev: 0.00011s window: 3";
        assert_eq!(text(&summary, 3), expected);
    }
}
