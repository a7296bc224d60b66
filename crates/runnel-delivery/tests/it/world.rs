//! World of one sender, one receiver and a few paths between them, with all possible events.
//!
//! The state machine under test is the real one. The paths are models: ordered or not, with loss, resending and death;
//! each end notices a death at its own time.

use std::collections::VecDeque;

use runnel_delivery::{
    Accepted, Credit, Path, PathId, PathKind, QueuePolicy, ReceiveAction, Receiver, Sender, SenderOptions,
    SenderState, Statement, StreamId,
};

use crate::oracle::{Fault, Oracle};

pub const ID: StreamId = StreamId { stream: 0x5eed, subscription: 0 };

/// Path kinds as tests name them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Shared memory: ordered, returns unread messages.
    Mem,
    /// TCPROS with statements: ordered, loses messages in flight when it dies.
    Tcp,
    /// Reliable RTPS: unordered, resends, returns unacknowledged samples.
    Rtps,
    /// Best-effort RTPS: unordered, lossy.
    Best,
    /// Relay to another host: ordered, returns unread messages.
    Relay,
    /// Within the process: ordered, loses messages in flight when it dies.
    Local,
    /// TCPROS with another implementation: without numbers and statements.
    Plain,
    /// UDPROS: without numbers, lossy.
    Udp,
}

impl Kind {
    pub fn path(self, id: PathId) -> Path {
        match self {
            Self::Mem => Path::new(id, PathKind::SharedMemory),
            Self::Tcp => Path::new(id, PathKind::Tcpros),
            Self::Rtps => Path::new(id, PathKind::RtpsReliable),
            Self::Best => Path::new(id, PathKind::RtpsBestEffort),
            Self::Relay => Path::new(id, PathKind::Relay),
            Self::Local => Path::new(id, PathKind::InProcess),
            Self::Plain => Path::plain(id, PathKind::Tcpros),
            Self::Udp => Path::new(id, PathKind::Udpros),
        }
    }

    pub fn is_bag(self) -> bool {
        matches!(self, Self::Rtps | Self::Best)
    }

    pub fn is_lossy(self) -> bool {
        matches!(self, Self::Best | Self::Udp)
    }

    pub fn is_numbered(self) -> bool {
        !matches!(self, Self::Plain | Self::Udp)
    }

    /// Returns whether unread messages are returned when the path dies.
    pub fn returns_fifo(self) -> bool {
        matches!(self, Self::Mem | Self::Relay)
    }
}

/// Configuration: the paths, and the limits of events.
#[derive(Clone, Debug)]
pub struct Config {
    pub name: String,
    /// Kind, whether it exists at the start, whether it may die.
    pub kinds: Vec<(Kind, bool, bool)>,
    pub messages: u64,
    pub switches: u8,
    pub deaths: u8,
    pub births: u8,
    pub policy: QueuePolicy,
    pub max_bytes: usize,
    pub credit: Credit,
    /// Capacity of an ordered path in items.
    pub capacity: usize,
    /// Begin and Reached may be lost where they are datagrams; they are repeated.
    pub loses_statements: bool,
}

impl Config {
    pub fn new(kinds: &[(Kind, bool, bool)], messages: u64, switches: u8, deaths: u8) -> Self {
        let names: Vec<String> = kinds.iter().map(|(kind, ..)| format!("{kind:?}")).collect();
        Self {
            name: names.join(", "),
            kinds: kinds.to_vec(),
            messages,
            switches,
            deaths,
            births: kinds.iter().filter(|(_, exists, _)| !exists).count() as u8,
            policy: QueuePolicy::KeepAll { limit: 16 },
            max_bytes: usize::MAX,
            credit: Credit { messages: 2, bytes: usize::MAX },
            capacity: 8,
            loses_statements: false,
        }
    }

