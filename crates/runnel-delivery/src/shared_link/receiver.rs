//! The subscriber's end of a shared link.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use super::resent::{Lost, Run};
use super::{PairId, writer_id};
use crate::limits::MAX_EPOCH_LEAP;
use crate::statement::Statement;

/// Statements that wait to be sent at most: the publisher makes us answer.
const MOST_WAITING: usize = 4096;

/// See the module's documentation. `S` names a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedLinkReceiver<S> {
    /// The greatest of the statements that have arrived.
    epoch: u32,
    /// The writer of the messages that come, and how often one was named.
    writer: Option<u32>,
    names: u64,
    /// It has brought something.
    has_begun: bool,
    /// Pairs that left the link before they were matched here, and that the publisher is asked to take back.
    left_early: Vec<PairId>,
    subscriptions: Vec<Subscription<S>>,
    pub(super) pairs: Vec<Pair<S>>,
    /// Writers that the publisher was told that nobody needs, and as of which epoch.
    standby: Vec<(u32, u32)>,
    /// Writers that it was told to be needed again: what the link still brings of them has a gap behind it.
    renewed: Vec<u32>,
    unsent: VecDeque<Statement>,
    /// The messages that come now are of one pair alone, and where the last of such began.
    pub(super) run: Option<Run>,
    pub(super) last_run: Option<u32>,
    /// What neither RTPS nor the link brings.
    pub(super) lost: Vec<Lost<S>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Subscription<S> {
    name: S,
    /// It has got nothing by the link.
    is_fresh: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pair<S> {
    id: PairId,
    pub(super) subscription: S,
    is_matched: bool,
    pub(super) served_by: ServedBy,
    /// What is kept was asked for.
    has_asked_for_kept: bool,
    /// The subscription has had, or has lost, all before this number; 0 if that is not known.
    pub(super) next: u64,
}

/// By what a pair gets its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ServedBy {
    /// Nothing has come: the link brings all, unless RTPS was first.
    Unstated,
    /// It came while the link carried nothing, and waits for RTPS.
    Nothing,
    Rtps,
    /// The link; what RTPS still brings was written before.
    Link,
    /// RTPS has lost it, and the link has yet to be told to bring what follows.
    Lost,
    /// The link brings what RTPS may not have delivered.
    Resent,
}

impl<S> Pair<S> {
    pub(super) fn is_on_link(&self) -> bool {
        matches!(self.served_by, ServedBy::Unstated | ServedBy::Link)
    }
}

/// How the publisher's end misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShareFault {
    /// The epoch is too far beyond the last one.
    EpochLeap(u32),
    /// It makes this end answer, and does not read the answers.
    TooManyAnswers,
    /// It states what a subscriber states.
    OfSubscriber,
}

impl fmt::Display for ShareFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EpochLeap(epoch) => write!(f, "epoch {epoch} is not plausible"),
            Self::TooManyAnswers => {
                write!(f, "more than {MOST_WAITING} of its statements wait for an answer")
            }
            Self::OfSubscriber => f.write_str("it made a statement that is a subscriber's to make"),
        }
    }
}

impl core::error::Error for ShareFault {}

/// A pair has left the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeftLink {
    /// The pair.
    pub pair: PairId,
    /// The link has brought all that there is for it before this number.
    pub before: u64,
}

impl<S: Copy + PartialEq> Default for SharedLinkReceiver<S> {
    fn default() -> Self {
        Self {
            epoch: 0,
            writer: None,
            names: 0,
            has_begun: false,
            left_early: Vec::new(),
            subscriptions: Vec::new(),
            pairs: Vec::new(),
            standby: Vec::new(),
            renewed: Vec::new(),
            unsent: VecDeque::new(),
            run: None,
            last_run: None,
            lost: Vec::new(),
        }
    }
}

impl<S: Copy + PartialEq> SharedLinkReceiver<S> {
    /// There is a subscription, which has got something by the link already or has not. What RTPS has matched it with is to be
    /// told next, and then [`review`](Self::review) called.
    pub fn add(&mut self, name: S, is_fresh: bool) {
        self.subscriptions.push(Subscription { name, is_fresh });
    }

    /// A subscription has ended, with its readers.
    pub fn remove(&mut self, name: S) {
        self.subscriptions.retain(|subscription| subscription.name != name);
        self.pairs.retain(|pair| pair.subscription != name);
        self.review();
    }

