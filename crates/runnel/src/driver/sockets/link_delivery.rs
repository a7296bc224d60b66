//! Order of the messages of a link of ROS 1 while its connection and a channel of memory bring them.
//!
//! ```text
//!                   OPEN_SAMPLES: Begin                            all before it has come by the connection: Reached
//!  connection alone ───────────────────► those of memory are held ─────────────────────────────► memory alone
//!      ▲                                        │ the session ends                                   │ the session ends
//!      │ Begin on the connection, all is here   ▼                                                    │
//!      └────────────────────────── the connection brings what memory did not ◄───────────────────────┘
//! ```
//! Both ends count the messages of the connection from 1, or from what was stated there last. While it alone carries the link and
//! nothing is held, there is no receiver.
//!
//! A connection that never brings what is said to have gone there is not what it seems: somebody between the two ends may have
//! joined it to another. So such a link ends alone, and is made anew; the session stands.

use std::fmt;
use std::sync::Arc;

use runnel_delivery::{PairId, PathKind, PublisherFault, ReceiveAction, Statement, StreamId};
use runnel_ros1::tcpros::{FrameError, STATEMENT, StreamItem};

use super::Input;
use super::link_share::{LinkShare, name_of};
use crate::data::SubscriptionCore;
use crate::driver::memory_input::MemoryInput;
use crate::driver::pair_delivery::PairDelivery;
use crate::ipc::{Piece, SessionFault};
use crate::receive_budget::explain;

/// What a link to a publisher that understands statements has beside its connection.
pub(super) struct LinkPair {
    id: StreamId,
    /// The epoch of the last Begin on the connection. The first is that of both headers.
    epoch: u32,
    /// The number of the next message on the connection.
    next: u64,
    pub(super) memory: MemoryInput,
    /// If the publisher's node is in both graphs.
    pub(super) share: Option<Box<LinkShare>>,
}

/// What is wrong with what came by the connection of a link.
#[derive(Debug)]
pub(in crate::driver) enum LinkFault {
    Frame(FrameError),
    Pair(SessionFault),
    /// It brought messages that are to come by memory.
    TooMuch,
    /// What is stated of subscriptions makes no sense.
    Share(PublisherFault),
    /// A channel was opened that is older than another one of the link.
    OpenedTwice,
    /// A channel brought what its link does not have.
    NotOfLink,
}

impl From<SessionFault> for LinkFault {
    fn from(fault: SessionFault) -> Self {
        Self::Pair(fault)
    }
}

impl From<FrameError> for LinkFault {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(error) => f.write_str(&explain(*error)),
            Self::Pair(fault) => fault.fmt(f),
            Self::Share(fault) => fault.fmt(f),
            Self::TooMuch => f.write_str("its connection gave more than is said to have gone there"),
            Self::OpenedTwice => f.write_str("it was opened twice in shared memory"),
            Self::NotOfLink => f.write_str("a sample came by the channel of a link that has none"),
        }
    }
}

impl LinkPair {
    /// A link of which nothing has come.
    pub(super) fn new(stream: u64, is_shared: bool) -> Self {
        let id = StreamId { stream, subscription: 0 };
        let share = is_shared.then(Box::default);
        Self { id, epoch: 1, next: 1, memory: MemoryInput::default(), share }
    }

    /// Whether all subscriptions get what comes next.
    #[inline]
    pub(super) fn delivers_to_all(&self) -> bool {
        let delivers = |share: &LinkShare| !share.returns.is_waiting() && share.receiver.delivers_to_all();
        self.share.as_deref().is_none_or(delivers)
    }

    /// Does what is stated before the next message.
    fn advance_share(&mut self) -> Result<(), LinkFault> {
        let Some(share) = self.share.as_mut().filter(|share| share.is_waiting()) else { return Ok(()) };
        let next = self.memory.delivery.as_ref().map_or(u64::MAX, |delivery| delivery.receiver.next());
        share.advance(next)
    }

    /// What the publisher is told of how far this end is.
    pub(super) fn reached(&self) -> Statement {
        let receiver = self.memory.delivery.as_ref().map(|delivery| &delivery.receiver);
        let (epoch, next) =
            receiver.map_or((self.epoch, self.next), |receiver| (receiver.epoch(), receiver.next()));
        Statement::Reached { id: self.id, epoch, next }
    }

