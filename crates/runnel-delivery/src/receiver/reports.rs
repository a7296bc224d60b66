//! Reports: how far the receiver is, told while nothing changes.

use super::{ReceiveAction, Receiver};
use crate::statement::Statement;

impl<M> Receiver<M> {
    /// Has a Reached written after this many messages, or a quarter of the credit's bytes, while nothing changes: for a path
    /// that gives back all above it (relay), and for a sender that is paced by it ([`Sender::pace`](crate::Sender::pace)). 0, as
    /// at first, for never.
    pub fn report_every(&mut self, messages: u64) {
        self.report_every = messages;
        self.update_steady();
    }

    /// The Reached of [`report_every`](Self::report_every), if it is due. It is all that is asked for while the user takes no
    /// messages; otherwise [`poll_action`](Self::poll_action) gives it, too.
    pub fn poll_report(&mut self) -> Option<ReceiveAction<M>> {
        self.is_report_due().then(|| self.report())
    }

    pub(super) fn report(&mut self) -> ReceiveAction<M> {
        self.reached_due = false;
        self.reported = self.next;
        self.unreported_bytes = 0;
        let statement = Statement::Reached { id: self.id, epoch: self.epoch, next: self.next };
        let path = self.newest_path();
        self.update_steady();
        ReceiveAction::Reached { path, statement }
    }

    pub(super) fn is_report_due(&self) -> bool {
        let messages = self.next.saturating_sub(self.reported);
        let is_much = messages >= self.report_every || self.unreported_bytes >= self.credit.bytes / 4;
        self.report_every > 0 && self.epoch > 0 && is_much && messages > 0
    }
}
