//! Pairs that RTPS has lost and that their link serves again: where RTPS stopped is to be known before what the link brings counts.
//!
//! Memory may have brought messages that wait for room with the user. So what the link brings from the first statement on that a
//! pair comes back waits until the loop has given those, and RTPS nothing more. That is before anything else is received.

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_delivery::{Lost, PairId, Resent, Statement};

use super::link_delivery::LinkFault;
use super::link_share::{LinkShare, Name, name_of};
use super::orphans::LateSamples;
use crate::data::{PairPosition, SubscriptionCore};
use crate::driver::sockets::Input;
use crate::ipc::Piece;

/// How far RTPS is with the pairs of a link, and what the link has brought that waits for that to be settled.
#[derive(Default)]
pub(in crate::driver) struct LinkReturns {
    positions: Vec<(PairId, Arc<PairPosition>)>,
    waiting: VecDeque<Waiting>,
    pub(super) late: LateSamples,
}

/// What the link has brought.
enum Waiting {
    Statement(Statement),
    /// A message with its number on the link.
    Message(u64, Piece),
}

impl LinkReturns {
    /// RTPS has matched a pair, and counts there.
    pub(in crate::driver) fn follow(&mut self, pair: PairId, position: Arc<PairPosition>) {
        self.positions.retain(|(of, _)| *of != pair);
        self.positions.push((pair, position));
    }

    /// How far RTPS is with a pair.
    fn position(&self, pair: PairId) -> Option<&Arc<PairPosition>> {
        self.positions.iter().find(|(of, _)| *of == pair).map(|(_, position)| position)
    }

    /// The number after the last message that RTPS has given of a pair; 0 if there is none.
    pub(in crate::driver) fn next(&self, pair: PairId) -> u64 {
        self.position(pair).map_or(0, |position| position.next())
    }

    /// Whether what the link brings waits.
    pub(in crate::driver) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The pair that a statement has come back, if RTPS may still bring some of it.
    fn unsettled(&self, statement: &Statement) -> Option<PairId> {
        let comes_back = matches!(statement, Statement::Resent { .. } | Statement::Begin { .. });
        let pair = PairId::of(statement).filter(|_| comes_back)?;
        let position = self.position(pair)?;
        (!position.is_served_by_link() || self.late.has(pair)).then_some(pair)
    }

    /// The pair that is to be settled before the link goes on.
    pub(in crate::driver) fn first_unsettled(&self) -> Option<PairId> {
        match self.waiting.front()? {
            Waiting::Statement(statement) => self.unsettled(statement),
            Waiting::Message(..) => None,
        }
    }
}

impl LinkShare {
    /// The publisher has stated something, and all before it is with the subscriptions, or waits.
    pub(super) fn state(&mut self, statement: Statement) -> Result<(), LinkFault> {
        if self.returns.is_waiting() || self.returns.unsettled(&statement).is_some() {
            self.returns.waiting.push_back(Waiting::Statement(statement));
            return Ok(());
        }
        self.take_statement(&statement)
    }

    fn take_statement(&mut self, statement: &Statement) -> Result<(), LinkFault> {
        if let Some(pair) = PairId::of(statement) {
            self.receiver.note_position(pair, self.returns.next(pair));
        }
        self.left.extend(self.receiver.statement(statement).map_err(LinkFault::Share)?);
        Ok(())
    }

    /// Keeps a message that is to wait.
    pub(super) fn defer(&mut self, number: u64, message: Piece) -> Option<Piece> {
        if !self.returns.is_waiting() {
            return Some(message);
        }
        self.returns.waiting.push_back(Waiting::Message(number, message.into_own()));
        None
    }
}

impl Input {
    /// Whether it serves a pair that RTPS loses.
    pub(in crate::driver) fn follows(&self, pair: PairId) -> bool {
        let share = self.pair.as_ref().and_then(|of| of.share.as_deref());
        share.is_some_and(|share| share.returns.position(pair).is_some())
    }

    /// Goes on with what waited, up to a pair that is to be settled first.
    pub(in crate::driver) fn resume_link(&mut self) -> Result<(), LinkFault> {
        while let Some(share) = self.share()
            && share.returns.first_unsettled().is_none()
            && let Some(waiting) = share.returns.waiting.pop_front()
        {
            match waiting {
                Waiting::Statement(statement) => share.take_statement(&statement)?,
                Waiting::Message(number, message) => self.give_by_link(number, message),
            }
            self.lose_for_good();
        }
        Ok(())
    }

    /// The link ends: what waits is the user's. RTPS gives no more of it.
    pub(super) fn resume_to_the_end(&mut self) {
        while self.share().is_some_and(|share| share.returns.is_waiting()) {
            let unsettled = self.share().and_then(|share| share.returns.first_unsettled());
            unsettled.into_iter().for_each(|pair| self.settle_pair(pair));
            // It ends as it is.
            let _ = self.resume_link();
        }
    }

    /// RTPS gives nothing more of a pair. What memory brought after RTPS had lost it comes before what the link brings.
    pub(in crate::driver) fn settle_pair(&mut self, pair: PairId) {
        let Self { topic, pair: of_link, .. } = self;
        let Some(share) = of_link.as_mut().and_then(|of| of.share.as_deref_mut()) else { return };
        let Some(position) = share.returns.position(pair).map(Arc::clone) else { return };
        position.set_served_by_link(true);
        share.receiver.note_position(pair, position.next());
        for late in share.returns.late.take(pair) {
            let Some((subscription, next)) = share.receiver.due(pair) else { continue };
            // Behind a hole they are sent again.
            if late.number == next {
                topic.push_to(late.bytes, &late.from, |core| name_of(core) == subscription);
                position.pass(next + 1);
                share.receiver.note_position(pair, next + 1);
            }
        }
    }

    /// Gives a message that is for one pair alone.
    pub(super) fn give_resent(&mut self, resent: Resent<Name>, message: Piece) {
        let Self { topic, from, pair, .. } = self;
        let Some(share) = pair.as_mut().and_then(|pair| pair.share.as_deref_mut()) else { return };
        let Some(subscription) = resent.subscription else { return };
        topic.push_to(message.into_bytes(), from, |core| name_of(core) == subscription);
        share.receiver.note_resent(resent);
        if let Some(position) = share.returns.position(resent.pair) {
            position.pass(resent.number + 1);
        }
        self.lose_for_good();
    }

    /// Counts what the publisher does not have any more.
    pub(super) fn lose_for_good(&mut self) {
        let lost = self.share().map(|share| share.receiver.take_lost()).unwrap_or_default();
        for Lost { subscription, count } in lost {
            let is_it = |core: &Arc<SubscriptionCore>| name_of(core) == subscription;
            self.topic.lose_for(count, &self.from, is_it);
        }
    }
}
