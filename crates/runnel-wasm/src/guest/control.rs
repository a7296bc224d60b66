//! Control of a guest from other threads.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use runnel::Context;

use crate::checkpoint::{Checkpoint, Decision, Requests};
use crate::error::GuestError;
use crate::host::Signals;
use crate::program::Engine;

/// Controls a guest from any thread.
#[derive(Clone)]
pub struct GuestControl {
    pub(super) name: String,
    pub(super) signals: Arc<Signals>,
    pub(super) requests: Arc<Requests>,
    pub(super) context: Context,
    pub(super) engine: Engine,
    /// Why there are no checkpoints of it.
    pub(super) checkpoint_refusal: Option<String>,
}

impl GuestControl {
    /// The full names of its nodes.
    pub fn node_names(&self) -> Vec<String> {
        self.signals.node_names.all()
    }

    /// Whether the guest is to end.
    pub(super) fn is_ending(&self) -> bool {
        self.signals.is_stopped() || !self.context.ok()
    }

    /// Asks the guest to end: it gets the event `shutdown`.
    pub fn shutdown(&self) {
        self.context.shutdown();
    }

    /// Ends the guest at once, whatever it does.
    pub fn stop(&self) {
        self.signals.stop();
        self.engine.inner().increment_epoch();
        self.context.shutdown();
    }

    /// Suspends the node at one instant: where it waits, sleeps or runs a loop, whichever it does next.
    ///
    /// # Errors
    /// If its program cannot be checkpointed, if there is another checkpoint at the same time, if the node has ended, or if it
    /// does none of these within `timeout`.
    pub fn suspend(&self, timeout: Duration) -> Result<SuspendedGuest, GuestError> {
        let refused = |why: &str| GuestError::Checkpoint { name: self.name.clone(), why: why.to_owned() };
        if let Some(why) = &self.checkpoint_refusal {
            return Err(refused(why));
        }
        let asked = self.requests.add().map_err(refused)?;
        self.engine.inner().increment_epoch();
        self.context.executor().waker().wake();
        match asked.answer.recv_timeout(timeout) {
            Ok(Ok(checkpoint)) => Ok(SuspendedGuest { checkpoint, decide: asked.decide }),
            Ok(Err(why)) => Err(refused(&why)),
            Err(RecvTimeoutError::Disconnected) => Err(refused("it has ended")),
            Err(RecvTimeoutError::Timeout) => {
                self.requests.done();
                Err(refused(&format!("it did not wait, sleep or turn a loop within {timeout:?}")))
            }
        }
    }

    /// A checkpoint of the node, which goes on.
    ///
    /// # Errors
    /// As [`suspend`](Self::suspend).
    pub fn checkpoint(&self, timeout: Duration) -> Result<Checkpoint, GuestError> {
        self.suspend(timeout).map(SuspendedGuest::go_on)
    }
}

/// A node that is suspended. It goes on when this is dropped.
pub struct SuspendedGuest {
    checkpoint: Checkpoint,
    decide: mpsc::Sender<Decision>,
}

impl SuspendedGuest {
    /// What the node is, at this instant.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Lets the node go on. Returns its checkpoint.
    pub fn go_on(self) -> Checkpoint {
        _ = self.decide.send(Decision::GoOn);
        self.checkpoint
    }

    /// Ends the node here, since it goes on elsewhere. Returns its checkpoint.
    pub fn end(self) -> Checkpoint {
        // One that is stopped meanwhile has ended anyway.
        _ = self.decide.send(Decision::End);
        self.checkpoint
    }
}