    /// RTPS has matched a reader of a subscription with a writer of the publisher.
    pub fn matched(&mut self, id: PairId, subscription: S) {
        let is_standby = self.is_standby(id.writer);
        let is_fresh = self.is_fresh(subscription);
        let index = self.index(id).unwrap_or_else(|| {
            let served_by = match self.has_begun {
                _ if self.left_early.contains(&id) => ServedBy::Lost,
                _ if is_standby && is_fresh => ServedBy::Nothing,
                // That RTPS was first would have been stated. What it brings was sent to another reader of this node.
                true => ServedBy::Link,
                false => ServedBy::Unstated,
            };
            self.pairs.push(Pair {
                id,
                subscription,
                is_matched: false,
                served_by,
                has_asked_for_kept: false,
                next: 0,
            });
            self.pairs.len() - 1
        });
        let pair = &mut self.pairs[index];
        let was_matched = core::mem::replace(&mut pair.is_matched, true);
        if !was_matched && pair.served_by != ServedBy::Rtps {
            self.unsent.push_back(Statement::Ask { id: id.id() });
        }
    }

    /// It has matched it no longer.
    pub fn unmatched(&mut self, id: PairId) {
        let Some(index) = self.index(id) else { return };
        let pair = &mut self.pairs[index];
        if core::mem::replace(&mut pair.is_matched, false) {
            if !pair.is_on_link() && pair.served_by != ServedBy::Resent {
                pair.served_by = ServedBy::Lost;
            }
            self.unsent.push_back(Statement::Return { id: id.id() });
            self.review();
        }
    }

    /// Whether a subscription is to get the message that the link brings now.
    pub fn delivers(&self, subscription: S) -> bool {
        let is_of_message =
            |pair: &&Pair<S>| pair.subscription == subscription && Some(pair.id.writer) == self.writer;
        let is_renewed = self.writer.is_some_and(|writer| self.renewed.contains(&writer));
        !is_renewed && self.pairs.iter().filter(is_of_message).all(Pair::is_on_link)
    }

    /// True if all get what the link brings, and have got something before.
    pub fn delivers_to_all(&self) -> bool {
        self.renewed.is_empty()
            && self.run.is_none()
            && self.pairs.iter().all(Pair::is_on_link)
            && !self.subscriptions.iter().any(|subscription| subscription.is_fresh)
    }

    /// The link has brought a message.
    pub fn note_message(&mut self) {
        self.has_begun = true;
        for index in 0..self.subscriptions.len() {
            let Subscription { name, is_fresh } = self.subscriptions[index];
            if is_fresh && self.delivers(name) {
                self.subscriptions[index].is_fresh = false;
            }
        }
    }

    /// Whether what RTPS brings of a pair counts.
    pub fn takes_rtps(&self, id: PairId) -> bool {
        let refuses =
            |pair: &Pair<S>| matches!(pair.served_by, ServedBy::Link | ServedBy::Lost | ServedBy::Resent);
        self.index(id).is_none_or(|index| !refuses(&self.pairs[index]))
    }

    /// The pairs that were matched, and whether what RTPS brings of each counts.
    pub fn pairs(&self) -> impl Iterator<Item = (PairId, bool)> {
        self.pairs.iter().map(|pair| (pair.id, self.takes_rtps(pair.id)))
    }

    /// Whether nobody needs the link for some writer: what was kept of it may be long outdated.
    pub fn stands_by(&self) -> bool {
        !self.standby.is_empty()
    }

    /// The link has brought a statement about a pair or a writer. What to do if a pair has left the link.
    ///
    /// # Errors
    /// It makes no sense, or the publisher does not read what it makes us say.
    pub fn statement(&mut self, statement: &Statement) -> Result<Option<LeftLink>, ShareFault> {
        let Some(id) = PairId::of(statement) else { return Ok(None) };
        if self.unsent.len() >= MOST_WAITING {
            return Err(ShareFault::TooManyAnswers);
        }
        self.has_begun = true;
        let left = match *statement {
            Statement::Number { next, .. } => {
                if next > self.names {
                    (self.writer, self.names) = (Some(id.writer), next);
                }
                None
            }
            Statement::Leave { epoch, from, .. } => {
                if self.note_epoch(epoch)? {
                    self.leave(id, epoch, from)
                } else {
                    None
                }
            }
            Statement::Begin { epoch, from, .. } => {
                if self.note_epoch(epoch)? {
                    self.serve(id, from);
                }
                None
            }
            Statement::Resent { at, number, .. } => {
                self.begin_run(Run { pair: id, at, number });
                None
            }
            _ => return Err(ShareFault::OfSubscriber),
        };
        self.review();
        Ok(left)
    }

