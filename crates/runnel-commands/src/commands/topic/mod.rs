//! `runnel topic`

mod bw;
mod delay;
mod echo;
mod endpoints;
mod excuses;
mod find;
mod hz;
mod info;
mod links;
mod list;
mod listen;
pub mod publish;
mod qos;
mod subject;
mod type_name;

use clap::Subcommand;
pub use endpoints::mismatches;

use crate::error::CliError;
use crate::measure::statistics::WIDEST;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  runnel topic list -t                     what there is, in ROS 1 and in ROS 2
  runnel topic echo /scan --field ranges   one field of each message
  runnel topic info -v /scan               who publishes and subscribes, and how
  runnel topic hz /scan /odom --ros2       how often, looking at ROS 2 alone
  runnel topic pub -1 /chatter std_msgs/String hello";

/// Look at topics, and publish to them (rostopic, ros2 topic)
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

pub fn run(command: Command, session: &Session) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Info(args) => info::run(&args, session),
        Command::Type(args) => type_name::run(&args, session),
        Command::Find(args) => find::run(&args, session),
        Command::Echo(args) => echo::run(args, session),
        Command::Pub(args) => publish::run(&args, session),
        Command::Hz(args) => hz::run(&args, session),
        Command::Bw(args) => bw::run(&args, session),
        Command::Delay(args) => delay::run(&args, session),
    }
}

/// How many messages can be averaged over.
fn window(text: &str) -> Result<usize, String> {
    let window = text.parse().ok().filter(|window| (1..=WIDEST).contains(window));
    window.ok_or_else(|| format!("a number of messages from 1 to {WIDEST}"))
}
