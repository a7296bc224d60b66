//! Message numbers of a ROS 1 link whose ends both understand statements. They begin with 1, and both ends count.
//! Statements about the subscriptions that share the link have their place among the messages.

use std::collections::VecDeque;

use runnel_core::wire::{NoMemory, try_append};
use runnel_delivery::{Statement, StreamId};

/// See the module's documentation.
pub(super) struct MessageNumbers {
    /// The id of the stream at both ends.
    pub(super) id: StreamId,
    /// The number of the next message.
    pub(super) next: u64,
    /// By the subscriber's count, no message before this number is still to come on the connection.
    pub(super) stated: u64,
    /// The subscriber is known to have all messages before this number.
    pub(super) reached: u64,
    /// The highest epoch begun.
    pub(super) epoch: u32,
    /// Statements that are due before the message of the given number.
    pub(super) statements: VecDeque<(u64, Statement)>,
}

impl MessageNumbers {
    /// The first epoch is that of the connection; both headers agree on it.
    pub(super) fn new(stream: u64) -> Self {
        let id = StreamId { stream, subscription: 0 };
        Self { id, next: 1, stated: 1, reached: 1, epoch: 1, statements: VecDeque::new() }
    }

    /// The encoded statements that are due before the message of this number.
    pub(super) fn due_statements(&mut self, number: u64) -> Vec<u8> {
        let due = std::iter::from_fn(|| self.statements.pop_front_if(|(at, _)| *at <= number));
        due.flat_map(|(_, statement)| statement.encode_frame()).collect()
    }

    /// Assigns the next number to a message.
    pub(super) fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Appends a skip to this number, unless the subscriber's own count has reached it.
    pub(super) fn append_skip(&mut self, out: &mut Vec<u8>, to: u64) -> Result<(), NoMemory> {
        if self.stated >= to {
            return Ok(());
        }
        self.stated = to;
        try_append(out, &Statement::Skip { id: self.id, to }.encode_frame())
    }
}
