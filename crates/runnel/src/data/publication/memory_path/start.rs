//! Handover of a pair to shared memory, from the state of the network.

use runnel_delivery::{
    Credit, Numbered, Path, PathKind, QueuePolicy, SendAction, Sender, SenderSnapshot, Statement, StreamId,
};

use super::{MEMORY, NETWORK};
use crate::frame::{Frame, QueueBound};

/// The network's state of a pair that switches to shared memory.
pub(in crate::data::publication) struct NetworkState {
    /// The kind of the network path.
    pub(in crate::data::publication) network: PathKind,
    /// The highest epoch that the subscriber knows.
    pub(in crate::data::publication) epoch: u32,
    /// The subscriber is known to have all messages before this number.
    pub(in crate::data::publication) reached: u64,
    /// The number of the first message that the network has not accepted.
    pub(in crate::data::publication) unsent: u64,
    /// The queued messages, beginning with `unsent`.
    pub(in crate::data::publication) waiting: Vec<Numbered<Frame>>,
    /// The number of the next message.
    pub(in crate::data::publication) next: u64,
}

/// The sender of a pair whose messages shared memory carries.
pub(in crate::data::publication) struct Delivery(pub(super) Sender<Frame>);

impl Delivery {
    /// Continues from the network's state. `stream` is the id of the pair at both ends. Returns the statement that
    /// opens the channel.
    pub(in crate::data::publication) fn switch_to_memory(
        stream: u64,
        network_state: NetworkState,
        bound: QueueBound,
        waits_for_user: bool,
    ) -> Option<(Self, Statement)> {
        let NetworkState { network, epoch, reached, unsent, waiting, next } = network_state;
        let snapshot = SenderSnapshot {
            id: StreamId { stream, subscription: 0 },
            next_number: next,
            epoch,
            reached,
            from: reached,
            next_unsent: unsent,
            is_settled: false,
            dropped: 0,
            messages: waiting,
        };
        let mut sender = Sender::resume(snapshot, policy(bound), bound.bytes, Credit::DEFAULT);
        if waits_for_user {
            sender.pace();
        }
        sender.path_up(Path::new(NETWORK, network)).ok()?;
        // The network already carries the pair, and keeps its messages in order.
        sender.reached(sender.epoch(), reached).ok()?;
        sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).ok()?;
        sender.switch_path(MEMORY).ok()?;
        // Skips on the network are stated by its queue or by the RTPS writer.
        let begin = std::iter::from_fn(|| sender.poll_action()).find_map(|action| match action {
            SendAction::Begin { path: MEMORY, statement } => Some(statement),
            _ => None,
        })?;
        Some((Self(sender), begin))
    }
}

pub(super) fn policy(bound: QueueBound) -> QueuePolicy {
    // A keep-all publisher checks the capacity before it publishes.
    QueuePolicy::KeepLast { depth: bound.messages }
}
