//! The publisher's end of a shared link.

use alloc::vec::Vec;
use core::fmt;

use super::{PairId, writer_id};
use crate::sender::ReachedError;
use crate::statement::Statement;

/// Pairs that a subscriber may ask for before they are matched here.
const MOST_ASKED: usize = 1024;

/// Statements that may have to be repeated on another path. Further ones replace the oldest: a subscriber that confirms none of
/// so many harms itself alone.
const MOST_UNCONFIRMED: usize = 1024;

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SharedLinkSender {
    /// Of the last change that was stated.
    epoch: u32,
    /// The writer that the subscriber takes the next message to be of, and how often one was named.
    stated_writer: Option<u32>,
    names: u64,
    /// The last statement about each pair and each writer, unless the subscriber is known to have handled it. By epoch.
    unconfirmed: Vec<Statement>,
    /// Writers for which the link is on standby.
    standby: Vec<u32>,
    /// Pairs that the subscriber has asked for, and that are not matched here.
    asked: Vec<PairId>,
    leaving: Vec<Leaving>,
}

/// A pair whose messages wait for a Reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Leaving {
    pair: PairId,
    epoch: u32,
    from: u64,
}

/// What the publisher knows of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PairMatch {
    /// Its writer has not matched its reader.
    Unmatched,
    /// It is matched, and the link carries what is for it.
    OnLink,
    /// It is matched, and RTPS carries what is for it, or is about to.
    OnRtps,
}

/// The subscriber asks for too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubscriberFault;

impl fmt::Display for SubscriberFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {MOST_ASKED} readers are asked for that are not known")
    }
}

impl core::error::Error for SubscriberFault {}

impl SharedLinkSender {
    /// Whether the link carries messages of this writer.
    #[inline]
    pub fn carries(&self, writer: u32) -> bool {
        !self.standby.contains(&writer)
    }

    /// Of the last change that was stated; 0 before the first.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Of the next message on the link, which is of this writer: what is to be stated before it.
    #[inline]
    pub fn before_message(&mut self, writer: u32) -> Option<Statement> {
        if self.epoch == 0 || self.stated_writer == Some(writer) {
            return None;
        }
        self.stated_writer = Some(writer);
        self.names += 1;
        Some(Statement::Number { id: writer_id(writer), next: self.names })
    }

    /// What is to be stated again at the beginning of another path of the link, since the subscriber may have yet to read it on
    /// the one before. It passes over what it has read.
    pub fn restate(&self) -> impl Iterator<Item = Statement> {
        let name = |writer| Statement::Number { id: writer_id(writer), next: self.names };
        self.unconfirmed.iter().copied().chain(self.stated_writer.map(name))
    }

    fn note(&mut self, pair: PairId, statement: Statement) {
        self.unconfirmed.retain(|of| of.id() != pair.id());
        if self.unconfirmed.len() >= MOST_UNCONFIRMED {
            self.unconfirmed.remove(0);
        }
        self.unconfirmed.push(statement);
    }

    /// The subscriber has handled a statement of this epoch, and passes over all before it.
    fn confirm(&mut self, epoch: u32) {
        self.unconfirmed.retain(|statement| match statement {
            Statement::Leave { epoch: of, .. } | Statement::Begin { epoch: of, .. } => *of > epoch,
            _ => false,
        });
    }

    /// The subscriber asks to have a pair on RTPS. Whether it is to [leave](Self::leave) the link now.
    ///
    /// # Errors
    /// It has asked for too many that are not known here.
    pub fn ask(&mut self, pair: PairId, is: PairMatch) -> Result<bool, SubscriberFault> {
        if is != PairMatch::Unmatched {
            self.asked.retain(|asked| *asked != pair);
        }
        match is {
            // That it leaves has been stated.
            PairMatch::OnRtps => Ok(false),
            PairMatch::OnLink => Ok(true),
            PairMatch::Unmatched if self.asked.contains(&pair) => Ok(false),
            PairMatch::Unmatched if self.asked.len() >= MOST_ASKED => Err(SubscriberFault),
            PairMatch::Unmatched => {
                self.asked.push(pair);
                Ok(false)
            }
        }
    }

    /// A pair is matched here. Whether the subscriber has asked for it already, so that it is to [leave](Self::leave) now.
    pub fn matched(&mut self, pair: PairId) -> bool {
        let asked = self.asked.iter().position(|asked| *asked == pair);
        asked.map(|index| self.asked.swap_remove(index)).is_some()
    }

    /// A pair leaves the link: what is to be stated now. Its messages from `from` on wait for a Reached.
    pub fn leave(&mut self, pair: PairId, from: u64) -> Statement {
        let statement = self.declare_on_rtps(pair, from);
        self.leaving.push(Leaving { pair, epoch: self.epoch, from });
        statement
    }

    /// RTPS carries a pair since before there was the link, or a part of that: what is to be stated now.
    pub fn declare_on_rtps(&mut self, pair: PairId, from: u64) -> Statement {
        self.epoch = self.epoch.saturating_add(1);
        self.leaving.retain(|leaving| leaving.pair != pair);
        self.asked.retain(|asked| *asked != pair);
        let statement = Statement::Leave { id: pair.id(), epoch: self.epoch, from };
        self.note(pair, statement);
        statement
    }

    /// RTPS carries a pair no longer, and the link all from the next message on: what is to be stated now.
    pub fn return_to_link(&mut self, pair: PairId, from: u64) -> Statement {
        self.epoch = self.epoch.saturating_add(1);
        self.leaving.retain(|leaving| leaving.pair != pair);
        self.asked.retain(|asked| *asked != pair);
        self.standby.retain(|writer| *writer != pair.writer);
        let statement = Statement::Begin { id: pair.id(), epoch: self.epoch, from, is_settled: false };
        self.note(pair, statement);
        statement
    }

    /// The subscriber has all of a pair that came by the link. Gives the number from which on it is to get messages by RTPS, if
    /// that is what was waited for: 1 if it has got none by the link.
    ///
    /// # Errors
    /// It cannot be there.
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

    /// The subscriber says that no subscription needs the messages of a writer by the link. Whether that holds.
    pub fn standby(&mut self, writer: u32, epoch: u32) -> bool {
        let holds = epoch == self.epoch;
        self.confirm(epoch.min(self.epoch));
        if holds && self.carries(writer) && self.standby.len() < MOST_ASKED {
            self.standby.push(writer);
        }
        holds
    }

    /// The subscriber says that some subscription needs them: what is to be stated now. They come from the next message on.
    pub fn needed(&mut self, writer: u32, from: u64) -> Statement {
        self.return_to_link(PairId { writer, reader: 0 }, from)
    }

    /// A writer has ended: what its pairs waited for does not come.
    pub fn forget_writer(&mut self, writer: u32) {
        self.standby.retain(|of| *of != writer);
        self.asked.retain(|pair| pair.writer != writer);
        self.leaving.retain(|leaving| leaving.pair.writer != writer);
    }
}
