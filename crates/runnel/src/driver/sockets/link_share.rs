//! Subscriptions of a node that share a link to a publisher of a dual node, while RTPS serves some of them.
//!
//! A statement about them has its place among the messages of the link. A statement from shared memory waits until the
//! subscriptions have all messages before it, some of which the connection may have yet to deliver.

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_delivery::{LeftLink, PublisherFault, SharedLinkReceiver, Statement};

use super::Input;
use super::link_delivery::LinkFault;
use super::link_returns::LinkReturns;
use crate::data::SubscriptionCore;
use crate::driver::effect::Effect;

/// Maximum number of statements that wait for messages.
const MAX_WAITING: usize = 4096;

/// Statements given to the connection at a time.
const BATCH: usize = 64;

/// Id of a subscription: its address.
pub(in crate::driver) type SubscriptionId = usize;

pub(in crate::driver) fn id_of(core: &Arc<SubscriptionCore>) -> SubscriptionId {
    Arc::as_ptr(core) as usize
}

/// See the module's documentation.
#[derive(Default)]
pub(in crate::driver) struct LinkShare {
    pub(in crate::driver) receiver: SharedLinkReceiver<SubscriptionId>,
    /// Statements, each with the number of the message behind it.
    waiting: VecDeque<(u64, Statement)>,
    /// Pairs that have left the link, until RTPS is informed.
    pub(in crate::driver) departed_pairs: Vec<LeftLink>,
    /// The first message of the link has shown which pairs it serves.
    pub(in crate::driver) is_settled: bool,
    pub(in crate::driver) returns: LinkReturns,
    /// Statements to the publisher that the connection has not accepted.
    unsent: Vec<u8>,
}

impl LinkShare {
    pub(super) fn add(&mut self, number: u64, statement: Statement) -> Result<(), LinkFault> {
        if self.waiting.len() >= MAX_WAITING {
            return Err(LinkFault::Share(PublisherFault::TooManyAnswers));
        }
        let place = self.waiting.partition_point(|(at, _)| *at <= number);
        self.waiting.insert(place, (number, statement));
        Ok(())
    }

    /// Applies the statements that come before the message with this number.
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
    /// The subscriptions that share the link, if it is shared.
    pub(in crate::driver) fn share(&mut self) -> Option<&mut LinkShare> {
        self.pair.as_mut()?.share.as_deref_mut()
    }

    /// Whether RTPS or the publisher must be informed of changes.
    pub(in crate::driver) fn has_share_changed(&self) -> bool {
        let share = self.pair.as_ref().and_then(|pair| pair.share.as_ref());
        share.is_some_and(|share| {
            share.is_settled
                || !share.departed_pairs.is_empty()
                || share.receiver.has_statements()
                || share.returns.is_waiting()
        })
    }

    /// Sends statements to the publisher as far as the connection accepts them. Returns whether all were sent, if the
    /// reactor's interest changes.
    pub(in crate::driver) fn send_statements(&mut self) -> Option<bool> {
        let share = self.pair.as_mut()?.share.as_deref_mut()?;
        let had_unsent = !share.unsent.is_empty();
        // The receiver limits the statements that the connection has not accepted.
        while !share.unsent.is_empty() || share.receiver.has_statements() {
            if share.unsent.is_empty() {
                let statements = std::iter::from_fn(|| share.receiver.poll_statement()).take(BATCH);
                share.unsent.extend(statements.flat_map(|statement| statement.encode_frame()));
            }
            // The reactor reports the end of the connection.
            let sent = self.stream.send(&share.unsent).unwrap_or(share.unsent.len());
            share.unsent.drain(..sent);
            if !share.unsent.is_empty() {
                break;
            }
        }
        let is_sent = share.unsent.is_empty();
        (had_unsent || !is_sent).then_some(is_sent)
    }

    /// Effect of the link's end on its pairs.
    pub(in crate::driver) fn unshared(&mut self) -> Option<Effect> {
        let dual_node_id = self.from.dual_node_id?;
        let followed = self.share()?.returns.followed().to_vec();
        Some(Effect::SharedLinkEnded { dual_node_id, followed })
    }
}
