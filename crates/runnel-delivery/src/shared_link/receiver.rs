//! Subscriber's end of a shared link.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::fault::{MAX_UNSENT, PublisherFault};
use super::pair::{Pair, ServedBy, Subscription};
use super::resent::{Lost, Run, number_on_link};
use super::{PairId, writer_id};
use crate::limits::MAX_EPOCH_LEAP;
use crate::statement::Statement;

/// Maximum number of unmatched pairs that are remembered: RTPS may match them again. Each writer that ends leaves one.
const MAX_UNMATCHED: usize = 64;
const MAX_RETURNING: usize = 4096;

/// Subscriber's end of a shared link. `S` identifies a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedLinkReceiver<S> {
    /// The greatest epoch of the received statements.
    epoch: u32,
    /// The writer of the next messages on the link, and the number of the statement that named it.
    writer: Option<u32>,
    names_stated: u64,
    /// The link has carried a message or a statement.
    has_begun: bool,
    subscriptions: Vec<Subscription<S>>,
    /// Readers of the subscriptions.
    readers: Vec<(u32, S)>,
    /// Pairs that RTPS had lost before the link existed, and the number before which it had delivered all messages.
    pub(super) received_before_link: Vec<(PairId, u64)>,
    pub(super) pairs: Vec<Pair<S>>,
    /// Writers with a sent Standby, and its epoch.
    standby: Vec<(u32, u32)>,
    /// Writers with a sent Needed that no Begin has answered yet: messages of theirs that still arrive come before a
    /// gap.
    resuming: Vec<u32>,
    /// Pairs whose Leave arrived before RTPS had matched them: a Return was sent that no Begin has answered yet.
    returned: VecDeque<PairId>,
    /// Statements for the publisher.
    unsent: VecDeque<Statement>,
    /// Run of resent messages that the link carries now, and the position where the last run began.
    pub(super) run: Option<Run>,
    pub(super) last_run: Option<u64>,
    /// Number of the next message on the link.
    pub(super) next_on_link: u64,
    /// Messages that neither RTPS nor the link delivers.
    pub(super) lost: Vec<Lost<S>>,
}

