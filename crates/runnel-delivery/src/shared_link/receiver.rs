//! The subscriber's end of a shared link.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::fault::{MOST_WAITING, ShareFault};
use super::pair::{Pair, ServedBy, Subscription};
use super::resent::{Lost, Run, number_on_link};
use super::{PairId, writer_id};
use crate::limits::MAX_EPOCH_LEAP;
use crate::statement::Statement;

/// Pairs that are remembered though RTPS has unmatched them: it may match them again. Each writer that ends leaves one.
const MOST_UNMATCHED: usize = 64;
const MOST_RETURNING: usize = 4096;

/// See the module's documentation. `S` names a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedLinkReceiver<S> {
    /// The greatest epoch of the statements that have arrived.
    epoch: u32,
    /// The writer of the messages that follow on the link, and the number of the statement that named it.
    writer: Option<u32>,
    names: u64,
    /// It has brought something.
    has_begun: bool,
    subscriptions: Vec<Subscription<S>>,
    /// Their readers.
    readers: Vec<(u32, S)>,
    /// Pairs that RTPS had lost before there was the link, and the number before which it had brought all.
    pub(super) had: Vec<(PairId, u64)>,
    pub(super) pairs: Vec<Pair<S>>,
    /// Writers for which a Standby was sent, and its epoch.
    standby: Vec<(u32, u32)>,
    /// Writers for which a Needed was sent that no Begin has answered yet: messages of theirs that still arrive come before a gap.
    renewed: Vec<u32>,
    /// Pairs that RTPS had not matched when they were to leave: a Return was sent that no Begin has answered yet.
    returned: VecDeque<PairId>,
    /// Statements for the publisher.
    unsent: VecDeque<Statement>,
    /// The messages that come now are of one pair alone, and where the last of such began.
    pub(super) run: Option<Run>,
    pub(super) last_run: Option<u64>,
    pub(super) next_on_link: u64,
    /// What neither RTPS nor the link brings.
    pub(super) lost: Vec<Lost<S>>,
}

/// A pair that has left the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeftLink {
    /// The pair.
    pub pair: PairId,
    /// The link has carried all messages of the writer before this number.
    pub before: u64,
}

impl<S: Copy + PartialEq> Default for SharedLinkReceiver<S> {
    fn default() -> Self {
        Self {
            epoch: 0,
            writer: None,
            names: 0,
            has_begun: false,
            subscriptions: Vec::new(),
            readers: Vec::new(),
            had: Vec::new(),
            pairs: Vec::new(),
            standby: Vec::new(),
            renewed: Vec::new(),
            returned: VecDeque::new(),
            unsent: VecDeque::new(),
            run: None,
            last_run: None,
            next_on_link: 0,
            lost: Vec::new(),
        }
    }
}

impl<S: Copy + PartialEq> SharedLinkReceiver<S> {
    /// Adds a subscription; `is_fresh` if it has received no message by the link. The caller then adds its
    /// [readers](Self::add_reader) and the pairs that RTPS has matched ([`matched`](Self::matched)), and calls
    /// [`review`](Self::review).
    pub fn add(&mut self, name: S, is_fresh: bool) {
        self.subscriptions.push(Subscription { name, is_fresh });
    }

    /// A subscription has a reader, with which the publisher's node may match a writer before this end does.
    pub fn add_reader(&mut self, reader: u32, subscription: S) {
        self.readers.retain(|(of, _)| *of != reader);
        self.readers.push((reader, subscription));
    }

    /// Of a pair that RTPS had lost before there was the link: the subscription has had what it gets of it before this number.
    /// What lies between that and the link may have come by another link.
    pub fn add_lost_pair(&mut self, id: PairId, next: u64) {
        self.had.push((id, next));
    }

    /// Removes a subscription that has ended, with its readers.
    pub fn remove(&mut self, name: S) {
        self.subscriptions.retain(|subscription| subscription.name != name);
        self.readers.retain(|(_, subscription)| *subscription != name);
        for pair in self.pairs.extract_if(.., |pair| pair.subscription == name) {
            if pair.is_matched && !pair.is_returning && pair.served_by != ServedBy::Rtps {
                // The publisher would remember that it was asked for.
                self.unsent.push_back(Statement::Return { id: pair.id.id() });
            }
        }
        self.review();
    }

