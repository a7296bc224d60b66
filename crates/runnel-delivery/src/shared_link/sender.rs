//! Publisher's end of a shared link.

use alloc::vec::Vec;
use core::fmt;

use super::{PairId, writer_id};
use crate::sender::ReachedError;
use crate::statement::Statement;

/// Maximum number of pairs that a subscriber may request before they are matched here.
const MAX_REQUESTED: usize = 1024;

/// Maximum number of statements that may have to be repeated on another path. Further ones replace the oldest: a
/// subscriber that confirms none of so many harms only itself.
const MAX_UNCONFIRMED: usize = 1024;

/// Publisher's end of a shared link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SharedLinkSender {
    /// Epoch of the last stated change.
    epoch: u32,
    /// The writer that the subscriber assumes for the next message, and the number of statements that named one.
    stated_writer: Option<u32>,
    names_stated: u64,
    /// The last statement about each pair and each writer, unless the subscriber is known to have handled it. By epoch.
    unconfirmed: Vec<Statement>,
    /// Writers on standby.
    standby: Vec<u32>,
    /// Pairs that the subscriber has requested and that are not matched here.
    requested: Vec<PairId>,
    leaving: Vec<Leaving>,
}

/// Pair whose messages wait for a Reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Leaving {
    pair: PairId,
    epoch: u32,
    from: u64,
}

/// State of a pair at the publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PairMatch {
    /// The writer has not matched the reader.
    Unmatched,
    /// Matched; the link carries its messages.
    OnLink,
    /// Matched; RTPS carries its messages, or is about to.
    OnRtps,
}

/// The subscriber requests too many pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubscriberFault;

impl fmt::Display for SubscriberFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the subscriber requests more than {MAX_REQUESTED} unknown readers")
    }
}

impl core::error::Error for SubscriberFault {}

impl SharedLinkSender {
    /// Returns whether the link carries messages of this writer.
    #[inline]
    pub fn carries(&self, writer: u32) -> bool {
        !self.standby.contains(&writer)
    }

    /// Returns the epoch of the last stated change; 0 before the first.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns the statement that must precede the next message on the link, which is of this writer.
    #[inline]
    pub fn before_message(&mut self, writer: u32) -> Option<Statement> {
        if self.epoch == 0 || self.stated_writer == Some(writer) {
            return None;
        }
        self.stated_writer = Some(writer);
        self.names_stated += 1;
        Some(Statement::Number { id: writer_id(writer), next: self.names_stated })
    }

    /// Returns the statements to repeat at the beginning of another path of the link, since the subscriber may not have
    /// read them on the previous one. It ignores those that it has read.
    pub fn restate(&self) -> impl Iterator<Item = Statement> {
        let name = |writer| Statement::Number { id: writer_id(writer), next: self.names_stated };
        self.unconfirmed.iter().copied().chain(self.stated_writer.map(name))
    }

    fn note(&mut self, pair: PairId, statement: Statement) {
        self.unconfirmed.retain(|of| of.id() != pair.id());
        if self.unconfirmed.len() >= MAX_UNCONFIRMED {
            self.unconfirmed.remove(0);
        }
        self.unconfirmed.push(statement);
    }

    /// Records that the subscriber has handled a statement of this epoch; it ignores earlier ones.
    fn confirm(&mut self, epoch: u32) {
        self.unconfirmed.retain(|statement| match statement {
            Statement::Leave { epoch: of, .. } | Statement::Begin { epoch: of, .. } => *of > epoch,
            _ => false,
        });
    }

    /// Handles the subscriber's request to serve a pair by RTPS. Returns whether the pair must [leave](Self::leave) the
    /// link now.
    ///
    /// # Errors
    /// The subscriber has requested too many pairs that are unknown here.
    pub fn ask(&mut self, pair: PairId, state: PairMatch) -> Result<bool, SubscriberFault> {
        if state != PairMatch::Unmatched {
            self.requested.retain(|requested| *requested != pair);
        }
        match state {
            // The Leave was stated.
            PairMatch::OnRtps => Ok(false),
            PairMatch::OnLink => Ok(true),
            PairMatch::Unmatched if self.requested.contains(&pair) => Ok(false),
            PairMatch::Unmatched if self.requested.len() >= MAX_REQUESTED => Err(SubscriberFault),
            PairMatch::Unmatched => {
                self.requested.push(pair);
                Ok(false)
            }
        }
    }

