//! `runnel topic`

mod bw;
mod delay;
mod diagnostics;
mod echo;
mod endpoints;
mod find;
mod hz;
mod info;
mod links;
mod list;
mod listen;
mod mismatch;
pub mod publish;
pub mod qos;
mod ros1_types;
mod subject;
mod subscribers;
mod type_name;

use clap::Subcommand;
pub use diagnostics::Diagnostics;
pub use endpoints::Endpoints;
pub use mismatch::{reason, setting};
pub use qos::{AskedQos, matching};

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::measure::statistics::WIDEST;

const EXAMPLES: &str = "\
Examples:
  runnel topic list -t                     topics of both graphs, with types
  runnel topic echo /scan --field ranges   one field of each message
  runnel topic info -v /scan               publishers, subscriptions, QoS, links
  runnel topic hz /scan /odom --ros2       message rates, in ROS 2 only
  runnel topic pub -1 /chatter std_msgs/String hello";

/// Inspect topics, and publish to them (rostopic, ros2 topic)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    List(list::Args),
    Info(info::Args),
    Type(type_name::Args),
    Find(find::Args),
    Echo(echo::Args),
    Pub(publish::Args),
    Hz(hz::Args),
    Bw(bw::Args),
    Delay(delay::Args),
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, cli),
        Command::Info(args) => info::run(&args, cli),
        Command::Type(args) => type_name::run(&args, cli),
        Command::Find(args) => find::run(&args, cli),
        Command::Echo(args) => echo::run(args, cli),
        Command::Pub(args) => publish::run(&args, cli),
        Command::Hz(args) => hz::run(&args, cli),
        Command::Bw(args) => bw::run(&args, cli),
        Command::Delay(args) => delay::run(&args, cli),
    }
}

/// A number of messages to average over.
fn window(text: &str) -> Result<usize, String> {
    let window = text.parse().ok().filter(|window| (1..=WIDEST).contains(window));
    window.ok_or_else(|| format!("a number of messages from 1 to {WIDEST}"))
}
