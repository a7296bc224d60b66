//! Pairs that RTPS has lost and that return to their link. The link's messages count only once RTPS's position in the
//! pair is final.
//!
//! Samples from shared memory may wait for the user's capacity. So from the first statement that a pair returns, input
//! of the link waits until the event loop has delivered these samples and RTPS delivers no more. The event loop does so
//! when it settles.

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_delivery::{LeftLink, Lost, PairId, Resent, Statement};

use super::link_delivery::LinkFault;
use super::link_share::{LinkShare, SubscriptionId, id_of};
use super::{Socket, Sockets};
use crate::data::{PairPosition, SubscriptionCore};
use crate::driver::late_samples::{LateSample, LateSamples};
use crate::driver::sockets::Input;
use crate::driver::table::Key;
use crate::ipc::SampleData;

/// Maximum number of waiting messages and statements, and of their bytes: more than one read of the event loop, and a
/// long message.
const MAX_WAITING: usize = 1 << 16;
const MAX_WAITING_BYTES: usize = 64 << 20;

/// RTPS's positions in the pairs of a link, and input of the link that waits for pairs to be settled.
#[derive(Default)]
pub(in crate::driver) struct LinkReturns {
    positions: Vec<(PairId, Arc<PairPosition>)>,
    waiting: VecDeque<Waiting>,
    /// Length of the waiting messages.
    waiting_bytes: usize,
    pub(in crate::driver) late: LateSamples,
}

/// Waiting input of the link.
enum Waiting {
    /// A statement, with the number of the message behind it.
    Statement(u64, Statement),
    /// A message, with its number on the link.
    Message(u64, SampleData),
}

impl LinkReturns {
    /// The pairs that the link follows, and RTPS's positions in them.
    pub(in crate::driver) fn followed(&self) -> &[(PairId, Arc<PairPosition>)] {
        &self.positions
    }

    /// RTPS's position in a pair.
    pub(in crate::driver) fn position(&self, pair: PairId) -> Option<&Arc<PairPosition>> {
        self.positions.iter().find(|(of, _)| *of == pair).map(|(_, position)| position)
    }

    /// Number after the last message that RTPS has delivered of a pair; 0 if there is none.
    pub(in crate::driver) fn next(&self, pair: PairId) -> u64 {
        self.position(pair).map_or(0, |position| position.next())
    }

    /// Whether input of the link waits.
    pub(in crate::driver) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The pair that returns with a statement, if RTPS may still deliver some of it.
    fn unsettled(&self, statement: &Statement) -> Option<PairId> {
        let returns = matches!(statement, Statement::Resent { .. } | Statement::Begin { .. });
        let pair = PairId::from_statement(statement).filter(|_| returns)?;
        let position = self.position(pair)?;
        (!position.is_served_by_link() || self.late.has(pair)).then_some(pair)
    }

    /// The pair to settle before the link continues, and RTPS's position in it.
    pub(in crate::driver) fn first_unsettled(&self) -> Option<(PairId, Arc<PairPosition>)> {
        match self.waiting.front()? {
            Waiting::Statement(_, statement) => {
                let pair = self.unsettled(statement)?;
                self.position(pair).map(|position| (pair, Arc::clone(position)))
            }
            Waiting::Message(..) => None,
        }
    }

    fn pop_waiting(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        if let Waiting::Message(_, message) = &waiting {
            self.waiting_bytes -= message.bytes().len();
        }
        Some(waiting)
    }
}

impl LinkShare {
    /// Follows RTPS's position in a matched pair. Forgets the pairs that the receiver has forgotten.
    pub(in crate::driver) fn follow(&mut self, pair: PairId, position: &Arc<PairPosition>) {
        let Self { receiver, returns, .. } = self;
        if returns.position(pair).is_some_and(|known| Arc::ptr_eq(known, position)) {
            return;
        }
        let is_known = |of: PairId| receiver.pairs().any(|(known, _)| known == of);
        returns.positions.retain(|(of, _)| *of != pair && is_known(*of));
        returns.positions.push((pair, Arc::clone(position)));
    }