    /// RTPS has matched a reader of a subscription with a writer of the publisher's node.
    pub fn matched(&mut self, id: PairId, subscription: S) {
        let is_standby = self.is_standby(id.writer);
        let is_fresh = self.is_fresh(subscription);
        let index = self.index(id).unwrap_or_else(|| {
            // Once the publisher has the Return, the link brings what it has of RTPS for the pair. What the link has brought meanwhile
            // must not come twice.
            let is_returning = self.returned.contains(&id);
            self.returned.retain(|returned| *returned != id);
            let served_by = match self.has_begun {
                _ if is_returning && is_fresh => ServedBy::Lost,
                _ if is_returning => ServedBy::Link,
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
                is_returning,
                has_asked_for_kept: false,
                next: 0,
            });
            self.pairs.len() - 1
        });
        let pair = &mut self.pairs[index];
        let was_matched = core::mem::replace(&mut pair.is_matched, true);
        // Where a Return is under way, the Begin that answers it comes first.
        if !was_matched && !pair.is_returning && pair.served_by != ServedBy::Rtps {
            self.unsent.push_back(Statement::Ask { id: id.id() });
        }
    }

    /// RTPS has unmatched a pair.
    pub fn unmatched(&mut self, id: PairId) {
        let Some(index) = self.index(id) else { return };
        let pair = &mut self.pairs[index];
        if core::mem::replace(&mut pair.is_matched, false) {
            if !pair.is_on_link() && pair.served_by != ServedBy::Resent {
                pair.served_by = ServedBy::Lost;
            }
            self.return_pair(index);
            self.forget_unmatched();
            self.review();
        }
    }

    /// States that a pair needs the link, unless that was stated already.
    fn return_pair(&mut self, index: usize) {
        let pair = &mut self.pairs[index];
        if !core::mem::replace(&mut pair.is_returning, true) {
            self.unsent.push_back(Statement::Return { id: pair.id.id() });
        }
    }

    fn return_unknown(&mut self, id: PairId) {
        self.unsent.push_back(Statement::Return { id: id.id() });
        self.returned.retain(|returned| *returned != id);
        if self.returned.len() >= MOST_UNMATCHED {
            self.returned.pop_front();
        }
        self.returned.push_back(id);
    }

    /// Of pairs that the link is about to bring something for, more are remembered: many can be lost at once.
    fn forget_unmatched(&mut self) {
        for (most, is_returning) in [(MOST_UNMATCHED, false), (MOST_RETURNING, true)] {
            let is_meant = |pair: &Pair<S>| !pair.is_matched && pair.is_returning == is_returning;
            if self.pairs.iter().filter(|pair| is_meant(pair)).count() > most
                && let Some(oldest) = self.pairs.iter().position(is_meant)
            {
                self.pairs.remove(oldest);
            }
        }
    }

    /// Whether the next message of the link is delivered to a subscription.
    pub fn delivers(&self, subscription: S) -> bool {
        let is_of_message =
            |pair: &&Pair<S>| pair.subscription == subscription && Some(pair.id.writer) == self.writer;
        let is_renewed = self.writer.is_some_and(|writer| self.renewed.contains(&writer));
        !is_renewed && self.pairs.iter().filter(is_of_message).all(Pair::is_on_link)
    }

    /// True if the next message of the link is delivered to all subscriptions, and none of them is fresh.
    pub fn delivers_to_all(&self) -> bool {
        self.renewed.is_empty()
            && self.run.is_none()
            && self.pairs.iter().all(Pair::is_on_link)
            && !self.subscriptions.iter().any(|subscription| subscription.is_fresh)
    }

    /// A message of the link was delivered to the subscriptions that [it is for](Self::delivers).
    pub fn note_message(&mut self) {
        self.has_begun = true;
        for index in 0..self.subscriptions.len() {
            let Subscription { name, is_fresh } = self.subscriptions[index];
            if is_fresh && self.delivers(name) {
                self.subscriptions[index].is_fresh = false;
            }
        }
    }

    /// Whether samples of a pair that RTPS delivers are accepted.
    pub fn takes_rtps(&self, id: PairId) -> bool {
        let refuses =
            |pair: &Pair<S>| matches!(pair.served_by, ServedBy::Link | ServedBy::Lost | ServedBy::Resent);
        self.index(id).is_none_or(|index| !refuses(&self.pairs[index]))
    }

    /// The known pairs, and whether samples that RTPS delivers are accepted for each.
    pub fn pairs(&self) -> impl Iterator<Item = (PairId, bool)> {
        self.pairs.iter().map(|pair| (pair.id, self.takes_rtps(pair.id)))
    }

    /// Whether the link is on standby for some writer: the last message that it carried may be long outdated.
    pub fn stands_by(&self) -> bool {
        !self.standby.is_empty()
    }

    /// Handles a statement of the publisher about a pair or a writer. Returns the pair if it has left the link.
    ///
    /// # Errors
    /// The statement violates the protocol, or too many answers wait because the publisher does not read them.
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
                self.begin_run(Run { pair: id, at: number_on_link(self.next_on_link, at), number });
                None
            }
            _ => return Err(ShareFault::OfSubscriber),
        };
        self.review();
        Ok(left)
    }

    /// False if the statement was handled before: the publisher states it on each path of the link that may be read first.
    fn note_epoch(&mut self, epoch: u32) -> Result<bool, ShareFault> {
        if epoch > self.epoch.saturating_add(MAX_EPOCH_LEAP) {
            return Err(ShareFault::EpochLeap(epoch));
        }
        let is_new = epoch > self.epoch;
        self.epoch = self.epoch.max(epoch);
        Ok(is_new)
    }

    fn leave(&mut self, id: PairId, epoch: u32, from: u64) -> Option<LeftLink> {
        let Some(index) = self.index(id).or_else(|| self.add_unmatched(id)) else {
            self.return_unknown(id);
            return None;
        };
        if !self.pairs[index].is_matched {
            let pair = &mut self.pairs[index];
            // All before has come by the link. What follows waits with the publisher, which sends it by the link once it has the Return.
            pair.served_by = ServedBy::Lost;
            // At 1 RTPS was first, and it is not known what has come by links before.
            if from > 1 {
                pair.next = pair.next.max(from);
            }
            self.return_pair(index);
            self.forget_unmatched();
            return None;
        }
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

    /// A pair that is matched at the publisher alone, if its reader is known.
    fn add_unmatched(&mut self, id: PairId) -> Option<usize> {
        let (_, subscription) = *self.readers.iter().find(|(reader, _)| *reader == id.reader)?;
        self.pairs.push(Pair {
            id,
            subscription,
            is_matched: false,
            served_by: ServedBy::Unstated,
            is_returning: false,
            has_asked_for_kept: false,
            next: 0,
        });
        Some(self.pairs.len() - 1)
    }

    fn serve(&mut self, id: PairId, from: u64) {
        self.run = None;
        // A Begin revokes the Standby for its writer: from here on the link carries all of its messages.
        self.standby.retain(|(writer, _)| *writer != id.writer);
        self.renewed.retain(|writer| *writer != id.writer);
        self.returned.retain(|returned| *returned != id);
        let Some(index) = self.index(id) else { return };
        let pair = &mut self.pairs[index];
        if !pair.is_on_link() && pair.next > 0 && from > pair.next {
            self.lost.push(Lost { subscription: pair.subscription, count: from - pair.next });
        }
        (pair.served_by, pair.is_returning, pair.next) = (ServedBy::Link, false, 0);
        if pair.is_matched {
            self.unsent.push_back(Statement::Ask { id: id.id() });
        }
        self.forget_unmatched();
    }

    /// States for which writers the link is needed or on standby, where that has changed.
    pub fn review(&mut self) {
        let mut writers: Vec<u32> =
            self.pairs.iter().filter(|pair| !pair.is_on_link()).map(|pair| pair.id.writer).collect();
        writers.extend(self.standby.iter().map(|(writer, _)| *writer));
        writers.sort_unstable();
        writers.dedup();
        for writer in writers {
            let standby = self.standby.iter().position(|(of, _)| *of == writer);
            let is_needed =
                self.subscriptions.iter().any(|subscription| self.needs(subscription.name, writer));
            match standby {
                Some(index) if is_needed => {
                    self.standby.swap_remove(index);
                    self.renewed.push(writer);
                    self.unsent.push_back(Statement::Needed { id: writer_id(writer) });
                }
                Some(index) if self.standby[index].1 == self.epoch => {}
                _ if is_needed || self.epoch == 0 => {}
                outdated => {
                    outdated.map(|index| self.standby.swap_remove(index));
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
