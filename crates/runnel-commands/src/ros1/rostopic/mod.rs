//! `rostopic`

mod echo;
mod info;
mod list;
mod publish;
mod rates;
mod subject;

use clap::{Parser, Subcommand};

use super::Failure;
use crate::cli_context::CliContext;

/// Inspect topics, and publish to them, like rostopic of ROS 1
#[derive(Debug, Parser)]
#[command(name = "rostopic")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bw(rates::BwArgs),
    Delay(rates::DelayArgs),
    Echo(echo::Args),
    Find(info::FindArgs),
    Hz(rates::HzArgs),
    Info(info::InfoArgs),
    List(list::Args),
    Pub(publish::Args),
    Type(info::TypeArgs),
}

pub fn run(parsed: Cli, cli: &CliContext) -> Result<(), Failure> {
    match parsed.command {
        Command::Bw(args) => rates::bw(&args, cli),
        Command::Delay(args) => rates::delay(&args, cli),
        Command::Echo(args) => echo::run(args, cli),
        Command::Find(args) => info::find(&args, cli),
        Command::Hz(args) => rates::hz(&args, cli),
        Command::Info(args) => info::info(&args, cli),
        Command::List(args) => list::run(&args, cli),
        Command::Pub(args) => publish::run(&args, cli),
        Command::Type(args) => info::type_name(&args, cli),
    }
}