    /// Records that a pair is matched here. Returns whether the subscriber has requested it, so that it must
    /// [leave](Self::leave) now.
    pub fn matched(&mut self, pair: PairId) -> bool {
        let requested = self.requested.iter().position(|requested| *requested == pair);
        requested.map(|index| self.requested.swap_remove(index)).is_some()
    }

    /// Begins to move a pair off the link; returns the statement to make now. Its messages from `from` on wait for a
    /// Reached.
    pub fn leave(&mut self, pair: PairId, from: u64) -> Statement {
        let statement = self.declare_on_rtps(pair, from);
        self.leaving.push(Leaving { pair, epoch: self.epoch, from });
        statement
    }

    /// Records that RTPS carried a pair before the link existed, or before a part of it; returns the statement to make
    /// now.
    pub fn declare_on_rtps(&mut self, pair: PairId, from: u64) -> Statement {
        self.epoch = self.epoch.saturating_add(1);
        self.leaving.retain(|leaving| leaving.pair != pair);
        self.requested.retain(|requested| *requested != pair);
        let statement = Statement::Leave { id: pair.id(), epoch: self.epoch, from };
        self.note(pair, statement);
        statement
    }

    /// Moves a pair back to the link, which carries all messages from the next one on; returns the statement to make
    /// now.
    pub fn return_to_link(&mut self, pair: PairId, from: u64) -> Statement {
        self.epoch = self.epoch.saturating_add(1);
        self.leaving.retain(|leaving| leaving.pair != pair);
        self.requested.retain(|requested| *requested != pair);
        self.standby.retain(|writer| *writer != pair.writer);
        let statement = Statement::Begin { id: pair.id(), epoch: self.epoch, from, is_settled: false };
        self.note(pair, statement);
        statement
    }

    /// Handles a Reached: the subscriber has all messages of a pair that the link carried. Returns the number from
    /// which RTPS serves the pair, if it was leaving: 1 if the subscriber received none by the link.
    ///
    /// # Errors
    /// The subscriber cannot have reached that number.
    pub fn reached(&mut self, pair: PairId, epoch: u32, next: u64) -> Result<Option<u64>, ReachedError> {
        if epoch > self.epoch {
            return Err(ReachedError::UnknownEpoch(epoch));
        }
        self.confirm(epoch);
        let is_meant = |leaving: &Leaving| (leaving.pair, leaving.epoch) == (pair, epoch);
        let Some(index) = self.leaving.iter().position(is_meant) else { return Ok(None) };
        if next > self.leaving[index].from {
            return Err(ReachedError::NotPublished(next));
        }
        self.leaving.swap_remove(index);
        Ok(Some(next))
    }

    /// Handles a Standby: no subscription needs the messages of a writer on the link. Returns whether it holds.
    pub fn standby(&mut self, writer: u32, epoch: u32) -> bool {
        let holds = epoch == self.epoch;
        self.confirm(epoch.min(self.epoch));
        if holds && self.carries(writer) && self.standby.len() < MAX_REQUESTED {
            self.standby.push(writer);
        }
        holds
    }

    /// Handles a Needed: a subscription needs them from the next message on. Returns the statement to make now.
    pub fn needed(&mut self, writer: u32, from: u64) -> Statement {
        self.return_to_link(PairId { writer, reader: 0 }, from)
    }

    /// Forgets a writer that has ended, and the requests for its pairs.
    pub fn forget_writer(&mut self, writer: u32) {
        self.standby.retain(|of| *of != writer);
        self.requested.retain(|pair| pair.writer != writer);
        self.leaving.retain(|leaving| leaving.pair.writer != writer);
    }
}
