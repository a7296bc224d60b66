//! Effects of a message for a subscription that must not happen under the caller's lock.

use std::sync::Arc;

use crate::data::received::SharedMessage;
use crate::ready::Task;

/// Dropped messages, whose `Drop` may run any user code, and inline callbacks of the library, which may log.
#[derive(Default)]
#[must_use = "callbacks must run"]
pub(crate) struct Deferred {
    pub(super) ended: Vec<SharedMessage>,
    pub(super) callbacks: Vec<Arc<dyn Task>>,
}

impl Deferred {
    /// Drops the messages and runs the callbacks. The caller holds no lock except those under which the program's
    /// logger may be called.
    pub(crate) fn run(self) {
        drop(self.ended);
        self.callbacks.iter().for_each(|callback| callback.run());
    }
}
