//! `runnel action`

mod echo;
mod find;
mod goal_job;
mod goal_report;
mod info;
mod list;
mod send_goal;
mod type_name;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// Inspect actions, send goals and follow what is exchanged (actionlib, ros2 action)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Info(info::Args),
    Type(type_name::Args),
    Find(find::Args),
    #[command(name = "send_goal", visible_alias = "send-goal")]
    SendGoal(send_goal::Args),
    Echo(echo::Args),
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, cli),
        Command::Info(args) => info::run(&args, cli),
        Command::Type(args) => type_name::run(&args, cli),
        Command::Find(args) => find::run(&args, cli),
        Command::SendGoal(args) => send_goal::run(&args, cli),
        Command::Echo(args) => echo::run(&args, cli),
    }
}
