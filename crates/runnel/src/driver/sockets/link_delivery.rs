//! Order of a ROS 1 link's messages while its connection and a channel of shared memory deliver them.
//!
//! ```text
//!                    OPEN_SAMPLES: Begin                         connection has delivered all earlier ones: Reached
//!  connection only ────────────────────► messages of memory held ───────────────────────────────────► memory only
//!      ▲                                   │ IPC connection ends                                         │ IPC connection ends
//!      │ Begin on the connection,          ▼                                                             │
//!      │ nothing held                                                                                    │
//!      └─────────────── the connection delivers what memory did not ◄────────────────────────────────────┘
//! ```
//! Both ends count the messages of the connection from 1, or from the last statement there. While only the connection delivers
//! and nothing is held, there is no receiver.
//!
//! A connection that never delivers its stated messages is not what it seems: a third party may have joined it to another. So
//! such a link ends and is made again. The IPC connection remains.

use std::fmt;
use std::sync::Arc;

use runnel_delivery::{PairId, PathKind, PublisherFault, ReceiveAction, Statement, StreamId};
use runnel_ros1::tcpros::{FrameError, STATEMENT, StreamItem};

use super::Input;
use super::link_share::{LinkShare, id_of};
use crate::data::SubscriptionCore;
use crate::driver::memory_input::MemoryInput;
use crate::driver::pair_delivery::PairDelivery;
use crate::ipc::{IpcFault, SampleData};
use crate::settings::receive_budget::explain;

/// Shared memory and shared subscriptions of a link to a publisher that understands statements.
pub(super) struct LinkPair {
    id: StreamId,
    /// Epoch of the last Begin on the connection. The headers count as the first.
    epoch: u32,
    /// Number of the next message on the connection.
    next: u64,
    pub(super) memory: MemoryInput,
    /// Set if the publisher's node is a dual node.
    pub(super) share: Option<Box<LinkShare>>,
}

/// A fault of a publisher on its link.
#[derive(Debug)]
pub(in crate::driver) enum LinkFault {
    Frame(FrameError),
    Pair(IpcFault),
    /// The connection delivered messages that belong to shared memory.
    TooMuch,
    /// An invalid statement about subscriptions.
    Share(PublisherFault),
    /// A channel was opened with an old epoch.
    OpenedTwice,
    /// A channel delivered samples for a link that has none.
    NotOfLink,
}

impl From<IpcFault> for LinkFault {
    fn from(fault: IpcFault) -> Self {
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
            Self::TooMuch => f.write_str("its connection delivered more than its peer stated"),
            Self::OpenedTwice => f.write_str("its shared-memory channel was opened twice"),
            Self::NotOfLink => f.write_str("its channel delivered a sample, which such a link does not have"),
        }
    }
}

impl LinkPair {
    /// A new link.
    pub(super) fn new(stream: u64, is_shared: bool) -> Self {
        let id = StreamId { stream, subscription: 0 };
        let share = is_shared.then(Box::default);
        Self { id, epoch: 1, next: 1, memory: MemoryInput::default(), share }
    }

    /// Whether all subscriptions get the next message.
    #[inline]
    pub(super) fn delivers_to_all(&self) -> bool {
        let delivers = |share: &LinkShare| !share.returns.is_waiting() && share.receiver.delivers_to_all();
        self.share.as_deref().is_none_or(delivers)
    }

    /// Applies the statements that come before the next message.
    fn advance_share(&mut self) -> Result<(), LinkFault> {
        let Some(share) = self.share.as_mut().filter(|share| share.is_waiting()) else { return Ok(()) };
        let next = self.memory.delivery.as_ref().map_or(u64::MAX, |delivery| delivery.receiver.next());
        share.advance(next)
    }

