//! `ros2 bag`

mod convert;
mod info;
mod input_bags;
mod list;
mod log_level;
mod play;
mod record;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::Subcommand;

use super::Failure;
use crate::bag::{self, burst, reindex};
use crate::cli_context::CliContext;
use convert::ConvertArgs;
use info::InfoArgs;
use list::ListArgs;
use log_level::LogLevelArgs;
use play::PlayArgs;
use record::RecordArgs;

/// Record, play and inspect bags
#[derive(Debug, Subcommand)]
pub enum Command {
    Record(Box<RecordArgs>),
    Play(Box<PlayArgs>),
    /// Publish the first messages of a bag at once, then wait paused
    Burst(BurstArgs),
    Info(InfoArgs),
    /// Repair a bag: write what can be read, with an index
    Reindex(OneBag),
    Convert(ConvertArgs),
    List(ListArgs),
}

/// Publish the first messages of a bag at once, then wait paused
#[derive(Debug, clap::Args)]
pub struct BurstArgs {
    #[command(flatten)]
    burst: burst::BurstOptions,

    /// Accepted; the format is recognized
    #[arg(short, long, value_name = "FORMAT")]
    storage: Option<String>,

    // Accepted: the player reads ahead by itself.
    #[arg(long, value_name = "N", hide = true)]
    read_ahead_queue_size: Option<u64>,

    #[command(flatten)]
    log: LogLevelArgs,
}

/// A bag
#[derive(Debug, clap::Args)]
pub struct OneBag {
    /// The bag
    bag: PathBuf,

    /// Accepted; the format is recognized
    #[arg(short, long, value_name = "FORMAT")]
    storage: Option<String>,
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), Failure> {
    match command {
        Command::Record(args) => {
            args.log.apply();
            Ok(bag::record::run(args.of_runnel()?, cli)?)
        }
        Command::Play(args) => {
            args.log.apply();
            Ok(bag::play::run(args.of_runnel()?, cli)?)
        }
        Command::Burst(args) => {
            args.log.apply();
            let (args, burst) = args.burst.of_play();
            Ok(bag::play::burst(args, burst, cli)?)
        }
        Command::Info(args) => Ok(info::run(&args, cli)?),
        Command::Reindex(args) => {
            let args = reindex::Args { bags: vec![args.bag], output_name: None, force: false };
            Ok(reindex::run(&args, cli)?)
        }
        Command::Convert(args) => convert::run(args, cli),
        Command::List(args) => Ok(list::run(&args, cli)?),
    }
}
