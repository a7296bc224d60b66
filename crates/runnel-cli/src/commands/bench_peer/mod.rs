//! `runnel bench-peer`: the ends of exchanges that `runnel bench` starts. How it talks with them is told in
//! `bench/README.md`.

mod calls;
mod floor;
mod launch;
mod runnel;
mod talk;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueEnum;
use runnel_floor::{Connections, Stamps, Trial};

use crate::error::CliError;

/// One end of an exchange, or the start of one, for `runnel bench`
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// Start a program where and how all contestants run
    Launch(launch::Args),
    /// An end on plain TCP
    FloorTcp(EndArgs),
    /// An end on plain TCP with a connection each way
    FloorTcpPair(EndArgs),
    /// An end that is a Runnel node
    RunnelTcpros(EndArgs),
}

/// What an end does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Sends a message when the one before has come back.
    Ping,
    /// Sends back what comes.
    Pong,
    /// Sends all messages at once.
    Source,
    /// Takes all messages.
    Sink,
    /// Provides a service.
    Serve,
    /// Calls it, with a connection for each call.
    Call,
    /// Calls it, on one connection.
    CallPersistent,
    /// Sets a parameter and gets it, again and again.
    Param,
    /// Keeps a message for those who subscribe later.
    Latched,
    /// Subscribes, and says how long it took until that message came.
    First,
}

#[derive(Debug, clap::Args)]
struct EndArgs {
    role: Role,
    /// Bytes of a message
    #[arg(long, default_value_t = 0)]
    size: usize,
    /// Messages that count
    #[arg(long, default_value_t = 0)]
    count: u64,
    /// Messages before those
    #[arg(long, default_value_t = 0)]
    warm_up: u64,
    /// Messages that queues hold
    #[arg(long, default_value_t = 1)]
    depth: usize,
    /// Where the other end is, for those that are not introduced by a master
    #[arg(long)]
    peer: Option<SocketAddr>,
    /// File for the stamps of sent messages
    #[arg(long)]
    sent: Option<PathBuf>,
    /// File for the stamps of received messages
    #[arg(long)]
    received: Option<PathBuf>,
}

impl EndArgs {
    fn trial(&self) -> Trial {
        Trial { size: self.size, count: self.count, warm_up: self.warm_up }
    }

    fn write_sent(&self, stamps: &Stamps) -> Result<(), CliError> {
        write(stamps, self.sent.as_ref())
    }

    fn write_received(&self, stamps: &Stamps) -> Result<(), CliError> {
        write(stamps, self.received.as_ref())
    }
}

fn write(stamps: &Stamps, path: Option<&PathBuf>) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    stamps
        .write(path)
        .map_err(|error| CliError::failed(format_args!("cannot write {}: {error}", path.display())))
}

pub fn run(args: &Args) -> Result<(), CliError> {
    match &args.part {
        Part::Launch(args) => launch::run(args),
        Part::FloorTcp(args) => floor::run(args, Connections::One),
        Part::FloorTcpPair(args) => floor::run(args, Connections::Pair),
        Part::RunnelTcpros(args) => runnel::run(args),
    }
}
