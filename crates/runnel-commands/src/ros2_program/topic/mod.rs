//! `ros2 topic`

mod echo;
mod publish;
mod query;
mod rates;

use clap::Subcommand;

use super::Failure;
use super::discovery::DiscoveryArgs;
use super::front::interrupted;
use crate::cli_context::CliContext;
use crate::graphs::Topics;
use crate::similar::meant;

/// Inspect topics, and publish to them
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also consider hidden topics, with a name part that begins with an underscore
    #[arg(long, global = true)]
    include_hidden_topics: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(query::ListArgs),
    Info(query::InfoArgs),
    Type(query::TypeArgs),
    Find(query::FindArgs),
    Echo(echo::Args),
    Pub(publish::Args),
    Hz(rates::HzArgs),
    Bw(rates::BwArgs),
    Delay(rates::DelayArgs),
}

pub fn run(args: Args, cli: &CliContext) -> Result<(), Failure> {
    let hidden = args.include_hidden_topics;
    match args.command {
        Command::List(args) => query::list(&args, hidden, cli),
        Command::Info(args) => query::info(&args, cli),
        Command::Type(args) => query::type_name(&args, hidden, cli),
        Command::Find(args) => query::find(&args, hidden, cli),
        Command::Echo(args) => echo::run(args, cli),
        Command::Pub(args) => publish::run(&args, cli),
        Command::Hz(args) => rates::hz(&args, cli),
        Command::Bw(args) => rates::bw(&args, cli),
        Command::Delay(args) => rates::delay(&args, cli),
    }
}

/// Checks that the value of -n is not a number of messages, as it is in rostopic.
fn check_node_name(name: &str) -> Result<(), Failure> {
    match name.parse::<u64>() {
        Ok(_) => {
            Err(Failure::usage(format!("-n {name}: -n is the name of the node. Try: --once for one message")))
        }
        Err(_) => Ok(()),
    }
}

/// What the original prints for a topic that no endpoint has, and the topic that may have been meant.
fn unpublished(topic: &str, known: &Topics) -> String {
    let meant = meant(topic, known.names());
    format!("WARNING: topic [{topic}] does not appear to be published yet{meant}")
}
