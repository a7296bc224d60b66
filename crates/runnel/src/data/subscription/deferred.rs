//! What a subscription's next message brings about and must not happen under the lock of whoever gives it.

use std::sync::Arc;

use crate::data::received::SharedMessage;
use crate::ready::Runnable;

/// Messages that were pushed out, whose end may run any code of the user's, and callbacks of the library, which may log.
#[derive(Default)]
#[must_use = "callbacks must run"]
pub(crate) struct Deferred {
    pub(super) ended: Vec<SharedMessage>,
    pub(super) callbacks: Vec<Arc<dyn Runnable>>,
}

impl Deferred {
    /// Ends the messages and runs the callbacks. The caller holds no lock but such as a program's logger may be called under.
    pub(crate) fn run(self) {
        drop(self.ended);
        self.callbacks.iter().for_each(|callback| callback.run());
    }
}
