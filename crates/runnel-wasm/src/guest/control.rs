//! Control of a guest from other threads.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use runnel::Context;

use crate::checkpoint::{Checkpoint, CheckpointRequests, Decision, PendingCheckpoint};
use crate::error::GuestError;
use crate::host::{Signals, Watchdog};
use crate::program::Engine;

/// How often a guest is made to look at its signals until it is suspended.
const REPEAT: Duration = Duration::from_millis(50);

/// Controls a guest from any thread.
#[derive(Clone)]
pub struct GuestControl {
    pub(super) name: String,
    pub(super) signals: Arc<Signals>,
    pub(super) requests: Arc<CheckpointRequests>,
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

    /// Whether the guest has ended, and its entities with it.
    pub fn has_ended(&self) -> bool {
        self.signals.has_ended()
    }

    /// Asks the guest to end: it gets the event `shutdown`.
    pub fn shutdown(&self) {
        self.context.shutdown();
    }

    /// Ends the guest at once, whatever it does.
    pub fn stop(&self) {
        if self.signals.stop() {
            self.engine.inner().increment_epoch();
            self.context.shutdown();
            Watchdog::end(&self.signals, &self.engine);
        }
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
        self.context.executor().waker().wake();
        match self.answer_to(&asked, timeout) {
            Ok(Ok(checkpoint)) => Ok(SuspendedGuest { checkpoint, decide: asked.decide }),
            Ok(Err(why)) => Err(refused(&why)),
            Err(RecvTimeoutError::Disconnected) => Err(refused("it has ended")),
            Err(RecvTimeoutError::Timeout) => {
                self.requests.withdraw(asked.number);
                Err(refused(&format!("it did not wait, sleep or turn a loop within {timeout:?}")))
            }
        }
    }

    fn answer_to(
        &self,
        asked: &PendingCheckpoint,
        timeout: Duration,
    ) -> Result<Result<Checkpoint, String>, RecvTimeoutError> {
        let began = Instant::now();
        loop {
            // Again each time: a guest that had just looked at its signals would not look once more.
            self.engine.inner().increment_epoch();
            let left = timeout.saturating_sub(began.elapsed());
            match asked.answer.recv_timeout(left.min(REPEAT)) {
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                answer => return answer,
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
        _ = self.decide.send(Decision::Resume);
        self.checkpoint
    }

    /// Ends the node here, since it goes on elsewhere. Returns its checkpoint.
    pub fn end(self) -> Checkpoint {
        // One that is stopped meanwhile has ended anyway.
        _ = self.decide.send(Decision::Terminate);
        self.checkpoint
    }
}