    /// Takes a statement, after all earlier messages were delivered or wait.
    pub(super) fn state(&mut self, before: u64, statement: Statement) -> Result<(), LinkFault> {
        if self.returns.is_waiting() || self.returns.unsettled(&statement).is_some() {
            self.returns.waiting.push_back(Waiting::Statement(before, statement));
            return Ok(());
        }
        self.take_statement(before, &statement)
    }

    fn take_statement(&mut self, before: u64, statement: &Statement) -> Result<(), LinkFault> {
        self.receiver.note_next_on_link(before);
        if let Some(pair) = PairId::from_statement(statement) {
            self.receiver.note_position(pair, self.returns.next(pair));
        }
        self.departed_pairs.extend(self.receiver.statement(statement).map_err(LinkFault::Share)?);
        if let (Statement::Begin { from, .. }, Some(pair)) = (statement, PairId::from_statement(statement)) {
            // Samples of it from shared memory have been resent, and so have RTPS's samples before that number.
            drop(self.returns.late.take(pair));
            self.departed_pairs.push(LeftLink { pair, before: *from });
        }
        Ok(())
    }

    /// Keeps a message if it must wait.
    ///
    /// # Errors
    /// When more would wait than a publisher may send without an answer.
    pub(super) fn defer(
        &mut self,
        number: u64,
        message: SampleData,
    ) -> Result<Option<SampleData>, LinkFault> {
        let returns = &mut self.returns;
        if !returns.is_waiting() {
            return Ok(Some(message));
        }
        let bytes = returns.waiting_bytes.saturating_add(message.bytes().len());
        if bytes > MAX_WAITING_BYTES || returns.waiting.len() >= MAX_WAITING {
            return Err(LinkFault::TooMuch);
        }
        returns.waiting_bytes = bytes;
        returns.waiting.push_back(Waiting::Message(number, message.into_own()));
        Ok(None)
    }
}

impl Sockets {
    /// Keeps a sample from shared memory of a pair that this link serves next.
    pub(in crate::driver) fn add_late(&mut self, link: Key, late: LateSample) {
        if let Some(Socket::Input(input)) = self.get_mut(link)
            && let Some(share) = input.share()
        {
            share.returns.late.push(late);
        }
    }
}

impl Input {
    /// Whether the link serves a pair that RTPS loses.
    pub(in crate::driver) fn follows(&self, pair: PairId) -> bool {
        let share = self.pair.as_ref().and_then(|of| of.share.as_deref());
        share.is_some_and(|share| share.returns.position(pair).is_some())
    }

    /// Takes waiting input, up to a pair that must be settled first.
    pub(in crate::driver) fn resume_link(&mut self) -> Result<(), LinkFault> {
        while let Some(share) = self.share()
            && share.returns.first_unsettled().is_none()
            && let Some(waiting) = share.returns.pop_waiting()
        {
            match waiting {
                Waiting::Statement(before, statement) => share.take_statement(before, &statement)?,
                Waiting::Message(number, message) => self.deliver_by_link(number, message),
            }
            self.count_lost();
        }
        Ok(())
    }

    /// Takes all waiting input, since the link ends. RTPS delivers none of it.
    pub(super) fn resume_all(&mut self) {
        while self.share().is_some_and(|share| share.returns.is_waiting()) {
            let unsettled = self.share().and_then(|share| share.returns.first_unsettled());
            unsettled.into_iter().for_each(|(pair, _)| self.settle_pair(pair));
            // An error changes nothing, since the link ends.
            let _ = self.resume_link();
        }
    }

