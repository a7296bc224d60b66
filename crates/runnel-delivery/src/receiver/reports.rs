//! Reports of the receiver's position while no path changes.

use super::{ReceiveAction, Receiver};
use crate::statement::Statement;

impl<M> Receiver<M> {
    /// Sets the interval of reports: a Reached after this many messages, or after a quarter of the credit's bytes,
    /// while no path changes. A relay path needs them, which returns all messages above the report, and a paced sender
    /// ([`Sender::pace`](crate::Sender::pace)). 0, the default, for never.
    pub fn report_every(&mut self, messages: u64) {
        self.report_every = messages;
        self.update_steady();
    }

    /// Returns the Reached of [`report_every`](Self::report_every), if it is due. Poll only this while the user takes
    /// no messages; [`poll_action`](Self::poll_action) also returns it.
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
