//! Service call in progress, whose response goes to a callback or is taken.

use std::sync::{Arc, OnceLock};

use runnel_ros1::node::{ServiceFailure, ServiceLinkId};
use runnel_ros1::tcpros::Response;

use crate::callback_group::CallbackScheduler;
use crate::ready::{Dispatch, Listeners, Task, Waitable};
use crate::sync::{Class, Mutex, TryMutex, lock};

/// The result of a call.
pub(crate) type CallAnswer = Result<Response, ServiceFailure>;

type Callback = Box<dyn FnOnce(ServiceLinkId, CallAnswer) + Send>;

/// See the module's documentation.
pub(crate) struct PendingCall {
    /// The link that carries the call, once it has begun.
    link: OnceLock<ServiceLinkId>,
    answer: Mutex<Option<CallAnswer>>,
    callback: TryMutex<Option<Callback>>,
    scheduler: CallbackScheduler,
}

impl PendingCall {
    /// A call whose response is taken.
    pub(crate) fn new() -> Arc<Self> {
        Self::with(Dispatch::Taken, None)
    }

    /// A call whose response `callback` gets.
    pub(crate) fn with_callback(
        dispatch: Dispatch,
        callback: impl FnOnce(ServiceLinkId, CallAnswer) + Send + 'static,
    ) -> Arc<Self> {
        Self::with(dispatch, Some(Box::new(callback)))
    }

    fn with(dispatch: Dispatch, callback: Option<Callback>) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            link: OnceLock::new(),
            answer: Mutex::new(Class::PendingCall, None),
            callback: TryMutex::new(callback),
            scheduler: CallbackScheduler::new(dispatch, myself),
        })
    }

    /// Records the link that carries the call.
    pub(crate) fn begin(&self, link: ServiceLinkId) {
        // A call begins once.
        let _ = self.link.set(link);
    }

    /// The link that carries the call; `None` if it has not begun.
    pub(crate) fn link(&self) -> Option<ServiceLinkId> {
        self.link.get().copied()
    }

    /// Sets the response.
    pub(crate) fn complete(&self, answer: CallAnswer) {
        *lock(&self.answer) = Some(answer);
        self.scheduler.push();
    }

    /// Takes the response, once.
    pub(crate) fn take(&self) -> Option<CallAnswer> {
        lock(&self.answer).take()
    }
}

impl Waitable for PendingCall {
    fn is_ready(&self) -> bool {
        lock(&self.answer).is_some()
    }

    fn listeners(&self) -> &Listeners {
        self.scheduler.listeners()
    }
}

impl Task for PendingCall {
    fn run(&self) {
        let Some(_entered) = self.scheduler.enter("the callback of a call") else { return };
        // Only a thread in the group uses it.
        let callback = self.callback.try_lock().and_then(|mut callback| callback.take());
        if let (Some(callback), Some(link), Some(answer)) = (callback, self.link(), self.take()) {
            callback(link, answer);
        }
    }

    fn dispatch(&self) -> Option<&Dispatch> {
        Some(self.scheduler.dispatch())
    }
}
