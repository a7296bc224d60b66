//! Snapshot of a sender, from which its publication continues in another process or on another host.

use alloc::vec::Vec;

use super::{Sender, SenderOptions, SenderState};
use crate::limits::Credit;
use crate::send_queue::{Numbered, QueuePolicy};
use crate::statement::StreamId;

/// State that the next process needs. It has its own paths, so none are included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SenderSnapshot<M> {
    /// The stream and the subscription.
    pub id: StreamId,
    /// The number after the last published one.
    pub next_number: u64,
    /// The greatest epoch begun.
    pub epoch: u32,
    /// The subscriber has all messages before this number.
    pub reached: u64,
    /// The number at which the next path begins.
    pub from: u64,
    /// The number after the highest one that a path accepted.
    pub next_unsent: u64,
    /// No path still carries a message before `from`.
    pub is_settled: bool,
    /// Number of dropped messages.
    pub dropped: u64,
    /// Unsent messages, by number.
    pub messages: Vec<Numbered<M>>,
}

impl<M> Sender<M> {
    /// Ends this sender. Call [`path_down`](Sender::path_down) for each path first, with the messages that it returns:
    /// those on a path that is still up count as lost, unless the subscriber has them.
    pub fn snapshot(mut self) -> SenderSnapshot<M> {
        while let Some(path) = self.paths.first().map(|known| known.path.id) {
            self.path_down(path, []);
        }
        let from = match self.state {
            SenderState::Waiting { from } => from,
            _ => self.first_unsent(),
        };
        let Self { id, next_number, epoch, reached, next_unsent, is_settled, .. } = self;
        let dropped = self.queue.dropped();
        let messages = self.queue.into_messages();
        SenderSnapshot { id, next_number, epoch, reached, from, next_unsent, is_settled, dropped, messages }
    }

    /// Restores a sender without a path. Its first path begins at the subscriber's position. Inconsistent numbers are
    /// corrected towards sending more.
    pub fn resume(
        snapshot: SenderSnapshot<M>,
        policy: QueuePolicy,
        max_bytes: usize,
        credit: Credit,
    ) -> Self {
        let SenderSnapshot {
            id,
            next_number,
            epoch,
            reached,
            from,
            next_unsent,
            is_settled,
            dropped,
            messages,
        } = snapshot;
        let mut sender = Self::new(SenderOptions { id, first: next_number, policy, max_bytes, credit });
        let next_number = sender.next_number;
        sender.epoch = epoch;
        sender.is_settled = is_settled;
        sender.next_unsent = next_unsent.clamp(1, next_number);
        sender.reached = reached.clamp(1, next_number);
        sender.queue.count_dropped(dropped);
        let is_plausible = |message: &Numbered<M>| (1..next_number).contains(&message.number);
        sender.queue.put_back(messages.into_iter().filter(is_plausible).collect());
        sender.queue.forget_before(sender.reached);
        sender.state = SenderState::Waiting { from: from.clamp(1, sender.first_unsent()) };
        sender
    }
}
