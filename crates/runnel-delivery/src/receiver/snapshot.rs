//! Snapshot of a receiver, from which its subscription continues in another process or on another host.

use alloc::vec::Vec;

use super::Receiver;
use super::held::Held;
use crate::limits::{Credit, MAX_NUMBER};
use crate::path::{Order, PathId};
use crate::send_queue::Numbered;
use crate::statement::StreamId;

/// Path id of messages in a snapshot, whose paths are gone.
const NO_PATH: PathId = PathId(u32::MAX);

/// State that the next process needs. It has its own paths, so none are included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReceiverSnapshot<M> {
    /// The stream and the subscription.
    pub id: StreamId,
    /// Number of the next message due; 0 before the first Begin.
    pub next: u64,
    /// The greatest epoch seen.
    pub epoch: u32,
    /// Messages counted as lost.
    pub lost: u64,
    /// Messages that wait for earlier ones, by number.
    pub messages: Vec<Numbered<M>>,
}

impl<M> Receiver<M> {
    /// Ends this receiver. Call [`poll_action`](Receiver::poll_action) until it returns `None` first, and pass no
    /// message afterwards: the next process receives those in flight.
    pub fn snapshot(self) -> ReceiverSnapshot<M> {
        let next = self.plain.counted_next().unwrap_or(self.next);
        let Self { id, epoch, lost_count: lost, .. } = self;
        let numbered = |held: Held<M>| {
            let bytes = held.bytes();
            let (number, message) = held.into_parts();
            Numbered { number, bytes, message }
        };
        let messages = self.window.into_held().map(numbered).collect();
        ReceiverSnapshot { id, next, epoch, lost, messages }
    }

    /// Restores a receiver without a path. It delivers from `next` on and discards messages beyond the credit.
    pub fn resume(snapshot: ReceiverSnapshot<M>, credit: Credit) -> Self {
        let ReceiverSnapshot { id, next, epoch, lost, messages } = snapshot;
        let mut receiver = Self::new(id, credit);
        receiver.next = next.min(MAX_NUMBER);
        receiver.epoch = epoch;
        receiver.lost_count = lost;
        for Numbered { number, bytes, message } in messages {
            let ahead = number.checked_sub(receiver.next).filter(|_| receiver.next > 0);
            let held = Held::new(number, message, bytes, (NO_PATH, Order::Fifo));
            if let Some(ahead) = ahead
                && ahead < u64::from(credit.messages)
                && !receiver.window.holds(Some(ahead))
                && receiver.window.has_capacity(Order::Fifo, bytes, credit.bytes)
            {
                receiver.window.insert(ahead, held);
            }
        }
        receiver
    }
}