    pub fn bytes_of(&self, number: u64) -> usize {
        if self.max_bytes == usize::MAX && self.credit.bytes == usize::MAX {
            1
        } else {
            1 + (number as usize % 3) * 4
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    Data(u64),
    Begin(u32, u64, bool),
    Skip(u64),
}

/// Path between the two ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Line {
    pub kind: Kind,
    pub is_up: bool,
    /// It is dead; each end notices at its own time.
    pub is_broken: bool,
    pub sender_knows: bool,
    pub receiver_knows: bool,
    /// Items in flight on an ordered path.
    pub fifo: VecDeque<Item>,
    /// RTPS: samples in flight, unacknowledged samples, GAPs in flight, a Begin in flight.
    pub bag: u128,
    pub unacked: u128,
    pub gaps: u128,
    pub begin: Option<(u32, u64, bool)>,
    /// The receiver has requested reading it to its end.
    pub drain: bool,
}

pub fn bit(number: u64) -> u128 {
    1 << number
}

pub fn numbers(mask: u128) -> impl Iterator<Item = u64> {
    (0..128).filter(move |number| mask & bit(*number) != 0)
}

/// State of both ends and the paths.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct World {
    pub sender: Sender<u64>,
    pub receiver: Receiver<u64>,
    pub lines: Vec<Line>,
    pub published: u64,
    pub switches: u8,
    pub deaths: u8,
    pub births: u8,
    /// The last Reached in flight.
    pub reached: Option<(u32, u64)>,
    pub oracle: Oracle,
}

impl World {
    pub fn new(config: &Config) -> Self {
        let options = SenderOptions {
            id: ID,
            first: 1,
            policy: config.policy,
            max_bytes: config.max_bytes,
            credit: config.credit,
        };
        let line = |&(kind, is_up, _): &(Kind, bool, bool)| Line {
            kind,
            is_up,
            is_broken: false,
            sender_knows: false,
            receiver_knows: false,
            fifo: VecDeque::new(),
            bag: 0,
            unacked: 0,
            gaps: 0,
            begin: None,
            drain: false,
        };
        let mut world = Self {
            sender: Sender::new(options),
            receiver: Receiver::new(ID, config.credit),
            lines: config.kinds.iter().map(line).collect(),
            published: 0,
            switches: config.switches,
            deaths: config.deaths,
            births: config.births,
            reached: None,
            oracle: Oracle::new(config.kinds.iter().all(|(kind, ..)| kind.is_numbered())),
        };
        for index in 0..world.lines.len() {
            if world.lines[index].is_up {
                world.establish(index);
            }
        }
        world.note_capacities(config);
        world
    }

    pub fn id(index: usize) -> PathId {
        PathId(index as u32)
    }

    pub fn establish(&mut self, index: usize) {
        let path = self.lines[index].kind.path(Self::id(index));
        self.lines[index].is_up = true;
        self.sender.path_up(path).unwrap();
        self.receiver.path_up(path).unwrap();
    }

    /// Returns the sender's path.
    pub fn active(&self) -> Option<usize> {
        self.sender.state().path().map(|path| path.0 as usize)
    }

    /// Notes which paths take messages at the sender.
    pub fn note_capacities(&mut self, config: &Config) {
        let first = self.sender.queued().next();
        for index in 0..self.lines.len() {
            let line = &self.lines[index];
            let is_blocked = match line.kind {
                // Acknowledged samples count against the window until all earlier ones are acknowledged.
                Kind::Rtps => first.is_some_and(|first| {
                    let lowest = numbers(line.unacked | line.gaps).next().unwrap_or(first);
                    first >= lowest.min(first) + u64::from(config.credit.messages)
                }),
                Kind::Best => false,
                _ => line.fifo.len() >= config.capacity,
            };
            let id = Self::id(index);
            if is_blocked { self.sender.path_blocked(id) } else { self.sender.path_writable(id) }
        }
    }

    /// Passes a message of a path to the receiver.
    pub fn message_arrives(&mut self, config: &Config, index: usize, number: u64) -> Result<(), Fault> {
        let id = Self::id(index);
        let bytes = config.bytes_of(number);
        if !self.lines[index].kind.is_numbered() {
            if self.receiver.accept_unnumbered(id) {
                return self.oracle.delivered(None, number);
            }
            self.receiver.message_unnumbered(id, number, bytes).map_err(Fault::refused)?;
        } else if self.receiver.accept_in_order(id, number) {
            self.oracle.delivered(Some(number), number)?;
        } else {
            let accepted = self.receiver.message(id, number, number, bytes).map_err(Fault::refused)?;
            let is_due = number == self.receiver.next();
            if is_due
                && accepted == Accepted::Discarded
                && self.lines.iter().all(|line| line.kind.is_numbered())
            {
                return Err(Fault(format!("order: {number} is due and was discarded")));
            }
        }
        self.pump(config)
    }

