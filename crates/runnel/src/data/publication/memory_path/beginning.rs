//! How a pair's messages begin to go by memory: where the network left off.

use runnel_delivery::{
    Credit, Numbered, Path, PathKind, QueuePolicy, SendAction, Sender, SenderSnapshot, Statement, StreamId,
};

use super::{MEMORY, NETWORK};
use crate::frame::{Frame, QueueBound};

/// What the network has of a pair that goes over to memory.
pub(in crate::data::publication) struct LeftOff {
    /// What the network is to the pair.
    pub(in crate::data::publication) network: PathKind,
    /// The greatest epoch that the subscriber knows.
    pub(in crate::data::publication) epoch: u32,
    /// The subscriber is known to have all before this number.
    pub(in crate::data::publication) reached: u64,
    /// The number of the first message that the network has not taken.
    pub(in crate::data::publication) unsent: u64,
    /// Those that wait from there on.
    pub(in crate::data::publication) waiting: Vec<Numbered<Frame>>,
    /// The number of the next message.
    pub(in crate::data::publication) next: u64,
}

/// A pair's sender, which is about to have its messages go by memory.
pub(in crate::data::publication) struct Delivery(pub(super) Sender<Frame>);

impl Delivery {
    /// Goes on where the network left off. `stream` is what both ends name the pair by. Gives the statement that opens the
    /// channel.
    pub(in crate::data::publication) fn switch_to_memory(
        stream: u64,
        left_off: LeftOff,
        bound: QueueBound,
        waits_for_user: bool,
    ) -> Option<(Self, Statement)> {
        let LeftOff { network, epoch, reached, unsent, waiting, next } = left_off;
        let snapshot = SenderSnapshot {
            id: StreamId { stream, subscription: 0 },
            next_number: next,
            epoch,
            reached,
            from: reached,
            taken: unsent,
            is_settled: false,
            dropped: 0,
            messages: waiting,
        };
        let mut sender = Sender::resume(snapshot, policy(bound), bound.bytes, Credit::DEFAULT);
        if waits_for_user {
            sender.pace();
        }
        sender.path_up(Path::new(NETWORK, network)).ok()?;
        // The network carries the pair already, and keeps the order of what it carries.
        sender.reached(sender.epoch(), reached).ok()?;
        sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).ok()?;
        sender.switch_path(MEMORY).ok()?;
        // What is skipped on the network is what its queue or its writer left out, which state it.
        let begin = std::iter::from_fn(|| sender.poll_action()).find_map(|action| match action {
            SendAction::Begin { path: MEMORY, statement } => Some(statement),
            _ => None,
        })?;
        Some((Self(sender), begin))
    }
}

pub(super) fn policy(bound: QueueBound) -> QueuePolicy {
    // A publisher that keeps all looks for room before it publishes.
    QueuePolicy::KeepLast { depth: bound.messages }
}