/// Pair that has left the link.
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
            names_stated: 0,
            has_begun: false,
            subscriptions: Vec::new(),
            readers: Vec::new(),
            received_before_link: Vec::new(),
            pairs: Vec::new(),
            standby: Vec::new(),
            resuming: Vec::new(),
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
    /// [`update_standby`](Self::update_standby).
    pub fn add(&mut self, name: S, is_fresh: bool) {
        self.subscriptions.push(Subscription { name, is_fresh });
    }

    /// Adds a reader of a subscription; the publisher's node may match a writer with it before this end does.
    pub fn add_reader(&mut self, reader: u32, subscription: S) {
        self.readers.retain(|(of, _)| *of != reader);
        self.readers.push((reader, subscription));
    }

    /// Adds a pair that RTPS had lost before the link existed: the subscription has received all its messages before
    /// this number. Another link may have carried those between that number and this link.
    pub fn add_lost_pair(&mut self, id: PairId, next: u64) {
        self.received_before_link.push((id, next));
    }

    /// Removes a subscription that has ended, with its readers.
    pub fn remove(&mut self, name: S) {
        self.subscriptions.retain(|subscription| subscription.name != name);
        self.readers.retain(|(_, subscription)| *subscription != name);
        for pair in self.pairs.extract_if(.., |pair| pair.subscription == name) {
            if pair.is_matched && !pair.is_returning && pair.served_by != ServedBy::Rtps {
                // The publisher would remember the Ask.
                self.unsent.push_back(Statement::Return { id: pair.id.id() });
            }
        }
        self.update_standby();
    }

    /// Records that RTPS has matched a reader of a subscription with a writer of the publisher's node.
    pub fn matched(&mut self, id: PairId, subscription: S) {
        let is_standby = self.is_standby(id.writer);
        let is_fresh = self.is_fresh(subscription);
        let index = self.index(id).unwrap_or_else(|| {
            // After the Return the link carries the messages that the publisher holds for RTPS. Messages that the link
            // has carried meanwhile must not be delivered twice.
            let is_returning = self.returned.contains(&id);
            self.returned.retain(|returned| *returned != id);
            let served_by = match self.has_begun {
                _ if is_returning && is_fresh => ServedBy::Lost,
                _ if is_returning => ServedBy::Link,
                _ if is_standby && is_fresh => ServedBy::Nothing,
                // The publisher would have stated that RTPS was first. Samples from RTPS now are for another reader of
                // this node.
                true => ServedBy::Link,
                false => ServedBy::Unstated,
            };
            self.pairs.push(Pair {
                id,
                subscription,
                is_matched: false,
                served_by,
                is_returning,
                has_requested_history: false,
                next: 0,
            });
            self.pairs.len() - 1
        });
        let pair = &mut self.pairs[index];
        let was_matched = core::mem::replace(&mut pair.is_matched, true);
        // If a Return is pending, the Begin that answers it comes first.
        if !was_matched && !pair.is_returning && pair.served_by != ServedBy::Rtps {
            self.unsent.push_back(Statement::Ask { id: id.id() });
        }
    }

    /// Records that RTPS has unmatched a pair.
    pub fn unmatched(&mut self, id: PairId) {
        let Some(index) = self.index(id) else { return };
        let pair = &mut self.pairs[index];
        if core::mem::replace(&mut pair.is_matched, false) {
            if !pair.is_on_link() && pair.served_by != ServedBy::Resent {
                pair.served_by = ServedBy::Lost;
            }
            self.return_pair(index);
            self.forget_unmatched();
            self.update_standby();
        }
    }

    /// States that a pair needs the link, unless already stated.
    fn return_pair(&mut self, index: usize) {
        let pair = &mut self.pairs[index];
        if !core::mem::replace(&mut pair.is_returning, true) {
            self.unsent.push_back(Statement::Return { id: pair.id.id() });
        }
    }

    fn return_unknown(&mut self, id: PairId) {
        self.unsent.push_back(Statement::Return { id: id.id() });
        self.returned.retain(|returned| *returned != id);
        if self.returned.len() >= MAX_UNMATCHED {
            self.returned.pop_front();
        }
        self.returned.push_back(id);
    }

    /// Limits unmatched pairs. The limit is higher for returning ones, since many can be lost simultaneously.
    fn forget_unmatched(&mut self) {
        for (most, is_returning) in [(MAX_UNMATCHED, false), (MAX_RETURNING, true)] {
            let is_meant = |pair: &Pair<S>| !pair.is_matched && pair.is_returning == is_returning;
            if self.pairs.iter().filter(|pair| is_meant(pair)).count() > most
                && let Some(oldest) = self.pairs.iter().position(is_meant)
            {
                self.pairs.remove(oldest);
            }
        }
    }

    /// Returns whether the next message of the link is delivered to a subscription.
    pub fn delivers(&self, subscription: S) -> bool {
        let is_of_message =
            |pair: &&Pair<S>| pair.subscription == subscription && Some(pair.id.writer) == self.writer;
        let is_resuming = self.writer.is_some_and(|writer| self.resuming.contains(&writer));
        !is_resuming && self.pairs.iter().filter(is_of_message).all(Pair::is_on_link)
    }

    /// Returns whether the next message of the link is delivered to all subscriptions, and none of them is fresh.
    pub fn delivers_to_all(&self) -> bool {
        self.resuming.is_empty()
            && self.run.is_none()
            && self.pairs.iter().all(Pair::is_on_link)
            && !self.subscriptions.iter().any(|subscription| subscription.is_fresh)
    }

    /// Records that a message of the link was delivered to [its subscriptions](Self::delivers). Returns whether samples that RTPS
    /// delivers are no longer accepted for some pair.
    pub fn note_message(&mut self) -> bool {
        self.has_begun = true;
        let is_settled = self.settle_unstated();
        for index in 0..self.subscriptions.len() {
            let Subscription { name, is_fresh } = self.subscriptions[index];
            if is_fresh && self.delivers(name) {
                self.subscriptions[index].is_fresh = false;
            }
        }
        is_settled
    }

    /// The publisher states the pairs that RTPS serves before the first message of the link, which therefore serves all others.
    /// Samples that RTPS delivers for those are meant for other readers of this node.
    fn settle_unstated(&mut self) -> bool {
        let mut is_any = false;
        for pair in &mut self.pairs {
            if pair.served_by == ServedBy::Unstated {
                pair.served_by = ServedBy::Link;
                is_any = true;
            }
        }
        is_any
    }

    /// Returns whether RTPS samples of a pair are accepted.
    pub fn accepts_rtps(&self, id: PairId) -> bool {
        let refuses =
            |pair: &Pair<S>| matches!(pair.served_by, ServedBy::Link | ServedBy::Lost | ServedBy::Resent);
        self.index(id).is_none_or(|index| !refuses(&self.pairs[index]))
    }

    /// Returns the known pairs, and whether RTPS samples of each are accepted.
    pub fn pairs(&self) -> impl Iterator<Item = (PairId, bool)> {
        self.pairs.iter().map(|pair| (pair.id, self.accepts_rtps(pair.id)))
    }

    /// Returns whether the link is on standby for a writer: its last message may be long outdated.
    pub fn is_on_standby(&self) -> bool {
        !self.standby.is_empty()
    }

    /// Handles a statement of the publisher about a pair or a writer. Returns the pair if it has left the link.
    ///
    /// # Errors
    /// The statement violates the protocol, or too many answers are unsent because the publisher does not read them.
    pub fn statement(&mut self, statement: &Statement) -> Result<Option<LeftLink>, PublisherFault> {
        let Some(id) = PairId::from_statement(statement) else { return Ok(None) };
        if self.unsent.len() >= MAX_UNSENT {
            return Err(PublisherFault::TooManyAnswers);
        }
        self.has_begun = true;
        let left = match *statement {
            Statement::Number { next, .. } => {
                if next > self.names_stated {
                    (self.writer, self.names_stated) = (Some(id.writer), next);
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
                    self.return_to_link(id, from);
                }
                None
            }
            Statement::Resent { at, number, .. } => {
                self.begin_run(Run { pair: id, at: number_on_link(self.next_on_link, at), number });
                None
            }
            _ => return Err(PublisherFault::SubscriberStatement),
        };
        self.update_standby();
        Ok(left)
    }

    /// Returns false if the statement was handled before: the publisher repeats it on each path of the link that may be
    /// read first.
    fn note_epoch(&mut self, epoch: u32) -> Result<bool, PublisherFault> {
        if epoch > self.epoch.saturating_add(MAX_EPOCH_LEAP) {
            return Err(PublisherFault::EpochLeap(epoch));
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
            // The link has carried all earlier messages. The publisher queues later ones and sends them by the link
            // after the Return.
            pair.served_by = ServedBy::Lost;
            // At 1 RTPS was first, and the messages of earlier links are unknown.
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
        let is_fresh = is_fresh && !core::mem::replace(&mut pair.has_requested_history, true);
        if !is_fresh {
            pair.next = pair.next.max(from);
        }
        let next = if is_fresh { 1 } else { from };
        self.unsent.push_back(Statement::Reached { id: id.id(), epoch, next });
        (!is_fresh).then_some(LeftLink { pair: id, before: from })
    }

    /// Adds a pair that only the publisher has matched, if its reader is known.
    fn add_unmatched(&mut self, id: PairId) -> Option<usize> {
        let (_, subscription) = *self.readers.iter().find(|(reader, _)| *reader == id.reader)?;
        self.pairs.push(Pair {
            id,
            subscription,
            is_matched: false,
            served_by: ServedBy::Unstated,
            is_returning: false,
            has_requested_history: false,
            next: 0,
        });
        Some(self.pairs.len() - 1)
    }

    fn return_to_link(&mut self, id: PairId, from: u64) {
        self.run = None;
        // A Begin revokes the Standby of its writer: the link carries all of its messages from here on.
        self.standby.retain(|(writer, _)| *writer != id.writer);
        self.resuming.retain(|writer| *writer != id.writer);
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

    /// States changes of the standby of each writer.
    pub fn update_standby(&mut self) {
        let mut writers: Vec<u32> =
            self.pairs.iter().filter(|pair| !pair.is_on_link()).map(|pair| pair.id.writer).collect();
        writers.extend(self.standby.iter().map(|(writer, _)| *writer));
        writers.sort_unstable();
        writers.dedup();
        for writer in writers {
            let standby = self.standby.iter().position(|(of, _)| *of == writer);
            let is_needed =
                self.subscriptions.iter().any(|subscription| self.is_needed_by(subscription.name, writer));
            match standby {
                Some(index) if is_needed => {
                    self.standby.swap_remove(index);
                    self.resuming.push(writer);
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

    fn is_needed_by(&self, subscription: S, writer: u32) -> bool {
        let is_of = |pair: &&Pair<S>| pair.subscription == subscription && pair.id.writer == writer;
        let is_needed =
            |pair: &Pair<S>| pair.is_on_link() || matches!(pair.served_by, ServedBy::Lost | ServedBy::Resent);
        self.pairs.iter().filter(is_of).all(is_needed)
    }

    /// Returns the next statement for the publisher.
    pub fn poll_statement(&mut self) -> Option<Statement> {
        self.unsent.pop_front()
    }

    /// Returns whether a statement is pending.
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
