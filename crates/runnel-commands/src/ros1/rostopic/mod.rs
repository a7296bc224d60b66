//! `rostopic`

mod echo;
mod info;
mod list;
mod publish;
mod rates;
mod subject;

use clap::{Parser, Subcommand};

use super::Failure;
use crate::session::Session;

/// Look at topics, and publish to them, as the rostopic of ROS 1 does
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

pub fn run(cli: Cli, session: &Session) -> Result<(), Failure> {
    match cli.command {
        Command::Bw(args) => rates::bw(&args, session),
        Command::Delay(args) => rates::delay(&args, session),
        Command::Echo(args) => echo::run(args, session),
        Command::Find(args) => info::find(&args, session),
        Command::Hz(args) => rates::hz(&args, session),
        Command::Info(args) => info::info(&args, session),
        Command::List(args) => list::run(&args, session),
        Command::Pub(args) => publish::run(&args, session),
        Command::Type(args) => info::type_name(&args, session),
    }
}
