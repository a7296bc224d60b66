//! Runnel's own ends of the exchanges that `runnel bench` starts. `bench/README.md` describes the protocol between an
//! end and the bench.

mod floor;
mod hold;
mod launch;
mod protocol;
mod runnel;

use std::error::Error;
use std::fmt;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use ::runnel::QoS;
use clap::ValueEnum;
use runnel_floor::{Connections, Course, Pace, PacketKind, Sizes, Stamps, Touch, Trial, Waiting};

/// Error of an end.
pub type Failure = Box<dyn Error>;

/// One end of an exchange, or the start of one, for `runnel bench`
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// Start a program on the CPU and with the priority of all contestants
    Launch(launch::Args),
    /// Delay packets of a netfilter queue
    Hold(hold::Args),
    /// An end on plain TCP
    FloorTcp(EndArgs),
    /// An end on plain TCP with a connection each way
    FloorTcpPair(EndArgs),
    /// An end on a Unix stream
    FloorUnixStream(EndArgs),
    /// An end on UDP
    FloorUdp(EndArgs),
    /// An end on Unix datagrams
    FloorUnixDgram(EndArgs),
    /// An end on Unix packets
    FloorUnixSeqpacket(EndArgs),
    /// An end that sleeps on a word of shared memory
    FloorFutex(EndArgs),
    /// An end that polls a word of shared memory
    FloorSpin(EndArgs),
    /// An end that is a Runnel node, over TCPROS
    RunnelTcpros(EndArgs),
    /// An end that is a Runnel node, over shared memory
    RunnelIpc(EndArgs),
    /// An end that is a Runnel node and never sleeps
    RunnelIpcSpin(EndArgs),
    /// An end that is a Runnel node and loans messages
    RunnelIpcLoan(EndArgs),
    /// An end that is a Runnel node, never sleeps, and loans messages
    RunnelIpcLoanSpin(EndArgs),
    /// An end that is a ROS 2 node of Runnel, over RTPS
    RunnelRtps(EndArgs),
    /// An end that is a ROS 2 node of Runnel, over shared memory
    RunnelRtpsIpc(EndArgs),
    /// The same, where calls are replaced by messages on topics
    RunnelRtpsIpcTopic(EndArgs),
    /// An end that is a node of Runnel: the one that sends first is in ROS 1, the other in ROS 2
    RunnelBridge(EndArgs),
    /// The same, over shared memory
    RunnelBridgeIpc(EndArgs),
}

/// How the links of a Runnel node carry messages, and how it waits for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Network,
    Memory,
    Spin,
    Loan,
    LoanSpin,
    Rtps,
    RtpsMemory,
    Bridge,
    BridgeMemory,
}

impl Mode {
    /// Whether nodes are in ROS 2.
    fn is_ros2(self) -> bool {
        matches!(self, Self::Rtps | Self::RtpsMemory)
    }

    /// Whether a bridge joins the ends.
    fn is_bridged(self) -> bool {
        matches!(self, Self::Bridge | Self::BridgeMemory)
    }

    /// Whether an end polls while it waits.
    fn spins(self) -> bool {
        matches!(self, Self::Spin | Self::LoanSpin)
    }

    /// Whether links stay on the network.
    fn is_remote(self) -> bool {
        matches!(self, Self::Network | Self::Rtps | Self::Bridge)
    }

    /// Whether messages are loaned.
    fn loans(self) -> bool {
        matches!(self, Self::Loan | Self::LoanSpin)
    }
}

/// Role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Sends a message when the previous one has come back.
    Ping,
    /// Sends back every message.
    Pong,
    /// Sends all messages without pauses, or at a rate.
    Source,
    /// Receives all messages.
    Sink,
    /// Sends texts.
    Talker,
    /// Receives texts.
    Listener,
    /// Sends two integers.
    ParaIn,
    /// Adds them.
    ParaAdd,
    /// Receives the sum.
    Add,
    /// Provides a service.
    Serve,
    /// Calls it, with a connection for each call.
    Call,
    /// Calls it, on one connection.
    CallPersistent,
    /// Sets a parameter and gets it, again and again.
    Param,
    /// Keeps a message for late joiners.
    Latched,
    /// Subscribes, and reports how long the kept message took to arrive.
    First,
}

/// Reliability, and the behaviour of a full queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Quality {
    /// Lost messages are resent, as long as the queue holds them.
    #[default]
    Reliable,
    /// They are lost.
    BestEffort,
    /// Lost messages are resent, and the publisher blocks while the queue is full.
    KeepAll,
}