    /// The receiver, which is made if there is none.
    pub(super) fn receiving(&mut self) -> Result<&mut PairDelivery, SessionFault> {
        if self.memory.delivery.is_none() {
            let delivery = PairDelivery::new(self.id, PathKind::Tcpros, (self.epoch, self.next), false);
            self.memory.delivery = Some(Box::new(delivery.map_err(SessionFault::Delivery)?));
        }
        self.memory.delivery.as_deref_mut().ok_or(SessionFault::UnexpectedStatement)
    }

    /// Whether the connection has brought messages that memory is to bring.
    pub(super) fn gave_too_much(&self) -> bool {
        let Some(delivery) = &self.memory.delivery else { return false };
        self.memory.has_channel() && self.epoch < delivery.receiver.epoch() && self.next > delivery.first
    }

    /// Whether the connection still owes messages of before memory.
    fn waits_for_connection(&self) -> bool {
        self.memory.delivery.as_ref().is_some_and(|delivery| delivery.waits_for_network())
    }

    /// A link that its connection alone carries, with nothing held, needs no receiver.
    fn settle(&mut self) {
        let is_settled = |delivery: &PairDelivery| {
            let receiver = &delivery.receiver;
            let is_newest = self.epoch >= receiver.epoch();
            is_newest && receiver.held() == 0 && receiver.next() == self.next
        };
        if !self.memory.has_channel() && self.memory.delivery.as_deref().is_some_and(is_settled) {
            self.memory.delivery = None;
        }
    }
}

impl Input {
    /// The connection has brought a message or a statement.
    pub(in crate::driver) fn hear_part(&mut self, part: StreamItem) -> Result<(), LinkFault> {
        match part {
            StreamItem::Message(message) => self.hear_message(message),
            StreamItem::Statement(bytes) => self.hear_statement(&bytes),
        }
    }

    /// The connection has brought a message.
    pub(super) fn hear_message(&mut self, message: Vec<u8>) -> Result<(), LinkFault> {
        let Some(pair) = &mut self.pair else {
            self.topic.push(message, &self.from);
            return Ok(());
        };
        let number = pair.next;
        pair.next += 1;
        if pair.gave_too_much() {
            return Err(LinkFault::TooMuch);
        }
        let is_for_all = pair.delivers_to_all();
        match &mut pair.memory.delivery {
            None if is_for_all => self.topic.push(message, &self.from),
            None => self.give_to_some(number, Piece::Own(message))?,
            Some(delivery) => {
                delivery.message_of_network(number, message);
                self.give_due()?;
            }
        }
        Ok(())
    }

    /// The connection says which messages it brings.
    fn hear_statement(&mut self, bytes: &[u8; STATEMENT]) -> Result<(), LinkFault> {
        let statement = Statement::parse(bytes).map_err(SessionFault::Statement)?;
        if PairId::from_statement(&statement).is_some() {
            let number = self.pair.as_ref().map_or(0, |pair| pair.next);
            return self.hear_shared(number, statement);
        }
        let Some(pair) = self.pair.as_mut().filter(|pair| statement.id() == pair.id) else {
            return Err(SessionFault::UnexpectedStatement.into());
        };
        match statement {
            Statement::Begin { epoch, from, .. } => {
                pair.receiving()?.begin_network(epoch, from).map_err(SessionFault::Delivery)?;
                (pair.epoch, pair.next) = (epoch, from);
            }
            Statement::Skip { to, .. } => {
                let lost = to.saturating_sub(pair.next);
                pair.next = pair.next.max(to);
                match &mut pair.memory.delivery {
                    None => self.lose(lost),
                    Some(delivery) => delivery.skip_of_network(to),
                }
            }
            _ => return Err(SessionFault::UnexpectedStatement.into()),
        }
        self.give_due()
    }

    /// Something is stated of the subscriptions that share the link, before the message of this number.
    pub(super) fn hear_shared(&mut self, number: u64, statement: Statement) -> Result<(), LinkFault> {
        let Some(share) = self.share() else { return Err(SessionFault::UnexpectedStatement.into()) };
        share.add(number, statement)?;
        self.give_due()
    }

