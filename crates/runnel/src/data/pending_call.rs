//! Service call in progress, whose response goes to a callback or is taken.

use std::sync::{Arc, OnceLock};

use runnel_core::wire::Encoding;
use runnel_ros1::node::{ServiceFailure, ServiceLinkId};
use runnel_ros1::tcpros::Response;
use runnel_rtps::wire::EntityId;

use crate::callback_group::CallbackScheduler;
use crate::ready::{Dispatch, Listeners, Task, Waitable};
use crate::sync::{Class, Mutex, TryMutex, lock};

/// The result of a call.
pub(crate) type CallAnswer = Result<Response, ServiceFailure>;

type Callback = Box<dyn FnOnce(CallPath, CallAnswer) + Send>;

/// What carries a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallPath {
    /// A ROS 1 link.
    Ros1(ServiceLinkId),
    /// The endpoints of a client in ROS 2, by its reader, or a service of this process; with the number of the call.
    Ros2(EntityId, i64),
}

impl CallPath {
    /// The encoding of the request and its response.
    pub(crate) fn encoding(self) -> Encoding {
        match self {
            Self::Ros1(_) => Encoding::Ros1,
            Self::Ros2(..) => Encoding::Xcdr1,
        }
    }
}

/// See the module's documentation.
pub(crate) struct PendingCall {
    /// What carries the call, once it has begun.
    path: OnceLock<CallPath>,
    answer: Mutex<Answer>,
    callback: TryMutex<Option<Callback>>,
    scheduler: CallbackScheduler,
}

/// The result of a call, of which only the first counts.
#[derive(Default)]
struct Answer {
    is_complete: bool,
    result: Option<CallAnswer>,
}

impl PendingCall {
    /// A call whose response is taken.
    pub(crate) fn new() -> Arc<Self> {
        Self::with(Dispatch::Taken, None)
    }

    /// A call whose response `callback` gets.
    pub(crate) fn with_callback(
        dispatch: Dispatch,
        callback: impl FnOnce(CallPath, CallAnswer) + Send + 'static,
    ) -> Arc<Self> {
        Self::with(dispatch, Some(Box::new(callback)))
    }

    fn with(dispatch: Dispatch, callback: Option<Callback>) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            path: OnceLock::new(),
            answer: Mutex::new(Class::PendingCall, Answer::default()),
            callback: TryMutex::new(callback),
            scheduler: CallbackScheduler::new(dispatch, myself),
        })
    }

    /// Records what carries the call.
    pub(crate) fn begin(&self, path: CallPath) {
        // A call begins once.
        let _ = self.path.set(path);
    }

    /// What carries the call; `None` if it has not begun.
    pub(crate) fn path(&self) -> Option<CallPath> {
        self.path.get().copied()
    }

    /// Sets the response, unless the call has one.
    pub(crate) fn complete(&self, answer: CallAnswer) {
        let mut state = lock(&self.answer);
        if state.is_complete {
            return;
        }
        *state = Answer { is_complete: true, result: Some(answer) };
        drop(state);
        self.scheduler.push();
    }

    /// Takes the response, once.
    pub(crate) fn take(&self) -> Option<CallAnswer> {
        lock(&self.answer).result.take()
    }
}

impl Waitable for PendingCall {
    fn is_ready(&self) -> bool {
        lock(&self.answer).result.is_some()
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
        if let (Some(callback), Some(path), Some(answer)) = (callback, self.path(), self.take()) {
            callback(path, answer);
        }
    }

    fn dispatch(&self) -> Option<&Dispatch> {
        Some(self.scheduler.dispatch())
    }
}
