//! `runnel tf echo`

use std::time::Duration;

use runnel::msgs::geometry_msgs::msg::TransformStamped;
use runnel::tf::{LATEST, Quaternion, TransformError};
use serde_json::{Value as Json, json};

use super::frame;
use super::received::{ListenArgs, ReceivedTransforms};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::Output;
use crate::value_parsers;

/// Print where a frame is in another one, by the latest transforms (tf2_echo)
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The frame in which the other one is shown, such as map
    #[arg(value_parser = frame)]
    source: String,

    /// The frame that is shown, such as base_link
    #[arg(value_parser = frame)]
    target: String,

    /// Print this many times a second
    #[arg(default_value_t = 1.0, value_parser = value_parsers::rate)]
    rate: f64,

    /// Stop after this many transforms
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    #[command(flatten)]
    listen: ListenArgs,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let received = ReceivedTransforms::listen(cli, &args.listen, "tf_echo")?;
    let period = Duration::try_from_secs_f64(1.0 / args.rate).unwrap_or(Duration::MAX);
    let mut left = args.count;
    let mut last_error = None;
    while received.context.ok() {
        match received.buffer.wait_for_transform(&args.source, &args.target, LATEST, period) {
            Ok(found) => {
                print(cli.output, &found)?;
                last_error = None;
                left = left.map(|left| left - 1);
                if left == Some(0) {
                    return Ok(());
                }
                received.context.sleep_wall(period)?;
            }
            Err(error) if received.context.ok() => note(cli.output, error, &mut last_error),
            Err(_) => {}
        }
    }
    Ok(())
}

/// Says once why there is no transform.
fn note(output: Output, error: TransformError, last: &mut Option<TransformError>) {
    let is_same = |last: &TransformError| std::mem::discriminant(last) == std::mem::discriminant(&error);
    if !last.as_ref().is_some_and(is_same) {
        output.note(&format!("waiting: {error}"));
    }
    *last = Some(error);
}

fn print(output: Output, found: &TransformStamped) -> Result<(), CliError> {
    if output.json { output.json(&to_json(found)) } else { output.paragraph(&text(found)) }
}

/// The words of tf2_echo.
fn text(found: &TransformStamped) -> String {
    let (moved, turned) = (found.transform.translation, Quaternion::from(found.transform.rotation));
    let rpy = turned.to_rpy();
    format!(
        "At time {}\n- Translation: {}\n- Rotation: in Quaternion (xyzw) {}\n- Rotation: in RPY (radian) {}\n- Rotation: \
         in RPY (degree) {}",
        found.header.stamp,
        listed([moved.x, moved.y, moved.z]),
        listed([turned.x, turned.y, turned.z, turned.w]),
        listed(rpy),
        listed(rpy.map(f64::to_degrees)),
    )
}

/// Numbers in brackets, without a sign in front of zero.
fn listed<const N: usize>(numbers: [f64; N]) -> String {
    let shown = numbers.map(|number| {
        let text = format!("{number:.3}");
        text.strip_prefix('-')
            .filter(|text| text.chars().all(|c| matches!(c, '0' | '.')))
            .map_or(text.clone(), str::to_owned)
    });
    format!("[{}]", shown.join(", "))
}

fn to_json(found: &TransformStamped) -> Json {
    let (moved, turned) = (found.transform.translation, found.transform.rotation);
    json!({
        "stamp": { "secs": found.header.stamp.sec, "nsecs": found.header.stamp.nanosec },
        "source": found.header.frame_id,
        "target": found.child_frame_id,
        "translation": [moved.x, moved.y, moved.z],
        "rotation": [turned.x, turned.y, turned.z, turned.w],
        "rpy": Quaternion::from(turned).to_rpy(),
    })
}

#[cfg(test)]
mod tests {
    use runnel::tf::{Transform, Vector3};

    use super::*;

    fn found() -> TransformStamped {
        let transform = Transform::new(Vector3::new(1.5, -0.0001, 0.0), Quaternion::from_rpy(0.0, 0.0, 1.0));
        let mut found = TransformStamped { transform: transform.into(), ..TransformStamped::default() };
        (found.header.stamp.sec, found.header.stamp.nanosec) = (12, 5_000_000);
        (found.header.frame_id, found.child_frame_id) = ("map".into(), "base".into());
        found
    }

    #[test]
    fn text_reads_as_in_tf2_echo() {
        let expected = "At time 12.005000000\n\
                        - Translation: [1.500, 0.000, 0.000]\n\
                        - Rotation: in Quaternion (xyzw) [0.000, 0.000, 0.479, 0.878]\n\
                        - Rotation: in RPY (radian) [0.000, 0.000, 1.000]\n\
                        - Rotation: in RPY (degree) [0.000, 0.000, 57.296]";
        assert_eq!(text(&found()), expected);
    }

    #[test]
    fn json_has_exact_numbers() {
        let json = to_json(&found());
        assert_eq!(json["translation"], json!([1.5, -0.0001, 0.0]));
        assert_eq!((&json["source"], &json["target"]), (&json!("map"), &json!("base")));
        assert_eq!(json["stamp"], json!({ "secs": 12, "nsecs": 5_000_000 }));
    }
}
