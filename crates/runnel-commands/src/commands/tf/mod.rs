//! `runnel tf`

mod drawing;
mod echo;
mod monitor;
mod publish_static;
mod received;
mod tree;
mod typed_transform;
mod view_frames;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::error::CliError;

const EXAMPLES: &str = "\
Examples:
  runnel tf echo map base_link             where base_link is in map
  runnel tf monitor                        rate and delay of each transform
  runnel tf view_frames                    the tree of frames, also as a picture
  runnel tf static 0 0 0.3 0 0 0 base_link camera";

/// Inspect transforms between frames, and publish static ones (tf2_echo, tf2_monitor, view_frames)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    Echo(echo::Args),
    Monitor(monitor::Args),
    #[command(name = "view_frames", visible_alias = "view-frames")]
    ViewFrames(view_frames::Args),
    Static(publish_static::Args),
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::Echo(args) => echo::run(&args, cli),
        Command::Monitor(args) => monitor::run(&args, cli),
        Command::ViewFrames(args) => view_frames::run(&args, cli),
        Command::Static(args) => publish_static::run(&args, cli),
    }
}

/// A frame as it is typed: tf had a leading slash, and tf2 has none.
fn frame(typed: &str) -> Result<String, String> {
    match typed.strip_prefix('/').unwrap_or(typed) {
        "" => Err("must be the name of a frame".to_owned()),
        frame => Ok(frame.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_may_be_typed_with_a_slash() {
        assert_eq!(frame("/map"), Ok("map".to_owned()));
        assert_eq!(frame("robot/base"), Ok("robot/base".to_owned()));
        assert!(frame("").is_err() && frame("/").is_err());
    }
}
