//! Waits of a client for a server.

use std::sync::{Arc, Weak};

use crate::data::PendingCall;

/// The waits of one client. A wait ends when it is dropped.
#[derive(Default)]
pub(super) struct ServerWaits(Vec<Weak<PendingCall>>);

impl ServerWaits {
    /// Adds a wait, which completes when a server is ready.
    pub(super) fn add(&mut self, wait: &Arc<PendingCall>) {
        self.0.retain(|wait| wait.strong_count() > 0);
        self.0.push(Arc::downgrade(wait));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|wait| wait.strong_count() == 0)
    }

    /// Completes all waits: a server is ready.
    pub(super) fn complete(&mut self) {
        for wait in self.0.drain(..).filter_map(|wait| wait.upgrade()) {
            wait.complete(Ok(Ok(Vec::new())));
        }
    }
}