    /// Gives a message to the subscriptions that the link serves, unless it is to wait.
    fn give_to_some(&mut self, number: u64, message: Piece) -> Result<(), LinkFault> {
        let Some(share) = self.share() else { return Ok(()) };
        if let Some(message) = share.defer(number, message)? {
            self.give_by_link(number, message);
        }
        Ok(())
    }

    /// Gives a message to the subscriptions that the link serves.
    pub(super) fn give_by_link(&mut self, number: u64, message: Piece) {
        let resent = self.share().and_then(|share| share.receiver.resent(number));
        if let Some(resent) = resent {
            return self.give_resent(resent, message);
        }
        let Self { topic, from, pair, .. } = self;
        let Some(share) = pair.as_mut().and_then(|pair| pair.share.as_deref_mut()) else { return };
        topic.push_to(message.into_bytes(), from, |core| share.receiver.delivers(name_of(core)));
        share.is_settled |= share.receiver.note_message();
    }

    fn give(&mut self, number: u64, message: Piece) -> Result<(), LinkFault> {
        if self.pair.as_ref().is_some_and(|pair| !pair.delivers_to_all()) {
            return self.give_to_some(number, message);
        }
        match message {
            Piece::Lent(lent) => self.topic.push_lent(lent, &self.from),
            Piece::Own(bytes) => self.topic.push(bytes, &self.from),
        }
        Ok(())
    }

    /// Messages are lost for the subscriptions that the link serves. What is lost of one pair alone is known by its numbers.
    fn lose(&mut self, count: u64) {
        let share = self.pair.as_ref().and_then(|pair| pair.share.as_deref());
        if share.is_some_and(|share| share.receiver.is_in_run()) {
            return;
        }
        let is_served =
            |core: &Arc<SubscriptionCore>| share.is_none_or(|share| share.receiver.delivers(name_of(core)));
        self.topic.lose_for(count, &self.from, is_served);
    }

    /// Gives the subscriptions what is due.
    pub(super) fn give_due(&mut self) -> Result<(), LinkFault> {
        while let Some(action) = self.next_action()? {
            match action {
                ReceiveAction::Deliver { number, message } => {
                    self.give(number.unwrap_or_default(), message)?
                }
                ReceiveAction::Lost { count, .. } => self.lose(count),
                ReceiveAction::Reached { statement, .. } => {
                    self.pair.as_mut().into_iter().for_each(|pair| pair.memory.untold = Some(statement));
                }
                // No path of a link is read before another one, or closed.
                ReceiveAction::DrainPath { path } => {
                    let delivery = self.pair.as_mut().and_then(|pair| pair.memory.delivery.as_mut());
                    delivery.into_iter().for_each(|delivery| delivery.receiver.path_drained(path));
                }
                ReceiveAction::Close { .. } => {}
            }
        }
        let Some(pair) = &mut self.pair else { return Ok(()) };
        pair.settle();
        pair.advance_share()?;
        self.lose_for_good();
        Ok(())
    }

    fn next_action(&mut self) -> Result<Option<ReceiveAction<Piece>>, LinkFault> {
        let Some(pair) = &mut self.pair else { return Ok(None) };
        pair.advance_share()?;
        Ok(pair.memory.delivery.as_mut().and_then(|delivery| delivery.receiver.poll_action()))
    }

    /// The link ends: what is held is the user's, whatever is missing before it.
    pub(super) fn finish_delivery(&mut self) {
        let delivery = self.pair.as_mut().and_then(|pair| pair.memory.delivery.as_mut());
        if let Some(delivery) = delivery {
            delivery.skip_of_network(delivery.position);
            // It ends as it is.
            let _ = self.give_due();
        }
        self.resume_to_the_end();
    }

    /// The link makes no sense: what is held of it while its connection owes something is lost.
    pub(super) fn lose_held(&mut self) {
        if !self.owes() {
            return;
        }
        let delivery = self.pair.as_mut().and_then(|pair| pair.memory.delivery.take());
        let held = delivery.map_or(0, |delivery| delivery.receiver.held());
        self.lose(held as u64);
    }

    pub(super) fn owes(&self) -> bool {
        self.pair.as_ref().is_some_and(|pair| pair.waits_for_connection())
    }

    /// Something that the publisher is to be told.
    pub(super) fn has_untold(&self) -> bool {
        self.pair.as_ref().is_some_and(|pair| pair.memory.untold.is_some())
    }
}
