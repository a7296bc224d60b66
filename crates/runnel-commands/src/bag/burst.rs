//! `runnel bag burst`

use std::path::PathBuf;

use clap::ValueHint;

use super::play::{self, Burst, Shared};
use super::quantity::nanoseconds;
use super::time_range::PlayedRange;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter};

/// Publish the first messages of a bag at once, then wait paused (ros2 bag burst)
///
/// Space goes on at the times of the bag, s plays one message, Ctrl-C ends; so do the services of the player.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub burst: BurstOptions,

    #[command(flatten)]
    pub filter: GraphFilter,

    #[command(flatten)]
    pub discovery: Discovery,
}

/// The options of `ros2 bag burst`.
#[derive(Debug, clap::Args)]
pub struct BurstOptions {
    /// The bag
    #[arg(value_name = "BAG", value_hint = ValueHint::AnyPath)]
    pub bag: PathBuf,

    /// Publish this many messages, 0 for all
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub num_messages: u64,

    /// Begin this many seconds after the start of the bag
    #[arg(long, value_name = "SECONDS", value_parser = nanoseconds)]
    pub start_offset: Option<u64>,

    /// Publish only these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    pub topics: Vec<String>,

    /// Of services, publish only the calls of these
    #[arg(long, value_name = "SERVICE", num_args = 1..)]
    pub services: Vec<String>,

    /// Of actions, publish only these
    #[arg(long, value_name = "ACTION", num_args = 1..)]
    pub actions: Vec<String>,

    /// Rename topics
    #[arg(short = 'm', long = "remap", alias = "remappings", value_name = "FROM:=TO", num_args = 1..)]
    pub remap: Vec<String>,

    /// Publish topics with the QoS of this YAML file, as ros2 bag reads it, instead of the recorded one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub qos_profile_overrides_path: Option<PathBuf>,
}

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    let Args { burst, filter, discovery } = args;
    let (args, burst) = burst.of_play();
    play::burst(play::Args { filter, discovery, ..args }, burst, cli)
}

impl BurstOptions {
    /// The same as arguments of `runnel bag play`.
    pub fn of_play(self) -> (play::Args, Burst) {
        let burst = match self.num_messages {
            0 => Burst::All,
            count => Burst::Messages(count),
        };
        let args = play::Args {
            bags: vec![self.bag],
            range: PlayedRange { start: self.start_offset, ..PlayedRange::default() },
            topics: self.topics,
            remappings: self.remap,
            shared: Shared {
                services: self.services,
                actions: self.actions,
                qos_profile_overrides_path: self.qos_profile_overrides_path,
                ..Shared::default()
            },
            ..play::Args::default()
        };
        (args, burst)
    }
}
