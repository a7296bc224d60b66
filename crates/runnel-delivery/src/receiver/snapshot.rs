//! Snapshot of a receiver, by which its subscription goes on in another process or on another host.

use alloc::vec::Vec;

use super::Receiver;
use super::held::Held;
use crate::limits::{Credit, MAX_NUMBER};
use crate::path::{Order, PathId};
use crate::send_queue::Numbered;
use crate::statement::StreamId;

/// What a snapshot holds came by paths that are not known any more.
const NO_PATH: PathId = PathId(u32::MAX);

/// All that the next process needs. Paths are not part of it: the next process has its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReceiverSnapshot<M> {
    /// The stream and the subscription.
    pub id: StreamId,
    /// Number of the next message due; 0 if nothing has begun.
    pub next: u64,
    /// The greatest epoch seen.
    pub epoch: u32,
    /// Messages counted as lost.
    pub lost: u64,
    /// What is held until what precedes it has come, by number.
    pub messages: Vec<Numbered<M>>,
}

impl<M> Receiver<M> {
    /// Ends this receiver. Call [`poll_action`](Receiver::poll_action) until it returns `None` first, and give it nothing
    /// after that: what is still on its way goes to the next process.
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

    /// The receiver that was, without a path: it delivers from `next` on. Messages beyond the credit are discarded.
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