    pub fn state_item(&mut self, config: &Config, index: usize, item: Item) -> Result<(), Fault> {
        let id = Self::id(index);
        match item {
            Item::Data(number) => return self.message_arrives(config, index, number),
            Item::Begin(epoch, from, is_settled) => {
                self.receiver.begin(id, epoch, from, is_settled).map_err(Fault::refused)?
            }
            Item::Skip(to) => self.receiver.skip(id, to).map_err(Fault::refused)?,
        }
        self.pump(config)
    }

    /// Executes the receiver's actions.
    pub fn pump(&mut self, config: &Config) -> Result<(), Fault> {
        while let Some(action) = self.receiver.poll_action() {
            match action {
                ReceiveAction::Deliver { number, message } => self.oracle.delivered(number, message)?,
                ReceiveAction::Lost { from, count } => self.oracle.lost(from, count)?,
                ReceiveAction::Reached { statement: Statement::Reached { epoch, next, .. }, .. } => {
                    self.reached = Some((epoch, next));
                }
                ReceiveAction::Reached { statement, .. } => {
                    return Err(Fault(format!("statement: {statement:?} is no Reached")));
                }
                ReceiveAction::DrainPath { path } => self.drain(config, path.0 as usize)?,
                ReceiveAction::Close { path } => {
                    return Err(Fault(format!("close: {path:?} is not to be closed")));
                }
            }
        }
        self.oracle.check_bounds(&self.receiver, config)
    }

    /// Reads a connection to its end immediately, or waits for datagrams.
    fn drain(&mut self, config: &Config, index: usize) -> Result<(), Fault> {
        if self.lines[index].kind == Kind::Best || !self.takes_more(index) {
            self.lines[index].drain = true;
            return Ok(());
        }
        self.read_to_end(config, index)
    }

    /// Returns whether the receiver reads this path.
    pub fn takes_more(&self, index: usize) -> bool {
        self.lines[index].kind != Kind::Plain || self.receiver.has_capacity_unnumbered(Self::id(index))
    }

    pub fn read_to_end(&mut self, config: &Config, index: usize) -> Result<(), Fault> {
        while let Some(item) = self.lines[index].fifo.pop_front() {
            self.state_item(config, index, item)?;
            if !self.takes_more(index) && !self.lines[index].fifo.is_empty() {
                self.lines[index].drain = true;
                return Ok(());
            }
        }
        self.lines[index].drain = false;
        self.receiver.path_drained(Self::id(index));
        Ok(())
    }

    /// Returns whether all messages are delivered or counted, except the last ones that a lossy path may have lost.
    pub fn is_done(&self, config: &Config) -> bool {
        if self.published < config.messages {
            return false;
        }
        let in_flight = self.lines.iter().fold(0, |mask, line| mask | line.in_flight());
        let missing = self.oracle.missing(&self.receiver, config.messages);
        let is_lossy = self.active().is_some_and(|active| self.lines[active].kind.is_lossy());
        missing & in_flight == 0 && missing & !self.oracle.may_be_missing(&self.receiver, is_lossy) == 0
    }

    /// Returns whether messages can still travel, now or later.
    pub fn is_alive(&self) -> bool {
        self.lines.iter().any(|line| if line.is_up { !line.is_broken } else { self.births > 0 })
    }

    pub fn is_emptying(&self, index: usize) -> bool {
        matches!(self.sender.state(), SenderState::Emptying { path, .. } if path == Self::id(index))
    }
}

impl Line {
    pub fn in_flight(&self) -> u128 {
        if self.receiver_knows {
            return 0;
        }
        let data = |item: &Item| if let Item::Data(number) = item { bit(*number) } else { 0 };
        self.fifo.iter().fold(self.bag, |mask, item| mask | data(item))
    }

    pub fn fifo_data(&self) -> u128 {
        let data = |item: &Item| if let Item::Data(number) = item { bit(*number) } else { 0 };
        self.fifo.iter().fold(0, |mask, item| mask | data(item))
    }
}