#[derive(Clone, Debug, clap::Args)]
struct EndArgs {
    role: Role,
    #[arg(skip)]
    mode: Mode,
    /// Bytes of a message
    #[arg(long, default_value_t = 0)]
    size: usize,
    /// Measured messages
    #[arg(long, default_value_t = 0)]
    count: u64,
    /// Messages of the warm-up before them
    #[arg(long, default_value_t = 0)]
    warm_up: u64,
    /// Capacity of queues, in messages
    #[arg(long, default_value_t = 1)]
    depth: usize,
    /// Address of the other end, for ends without a master
    #[arg(long)]
    peer: Vec<String>,
    /// Messages per second
    #[arg(long)]
    rate: Option<u32>,
    /// Maximum number of unanswered messages
    #[arg(long, default_value_t = 1)]
    watermark: u64,
    /// Sizes of messages in bytes, in equal shares, one after another
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<usize>,
    /// Topics that join the ends
    #[arg(long)]
    topics: Option<usize>,
    /// Ends that receive
    #[arg(long, default_value_t = 1)]
    subscribers: usize,
    /// Use of the payload, in exchanges that distinguish it: none, write or read
    #[arg(long)]
    touch: Option<Touch>,
    /// Quality of service, in exchanges that distinguish it
    #[arg(long, value_enum, default_value_t)]
    qos: Quality,
    /// File for the stamps of sent messages
    #[arg(long)]
    sent: Option<PathBuf>,
    /// File for the stamps of received messages
    #[arg(long)]
    received: Option<PathBuf>,
}

impl EndArgs {
    fn with_mode(&self, mode: Mode) -> Self {
        Self { mode, ..self.clone() }
    }

    /// Messages there and back in place of calls, on topics with room for one more than the one on its way.
    fn by_topics(&self) -> Self {
        let role = match self.role {
            Role::Serve => Role::Pong,
            Role::CallPersistent => Role::Ping,
            role => role,
        };
        Self { role, depth: self.depth.max(2), ..self.clone() }
    }

    fn trial(&self) -> Trial {
        Trial { size: self.size, count: self.count, warm_up: self.warm_up }
    }

    fn sizes(&self) -> Sizes {
        Sizes::of(self.trial(), &self.sizes)
    }

    fn pace(&self) -> Pace {
        Pace::new(self.rate)
    }

    fn touch(&self) -> Touch {
        self.touch.unwrap_or_default()
    }

    fn qos(&self) -> QoS {
        match self.qos {
            Quality::Reliable => QoS::keep_last(self.depth),
            Quality::BestEffort => QoS::keep_last(self.depth).best_effort(),
            Quality::KeepAll => QoS::keep_all(),
        }
    }

    fn course(&self) -> Course {
        Course { trial: self.trial(), sizes: self.sizes(), pace: self.pace(), touch: self.touch() }
    }

    fn write_both(&self, (sent, received): &(Stamps, Stamps)) -> Result<(), Failure> {
        self.write_sent(sent)?;
        self.write_received(received)
    }

    fn write_sent(&self, stamps: &Stamps) -> Result<(), Failure> {
        write(stamps, self.sent.as_ref())
    }

    fn write_received(&self, stamps: &Stamps) -> Result<(), Failure> {
        write(stamps, self.received.as_ref())
    }
}

fn write(stamps: &Stamps, path: Option<&PathBuf>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    stamps.write(path).map_err(|error| failed(format_args!("cannot write {}: {error}", path.display())))
}

fn failed(text: impl fmt::Display) -> Failure {
    text.to_string().into()
}

/// Runs the end that the arguments of `runnel bench-peer` describe.
///
/// # Errors
/// If the end fails, or the bench has ended.
pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.part {
        Part::Launch(args) => launch::run(args),
        Part::Hold(args) => hold::run(args),
        Part::FloorTcp(args) => floor::streams::<TcpStream>(args, Connections::One),
        Part::FloorTcpPair(args) => floor::streams::<TcpStream>(args, Connections::Pair),
        Part::FloorUnixStream(args) => floor::streams::<UnixStream>(args, Connections::One),
        Part::FloorUdp(args) => floor::packets(args, PacketKind::Udp),
        Part::FloorUnixDgram(args) => floor::packets(args, PacketKind::Datagram),
        Part::FloorUnixSeqpacket(args) => floor::packets(args, PacketKind::Sequenced),
        Part::FloorFutex(args) => floor::words(args, Waiting::Futex),
        Part::FloorSpin(args) => floor::words(args, Waiting::Spin),
        Part::RunnelTcpros(args) => runnel::run(args),
        Part::RunnelIpc(args) => runnel::run(&args.with_mode(Mode::Memory)),
        Part::RunnelIpcSpin(args) => runnel::run(&args.with_mode(Mode::Spin)),
        Part::RunnelIpcLoan(args) => runnel::run(&args.with_mode(Mode::Loan)),
        Part::RunnelIpcLoanSpin(args) => runnel::run(&args.with_mode(Mode::LoanSpin)),
        Part::RunnelRtps(args) => runnel::run(&args.with_mode(Mode::Rtps)),
        Part::RunnelRtpsIpc(args) => runnel::run(&args.with_mode(Mode::RtpsMemory)),
        Part::RunnelRtpsIpcTopic(args) => runnel::run(&args.by_topics().with_mode(Mode::RtpsMemory)),
        Part::RunnelBridge(args) => runnel::run(&args.with_mode(Mode::Bridge)),
        Part::RunnelBridgeIpc(args) => runnel::run(&args.with_mode(Mode::BridgeMemory)),
    }
}
