//! `runnel tf static`

use runnel::msgs::geometry_msgs::msg::TransformStamped;
use runnel::tf::StaticTransformBroadcaster;
use serde_json::json;

use super::received::ListenArgs;
use super::typed_transform::{TypedRotation, TypedTransform};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::streaming::Ending;

/// Publish a static transform until Ctrl-C (static_transform_publisher)
///
/// Angles are in radians, distances in metres. By words or by options: X Y Z YAW PITCH ROLL FRAME_ID
/// CHILD_FRAME_ID, or X Y Z QX QY QZ QW FRAME_ID CHILD_FRAME_ID.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The transform in the order of the originals
    #[arg(value_name = "WORDS", allow_negative_numbers = true, conflicts_with_all = ["frame_id", "child_frame_id"])]
    words: Vec<String>,

    /// The parent frame
    #[arg(long, value_name = "FRAME", required_unless_present = "words", requires = "child_frame_id")]
    frame_id: Option<String>,

    /// The child frame
    #[arg(long, value_name = "FRAME", requires = "frame_id")]
    child_frame_id: Option<String>,

    /// Position of the child frame in the parent
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    x: f64,

    /// The same along y
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    y: f64,

    /// The same along z
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    z: f64,

    /// Rotation about x
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    roll: f64,

    /// Rotation about y
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    pitch: f64,

    /// Rotation about z
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    yaw: f64,

    /// Rotation as a quaternion, in place of the angles
    #[arg(long, allow_negative_numbers = true, conflicts_with_all = ["roll", "pitch", "yaw"])]
    qx: Option<f64>,

    /// Its second component
    #[arg(long, allow_negative_numbers = true, conflicts_with_all = ["roll", "pitch", "yaw"])]
    qy: Option<f64>,

    /// Its third component
    #[arg(long, allow_negative_numbers = true, conflicts_with_all = ["roll", "pitch", "yaw"])]
    qz: Option<f64>,

    /// Its scalar component [default: 1]
    #[arg(long, allow_negative_numbers = true, conflicts_with_all = ["roll", "pitch", "yaw"])]
    qw: Option<f64>,

    #[command(flatten)]
    listen: ListenArgs,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let typed = args.typed().map_err(CliError::Usage)?;
    let context = args.listen.open_graphs(cli)?.context().clone();
    let node = cli.node(&context, "tf_static")?;
    let broadcaster = StaticTransformBroadcaster::new(&node)?;
    let mut message = TransformStamped { transform: typed.transform.into(), ..TransformStamped::default() };
    message.header.stamp = node.now();
    (message.header.frame_id, message.child_frame_id) = (typed.frame_id, typed.child_frame_id);
    broadcaster.send_transform(&message)?;
    let (parent, child) = (&message.header.frame_id, &message.child_frame_id);
    cli.output.answer(
        || format!("publishing the static transform from {child} to {parent}"),
        || json!({ "frame_id": parent, "child_frame_id": child }),
    )?;
    Ending::of(&context).wait()
}

impl Args {
    fn typed(&self) -> Result<TypedTransform, String> {
        let (Some(frame_id), Some(child_frame_id)) = (&self.frame_id, &self.child_frame_id) else {
            return TypedTransform::of_words(&self.words);
        };
        let quaternion = [self.qx, self.qy, self.qz, self.qw];
        let rotation = if quaternion.iter().any(Option::is_some) {
            let [qx, qy, qz, qw] = quaternion;
            let scalar = qw.unwrap_or(1.0);
            TypedRotation::Quaternion([
                qx.unwrap_or_default(),
                qy.unwrap_or_default(),
                qz.unwrap_or_default(),
                scalar,
            ])
        } else {
            TypedRotation::Angles([self.yaw, self.pitch, self.roll])
        };
        let numbers = [self.x, self.y, self.z, self.roll, self.pitch, self.yaw];
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err("a number is not finite".to_owned());
        }
        TypedTransform::new((frame_id, child_frame_id), [self.x, self.y, self.z], &rotation)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use runnel::tf::{Quaternion, Vector3};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn typed(line: &str) -> Result<TypedTransform, String> {
        let words = ["static"].into_iter().chain(line.split(' '));
        Line::try_parse_from(words).map_err(|error| error.to_string())?.args.typed()
    }

    #[test]
    fn options_and_words_are_the_same() {
        let by_options = typed("--x 1 --y -2 --yaw 0.5 --frame-id base --child-frame-id camera").unwrap();
        assert_eq!(by_options, typed("1 -2 0 0.5 0 0 base camera").unwrap());
        assert_eq!(by_options.transform.translation, Vector3::new(1.0, -2.0, 0.0));
        let turned = typed("--qz 1 --qw 0 --frame-id base --child-frame-id camera").unwrap();
        assert_eq!(turned.transform.rotation, Quaternion::new(0.0, 0.0, 1.0, 0.0));
    }

    #[test]
    fn contradicting_options_are_refused() {
        for line in [
            "--frame-id base",
            "--child-frame-id camera",
            "1 2 3 4 5 6 base camera --frame-id base --child-frame-id camera",
            "--qx 1 --yaw 1 --frame-id base --child-frame-id camera",
            "--x nan --frame-id base --child-frame-id camera",
            "1 2 3 base camera",
        ] {
            assert!(typed(line).is_err(), "{line}");
        }
    }
}
