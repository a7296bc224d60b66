//! The numbers of the messages of a link of ROS 1 whose two ends understand statements. They begin with 1; both ends count.
//! Statements about subscriptions that share the link have their place among them.

use std::collections::VecDeque;

use runnel_core::wire::{NoMemory, try_append};
use runnel_delivery::{Statement, StreamId};

/// See the module's documentation.
pub(super) struct Numbers {
    /// What both ends name the messages by.
    pub(super) id: StreamId,
    /// Of the next message.
    pub(super) next: u64,
    /// Nothing before this number is still to come by the connection, as the subscriber counts.
    pub(super) stated: u64,
    /// The subscriber is known to have all before this number.
    pub(super) reached: u64,
    /// The greatest epoch begun.
    pub(super) epoch: u32,
    /// What is to be stated before the message of the number that is with it.
    pub(super) statements: VecDeque<(u64, Statement)>,
}

impl Numbers {
    /// The first epoch is that of the connection, of which both headers tell.
    pub(super) fn new(stream: u64) -> Self {
        let id = StreamId { stream, subscription: 0 };
        Self { id, next: 1, stated: 1, reached: 1, epoch: 1, statements: VecDeque::new() }
    }

    /// What is to be stated before the message of this number.
    pub(super) fn due_statements(&mut self, number: u64) -> Vec<u8> {
        let due = std::iter::from_fn(|| self.statements.pop_front_if(|(at, _)| *at <= number));
        due.flat_map(|(_, statement)| statement.encode_frame()).collect()
    }

    /// Gives the next one to a message.
    pub(super) fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Appends that none before this number is still to come, unless the subscriber counts so far by itself.
    pub(super) fn append_skip(&mut self, out: &mut Vec<u8>, to: u64) -> Result<(), NoMemory> {
        if self.stated >= to {
            return Ok(());
        }
        self.stated = to;
        try_append(out, &Statement::Skip { id: self.id, to }.encode_frame())
    }
}