    /// Report to the publisher about this end's position.
    pub(super) fn reached(&self) -> Statement {
        let receiver = self.memory.delivery.as_ref().map(|delivery| &delivery.receiver);
        let (epoch, next) =
            receiver.map_or((self.epoch, self.next), |receiver| (receiver.epoch(), receiver.next()));
        Statement::Reached { id: self.id, epoch, next }
    }

    /// The receiver, created if there is none.
    pub(super) fn receiving(&mut self) -> Result<&mut PairDelivery, IpcFault> {
        if self.memory.delivery.is_none() {
            let delivery = PairDelivery::new(self.id, PathKind::Tcpros, (self.epoch, self.next), false);
            self.memory.delivery = Some(Box::new(delivery.map_err(IpcFault::Delivery)?));
        }
        self.memory.delivery.as_deref_mut().ok_or(IpcFault::UnexpectedStatement)
    }

    /// Whether the connection has delivered messages that belong to shared memory.
    pub(super) fn connection_overran(&self) -> bool {
        let Some(delivery) = &self.memory.delivery else { return false };
        self.memory.has_channel() && self.epoch < delivery.receiver.epoch() && self.next > delivery.first
    }

    /// Whether the connection has yet to deliver messages of before the handover.
    fn waits_for_connection(&self) -> bool {
        self.memory.delivery.as_ref().is_some_and(|delivery| delivery.waits_for_network())
    }

    /// Removes the receiver once only the connection delivers and nothing is held.
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
    /// Takes a message or a statement from the connection.
    pub(in crate::driver) fn receive_item(&mut self, part: StreamItem) -> Result<(), LinkFault> {
        match part {
            StreamItem::Message(message) => self.receive_message(message),
            StreamItem::Statement(bytes) => self.receive_statement(&bytes),
        }
    }

    /// Takes a message from the connection.
    pub(super) fn receive_message(&mut self, message: Vec<u8>) -> Result<(), LinkFault> {
        let Some(pair) = &mut self.pair else {
            self.topic.push(message, &self.from);
            return Ok(());
        };
        let number = pair.next;
        pair.next += 1;
        if pair.connection_overran() {
            return Err(LinkFault::TooMuch);
        }
        let is_for_all = pair.delivers_to_all();
        match &mut pair.memory.delivery {
            None if is_for_all => self.topic.push(message, &self.from),
            None => self.deliver_to_served(number, SampleData::Own(message))?,
            Some(delivery) => {
                delivery.message_of_network(number, message);
                self.deliver_due()?;
            }
        }
        Ok(())
    }

