//! `runnel action`

mod find;
mod info;
mod list;
mod send_goal;
mod type_name;

use clap::Subcommand;

use crate::error::CliError;
use crate::session::Session;

/// Look at actions of ROS 1, and send goals (actionlib, ros2 action)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Info(info::Args),
    Type(type_name::Args),
    Find(find::Args),
    #[command(name = "send_goal", visible_alias = "send-goal")]
    SendGoal(send_goal::Args),
}

pub fn run(command: Command, session: &Session) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Info(args) => info::run(&args, session),
        Command::Type(args) => type_name::run(&args, session),
        Command::Find(args) => find::run(&args, session),
        Command::SendGoal(args) => send_goal::run(&args, session),
    }
}