    /// Settles a pair: RTPS delivers no more of it. Samples that arrived by shared memory after RTPS had lost the pair
    /// come before the link's messages.
    pub(in crate::driver) fn settle_pair(&mut self, pair: PairId) {
        let Self { topic, pair: of_link, .. } = self;
        let Some(share) = of_link.as_mut().and_then(|of| of.share.as_deref_mut()) else { return };
        let Some(position) = share.returns.position(pair).map(Arc::clone) else { return };
        position.set_served_by_link(true);
        share.receiver.note_position(pair, position.next());
        for LateSample { number, bytes, from, is_drained, .. } in share.returns.late.take(pair) {
            let Some((subscription, next)) = share.receiver.due(pair) else { continue };
            let is_next = next > 0 && number == next;
            // Samples behind a gap are resent, unless the publisher knew that all before the gap had arrived.
            if !is_next && (!is_drained || number < next) {
                continue;
            }
            let is_it = |core: &Arc<SubscriptionCore>| id_of(core) == subscription;
            if next > 0 {
                topic.lose_for(number - next, &from, is_it);
            }
            topic.push_to(bytes, &from, is_it);
            position.pass(number + 1);
            share.receiver.note_position(pair, number + 1);
        }
    }

    /// Gives a resent message to the only pair that it is for.
    pub(super) fn deliver_resent(&mut self, resent: Resent<SubscriptionId>, message: SampleData) {
        let Self { topic, from, pair, .. } = self;
        let Some(share) = pair.as_mut().and_then(|pair| pair.share.as_deref_mut()) else { return };
        let Some(subscription) = resent.subscription else { return };
        topic.push_to(message.into_bytes(), from, |core| id_of(core) == subscription);
        share.receiver.note_resent(resent);
        if let Some(position) = share.returns.position(resent.pair) {
            position.pass(resent.number + 1);
        }
        self.count_lost();
    }

    /// Counts messages that the publisher no longer has.
    pub(super) fn count_lost(&mut self) {
        let lost = self.share().map(|share| share.receiver.take_lost()).unwrap_or_default();
        for Lost { subscription, count } in lost {
            let is_it = |core: &Arc<SubscriptionCore>| id_of(core) == subscription;
            self.topic.lose_for(count, &self.from, is_it);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: PairId = PairId { writer: 0x403, reader: 0x104 };

    /// A share whose input waits until a pair is settled.
    fn waiting_share() -> LinkShare {
        let mut share = LinkShare::default();
        share.receiver.add(1, true);
        share.receiver.matched(PAIR, 1);
        share.follow(PAIR, &Arc::default());
        share.state(1, Statement::Resent { id: PAIR.id(), at: 1, number: 1 }).unwrap();
        assert!(share.returns.is_waiting());
        share
    }

    fn defer(share: &mut LinkShare, number: u64, len: usize) -> Result<bool, LinkFault> {
        share.defer(number, SampleData::Own(vec![0; len])).map(|message| message.is_none())
    }

    #[test]
    fn waiting_messages_are_bounded_by_bytes() {
        let mut share = waiting_share();
        assert!(matches!(defer(&mut share, 1, MAX_WAITING_BYTES - 1), Ok(true)));
        assert!(matches!(defer(&mut share, 2, 2), Err(LinkFault::TooMuch)));
        assert!(matches!(defer(&mut share, 2, 1), Ok(true)));
    }

    #[test]
    fn waiting_messages_are_bounded_by_count() {
        let mut share = waiting_share();
        for number in 1..MAX_WAITING as u64 {
            assert!(matches!(defer(&mut share, number, 1), Ok(true)), "{number}");
        }
        assert!(matches!(defer(&mut share, MAX_WAITING as u64, 1), Err(LinkFault::TooMuch)));
    }

    #[test]
    fn delivered_bytes_are_not_counted() {
        let mut share = waiting_share();
        assert!(matches!(defer(&mut share, 1, MAX_WAITING_BYTES), Ok(true)));
        while share.returns.pop_waiting().is_some() {}
        assert_eq!(share.returns.waiting_bytes, 0);
        assert!(matches!(defer(&mut share, 2, 1), Ok(false)), "nothing waits");
    }
}