    /// Takes a statement from the connection.
    fn receive_statement(&mut self, bytes: &[u8; STATEMENT]) -> Result<(), LinkFault> {
        let statement = Statement::parse(bytes).map_err(IpcFault::Statement)?;
        if PairId::from_statement(&statement).is_some() {
            let number = self.pair.as_ref().map_or(0, |pair| pair.next);
            return self.receive_shared_statement(number, statement);
        }
        let Some(pair) = self.pair.as_mut().filter(|pair| statement.id() == pair.id) else {
            return Err(IpcFault::UnexpectedStatement.into());
        };
        match statement {
            Statement::Begin { epoch, from, .. } => {
                pair.receiving()?.begin_network(epoch, from).map_err(IpcFault::Delivery)?;
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
            _ => return Err(IpcFault::UnexpectedStatement.into()),
        }
        self.deliver_due()
    }

    /// Takes a statement about the subscriptions that share the link. It comes before the message with this number.
    pub(super) fn receive_shared_statement(
        &mut self,
        number: u64,
        statement: Statement,
    ) -> Result<(), LinkFault> {
        let Some(share) = self.share() else { return Err(IpcFault::UnexpectedStatement.into()) };
        share.add(number, statement)?;
        self.deliver_due()
    }

    /// Gives a message to the subscriptions that the link serves, or keeps it if it must wait.
    fn deliver_to_served(&mut self, number: u64, message: SampleData) -> Result<(), LinkFault> {
        let Some(share) = self.share() else { return Ok(()) };
        if let Some(message) = share.defer(number, message)? {
            self.deliver_by_link(number, message);
        }
        Ok(())
    }

    /// Gives a message to the subscriptions that the link serves.
    pub(super) fn deliver_by_link(&mut self, number: u64, message: SampleData) {
        let resent = self.share().and_then(|share| share.receiver.resent(number));
        if let Some(resent) = resent {
            return self.deliver_resent(resent, message);
        }
        let Self { topic, from, pair, .. } = self;
        let Some(share) = pair.as_mut().and_then(|pair| pair.share.as_deref_mut()) else { return };
        topic.push_to(message.into_bytes(), from, |core| share.receiver.delivers(id_of(core)));
        share.is_settled |= share.receiver.note_message();
    }

    fn deliver(&mut self, number: u64, message: SampleData) -> Result<(), LinkFault> {
        if self.pair.as_ref().is_some_and(|pair| !pair.delivers_to_all()) {
            return self.deliver_to_served(number, message);
        }
        match message {
            SampleData::Borrowed(lent) => self.topic.push_borrowed(lent, &self.from),
            SampleData::Own(bytes) => self.topic.push(bytes, &self.from),
        }
        Ok(())
    }

    /// Counts lost messages for the subscriptions that the link serves. Losses of a single pair are known from its
    /// numbers.
    fn lose(&mut self, count: u64) {
        let share = self.pair.as_ref().and_then(|pair| pair.share.as_deref());
        if share.is_some_and(|share| share.receiver.is_in_run()) {
            return;
        }
        let is_served =
            |core: &Arc<SubscriptionCore>| share.is_none_or(|share| share.receiver.delivers(id_of(core)));
        self.topic.lose_for(count, &self.from, is_served);
    }

    /// Gives due messages to the subscriptions.
    pub(super) fn deliver_due(&mut self) -> Result<(), LinkFault> {
        while let Some(action) = self.next_action()? {
            match action {
                ReceiveAction::Deliver { number, message } => {
                    self.deliver(number.unwrap_or_default(), message)?
                }
                ReceiveAction::Lost { count, .. } => self.lose(count),
                ReceiveAction::Reached { statement, .. } => {
                    self.pair
                        .as_mut()
                        .into_iter()
                        .for_each(|pair| pair.memory.unsent_report = Some(statement));
                }
                // Paths of a link are neither drained nor closed.
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
        self.count_lost();
        Ok(())
    }

    fn next_action(&mut self) -> Result<Option<ReceiveAction<SampleData>>, LinkFault> {
        let Some(pair) = &mut self.pair else { return Ok(None) };
        pair.advance_share()?;
        Ok(pair.memory.delivery.as_mut().and_then(|delivery| delivery.receiver.poll_action()))
    }

    /// Ends the link: held messages go to the user, whatever is missing before them.
    pub(super) fn finish_delivery(&mut self) {
        let delivery = self.pair.as_mut().and_then(|pair| pair.memory.delivery.as_mut());
        if let Some(delivery) = delivery {
            delivery.skip_of_network(delivery.position);
            // An error changes nothing, since the link ends.
            let _ = self.deliver_due();
        }
        self.resume_all();
    }

    /// Drops and counts the held messages of a faulty link whose connection has yet to deliver earlier ones.
    pub(super) fn drop_held(&mut self) {
        if !self.awaits_connection() {
            return;
        }
        let delivery = self.pair.as_mut().and_then(|pair| pair.memory.delivery.take());
        let held = delivery.map_or(0, |delivery| delivery.receiver.held());
        self.lose(held as u64);
    }

    pub(super) fn awaits_connection(&self) -> bool {
        self.pair.as_ref().is_some_and(|pair| pair.waits_for_connection())
    }

    /// Whether a report to the publisher is due.
    pub(super) fn has_unsent_report(&self) -> bool {
        self.pair.as_ref().is_some_and(|pair| pair.memory.unsent_report.is_some())
    }
}
