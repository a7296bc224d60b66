//! The subscriptions of a node that share a link to a publisher in both graphs, of which RTPS serves some instead.
//!
//! What the publisher states of them has its place among the messages of the link. A statement that memory has brought waits until
//! all messages before it are with the subscriptions, which the connection may still owe.

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_delivery::{LeftLink, PairId, PublisherFault, SharedLinkReceiver, Statement};

use super::Input;
use super::link_delivery::LinkFault;
use super::link_returns::LinkReturns;
use crate::data::SubscriptionCore;
use crate::driver::effect::Effect;

/// Statements that wait for messages at most.
const MOST_WAITING: usize = 4096;

/// Statements that are given to the connection at once.
const MOST_AT_ONCE: usize = 64;

/// A subscription, by where it is.
pub(in crate::driver) type Name = usize;

pub(in crate::driver) fn name_of(core: &Arc<SubscriptionCore>) -> Name {
    Arc::as_ptr(core) as usize
}

/// See the module's documentation.
#[derive(Default)]
pub(in crate::driver) struct LinkShare {
    pub(in crate::driver) receiver: SharedLinkReceiver<Name>,
    /// Each waits for the message of the number that is with it.
    waiting: VecDeque<(u64, Statement)>,
    /// Pairs that have left the link or come back to it, of which RTPS is still to be told: it owes nothing before that number.
    pub(in crate::driver) left: Vec<LeftLink>,
    /// The first message of the link has shown which pairs it serves.
    pub(in crate::driver) is_settled: bool,
    pub(in crate::driver) returns: LinkReturns,
    /// What the publisher is to be told and the connection has not taken.
    unsent: Vec<u8>,
}

impl LinkShare {
    pub(super) fn add(&mut self, number: u64, statement: Statement) -> Result<(), LinkFault> {
        if self.waiting.len() >= MOST_WAITING {
            return Err(LinkFault::Share(PublisherFault::TooManyAnswers));
        }
        let place = self.waiting.partition_point(|(at, _)| *at <= number);
        self.waiting.insert(place, (number, statement));
        Ok(())
    }

    /// Does what is stated before the message of this number.
    pub(super) fn advance(&mut self, next: u64) -> Result<(), LinkFault> {
        while let Some((at, statement)) = self.waiting.pop_front_if(|(at, _)| *at <= next) {
            self.state(at, statement)?;
        }
        Ok(())
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl Input {
    /// The subscriptions that share it.
    pub(in crate::driver) fn share(&mut self) -> Option<&mut LinkShare> {
        self.pair.as_mut()?.share.as_deref_mut()
    }

    /// Whether something has changed that RTPS or the publisher is to be told of.
    pub(in crate::driver) fn has_share_changed(&self) -> bool {
        let share = self.pair.as_ref().and_then(|pair| pair.share.as_ref());
        share.is_some_and(|share| {
            share.is_settled
                || !share.left.is_empty()
                || share.receiver.has_statements()
                || share.returns.is_waiting()
        })
    }

    /// Sends what the publisher is to be told, as far as the connection takes it. Whether all of it went, if the reactor is to know.
    pub(in crate::driver) fn send_statements(&mut self) -> Option<bool> {
        let share = self.pair.as_mut()?.share.as_deref_mut()?;
        let had_unsent = !share.unsent.is_empty();
        // What the connection does not take stays with the receiver, which has a limit.
        while !share.unsent.is_empty() || share.receiver.has_statements() {
            if share.unsent.is_empty() {
                let statements = std::iter::from_fn(|| share.receiver.poll_statement()).take(MOST_AT_ONCE);
                share.unsent.extend(statements.flat_map(|statement| statement.encode_frame()));
            }
            // The reactor tells of an end.
            let sent = self.stream.send(&share.unsent).unwrap_or(share.unsent.len());
            share.unsent.drain(..sent);
            if !share.unsent.is_empty() {
                break;
            }
        }
        let is_sent = share.unsent.is_empty();
        (had_unsent || !is_sent).then_some(is_sent)
    }

    /// What its end means for pairs that it served.
    pub(in crate::driver) fn unshared(&mut self) -> Option<Effect> {
        let node = (self.from.origin?, self.claim.address());
        let pairs: Vec<PairId> = self.share()?.receiver.pairs().map(|(pair, _)| pair).collect();
        Some(Effect::LinkUnshared { node, pairs })
    }
}
