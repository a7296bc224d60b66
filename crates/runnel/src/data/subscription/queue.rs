//! What waits for the callback of a subscription.

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_ros1::tcpros::QueueBound;

use super::spares::Spares;
use super::{LinkInfo, Shared};
use crate::data::received::Received;

/// One message that waits.
pub(super) enum Item {
    Bytes { bytes: Received, from: Arc<LinkInfo> },
    Shared(Shared),
}

/// What waits for a callback.
#[derive(Default)]
pub(crate) struct Queue {
    pub(super) waiting: VecDeque<Item>,
    /// Bytes of those.
    pub(super) bytes: usize,
    pub(super) spares: Spares,
    /// It stands in the ready queue, or its callback runs.
    pub(super) scheduled: bool,
    /// The user has dropped the subscription.
    pub(super) ended: bool,
}

impl Item {
    /// Bytes that it takes in the queue; what is shared is the publisher's.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Bytes { bytes, .. } => bytes.len(),
            Self::Shared(_) => 0,
        }
    }

    /// The buffer that it lies in, if that is the subscription's.
    pub(super) fn into_spare(self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes { bytes: Received::Own(bytes), .. } => Some(bytes),
            _ => None,
        }
    }
}

impl Queue {
    /// True if one more message of so many bytes is too much. One is always held, however long.
    pub(super) fn is_full(&self, bound: QueueBound, bytes: usize) -> bool {
        let waiting = self.waiting.len();
        waiting > 0 && (waiting >= bound.messages || self.bytes + bytes > bound.bytes)
    }

    pub(super) fn take(&mut self) -> Option<Item> {
        let item = self.waiting.pop_front()?;
        self.bytes -= item.bytes();
        if self.waiting.is_empty() {
            // The next one goes to the same place again, which is at hand.
            self.waiting.clear();
        }
        Some(item)
    }

    /// Makes room; a shared message is given back.
    pub(super) fn drop_oldest(&mut self) -> Option<Shared> {
        match self.take()? {
            Item::Shared(message) => Some(message),
            bytes @ Item::Bytes { .. } => {
                bytes.into_spare().into_iter().for_each(|spare| self.spares.keep(spare));
                None
            }
        }
    }

    /// Has a buffer used again.
    pub(in crate::data) fn give_back(&mut self, spare: Vec<u8>) {
        self.spares.keep(spare);
    }
}
