//! `runnel bag`: its commands, and what they are made of. `rosbag` and `ros2 bag` by their own names use it too.

pub mod action_topics;
pub mod burst;
pub mod check;
pub mod convert;
mod copied_metadata;
mod cut;
pub mod damage_log;
pub mod files;
pub mod filter;
#[cfg(test)]
mod folder_output_tests;
pub mod info;
pub mod inputs;
mod keys;
mod last_messages;
mod merge;
pub mod new_bag;
pub mod play;
mod qos_overrides;
pub mod quantity;
pub mod reading_progress;
pub mod record;
pub mod reindex;
pub mod service_topics;
pub mod storage;
pub mod subject;
pub mod time_range;
pub mod transfer;
#[cfg(test)]
mod transfer_tests;
pub mod yaml_members;

use std::time::Duration;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// How long the ROS 1 master may take to answer.
const MASTER_DEADLINE: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  runnel bag record -a                     all topics of ROS 1 and ROS 2
  runnel bag record /scan /tf -O run.bag   two topics, in the format of rosbag
  runnel bag info run.mcap                 topics, types, times
  runnel bag play run.mcap --clock         to the graphs they came from
  runnel bag convert run.bag run.mcap      to another format";

/// Record, inspect, play and convert bags (rosbag, ros2 bag)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    Record(Box<record::Args>),
    Play(Box<play::Args>),
    Burst(burst::Args),
    Info(info::Args),
    Check(check::Args),
    Reindex(reindex::Args),
    Convert(convert::Args),
    Filter(filter::Args),
    Merge(merge::Args),
    Cut(cut::Args),
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::Record(args) => record::run(*args, cli),
        Command::Play(args) => play::run(*args, cli),
        Command::Burst(args) => burst::run(args, cli),
        Command::Info(args) => info::run(&args, cli),
        Command::Check(args) => check::run(&args, cli),
        Command::Reindex(args) => reindex::run(&args, cli),
        Command::Convert(args) => convert::run(&args, cli),
        Command::Filter(args) => filter::run(&args, cli),
        Command::Merge(args) => merge::run(&args, cli),
        Command::Cut(args) => cut::run(&args, cli),
    }
}