    /// False if the statement has come already: one that memory may not have brought is stated again.
    fn note_epoch(&mut self, epoch: u32) -> Result<bool, ShareFault> {
        if epoch > self.epoch.saturating_add(MAX_EPOCH_LEAP) {
            return Err(ShareFault::EpochLeap(epoch));
        }
        let is_new = epoch > self.epoch;
        self.epoch = self.epoch.max(epoch);
        Ok(is_new)
    }

    fn leave(&mut self, id: PairId, epoch: u32, from: u64) -> Option<LeftLink> {
        let index = self.index(id);
        let Some(index) = index.filter(|index| self.pairs[*index].is_matched) else {
            if index.is_none() && self.left_early.len() < MOST_WAITING {
                self.left_early.push(id);
            }
            if let Some(index) = index {
                let pair = &mut self.pairs[index];
                // All before has come by the link.
                (pair.served_by, pair.next) = (ServedBy::Lost, pair.next.max(from));
            }
            self.unsent.push_back(Statement::Return { id: id.id() });
            return None;
        };
        let is_fresh = self.is_fresh(self.pairs[index].subscription);
        let pair = &mut self.pairs[index];
        pair.served_by = ServedBy::Rtps;
        let is_fresh = is_fresh && !core::mem::replace(&mut pair.has_asked_for_kept, true);
        if !is_fresh {
            pair.next = pair.next.max(from);
        }
        let next = if is_fresh { 1 } else { from };
        self.unsent.push_back(Statement::Reached { id: id.id(), epoch, next });
        (!is_fresh).then_some(LeftLink { pair: id, before: from })
    }

    fn serve(&mut self, id: PairId, from: u64) {
        self.run = None;
        self.left_early.retain(|early| *early != id);
        // The publisher no longer heeds a Standby for the writer: from here on the link carries all of it.
        self.standby.retain(|(writer, _)| *writer != id.writer);
        self.renewed.retain(|writer| *writer != id.writer);
        let Some(index) = self.index(id) else { return };
        let pair = &mut self.pairs[index];
        if !pair.is_on_link() && pair.next > 0 && from > pair.next {
            self.lost.push(Lost { subscription: pair.subscription, count: from - pair.next });
        }
        (pair.served_by, pair.next) = (ServedBy::Link, 0);
        if pair.is_matched {
            self.unsent.push_back(Statement::Ask { id: id.id() });
        }
    }

    /// Tells the publisher which writers' messages are needed by the link, where that has changed.
    pub fn review(&mut self) {
        let mut writers: Vec<u32> =
            self.pairs.iter().filter(|pair| !pair.is_on_link()).map(|pair| pair.id.writer).collect();
        writers.extend(self.standby.iter().map(|(writer, _)| *writer));
        writers.sort_unstable();
        writers.dedup();
        for writer in writers {
            let told = self.standby.iter().position(|(of, _)| *of == writer);
            let is_needed =
                self.subscriptions.iter().any(|subscription| self.needs(subscription.name, writer));
            match told {
                Some(index) if is_needed => {
                    self.standby.swap_remove(index);
                    self.renewed.push(writer);
                    self.unsent.push_back(Statement::Needed { id: writer_id(writer) });
                }
                Some(index) if self.standby[index].1 == self.epoch => {}
                _ if is_needed || self.epoch == 0 => {}
                told => {
                    told.map(|index| self.standby.swap_remove(index));
                    self.standby.push((writer, self.epoch));
                    self.unsent.push_back(Statement::Standby { id: writer_id(writer), epoch: self.epoch });
                }
            }
        }
    }

    fn needs(&self, subscription: S, writer: u32) -> bool {
        let is_of = |pair: &&Pair<S>| pair.subscription == subscription && pair.id.writer == writer;
        let is_needed =
            |pair: &Pair<S>| pair.is_on_link() || matches!(pair.served_by, ServedBy::Lost | ServedBy::Resent);
        self.pairs.iter().filter(is_of).all(is_needed)
    }

    /// The next statement for the publisher.
    pub fn poll_statement(&mut self) -> Option<Statement> {
        self.unsent.pop_front()
    }

    /// Whether there is one.
    pub fn has_statements(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub(super) fn index(&self, id: PairId) -> Option<usize> {
        self.pairs.iter().position(|pair| pair.id == id)
    }

    fn is_fresh(&self, subscription: S) -> bool {
        self.subscriptions.iter().any(|of| of.name == subscription && of.is_fresh)
    }

    fn is_standby(&self, writer: u32) -> bool {
        self.standby.iter().any(|(of, _)| *of == writer)
    }
}
