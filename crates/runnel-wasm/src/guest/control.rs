//! Control of a guest from other threads.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use runnel::Context;

use crate::checkpoint::{
    Captured, Checkpoint, CheckpointRequests, Decision, Leave, MemoryCopy, Moment, PendingCheckpoint, Wanted,
};
use crate::error::GuestError;
use crate::host::{Signals, Watchdog};
use crate::program::{Engine, ModuleHash};

/// How often a guest is made to look at its signals until it is suspended.
const REPEAT: Duration = Duration::from_millis(50);

/// How long a guest may take to go on, after it was suspended.
const GOING_ON: Duration = Duration::from_secs(1);

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
    pub(super) module: ModuleHash,
}

impl GuestControl {
    /// The full names of its nodes. None while it has yet to come from another host, or if it has gone to one.
    pub fn node_names(&self) -> Vec<String> {
        if self.signals.is_absent() { Vec::new() } else { self.signals.node_names.all() }
    }

    /// The module of its program.
    pub fn module(&self) -> ModuleHash {
        self.module
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
        match self.capture(Wanted::Checkpoint, timeout)? {
            (Captured::Checkpoint(checkpoint), decide) => {
                Ok(SuspendedGuest { checkpoint: *checkpoint, decide })
            }
            (Captured::StillServed, _) => Err(self.refused("the host that it has left still serves it")),
            _ => Err(self.refused("it was asked for something else")),
        }
    }

    /// Suspends the node as [`suspend`](Self::suspend) does, for a host to which it moves, with what has changed in its memory
    /// since this copy. Messages in ROS 1 are counted from then on. `None` if the host that it has left still serves it.
    pub(crate) fn suspend_to_move(
        &self,
        copy: Box<MemoryCopy>,
        timeout: Duration,
    ) -> Result<Option<SuspendedMoment>, GuestError> {
        match self.capture(Wanted::Copy(copy), timeout)? {
            (Captured::Copy(moment), decide) => {
                let requests = Arc::clone(&self.requests);
                Ok(Some(SuspendedMoment { moment: Some(*moment), decide, requests }))
            }
            (Captured::StillServed, decide) => {
                drop(decide);
                self.requests.wait_until_done(GOING_ON);
                Ok(None)
            }
            _ => Err(self.refused("it was asked for something else")),
        }
    }

    /// The node does not move: messages are no longer counted.
    pub(crate) fn stay(&self) {
        // One that has ended, or does not come to a point where it can be suspended, goes on as it is.
        let _ = self.capture(Wanted::Nothing, Duration::from_secs(1));
    }

    fn refused(&self, why: &str) -> GuestError {
        GuestError::Checkpoint { name: self.name.clone(), why: why.to_owned() }
    }

    fn capture(
        &self,
        wanted: Wanted,
        timeout: Duration,
    ) -> Result<(Captured, mpsc::Sender<Decision>), GuestError> {
        if let Some(why) = &self.checkpoint_refusal {
            return Err(self.refused(why));
        }
        let asked = self.requests.add(wanted).map_err(|why| self.refused(why))?;
        self.context.executor().waker().wake();
        match self.answer_to(&asked, timeout) {
            Ok(Ok(captured)) => Ok((captured, asked.decide)),
            Ok(Err(why)) => Err(self.refused(&why)),
            Err(RecvTimeoutError::Disconnected) => Err(self.refused("it has ended")),
            Err(RecvTimeoutError::Timeout) => {
                self.requests.withdraw(asked.number);
                Err(self.refused(&format!("it did not wait, sleep or turn a loop within {timeout:?}")))
            }
        }
    }

    fn answer_to(
        &self,
        asked: &PendingCheckpoint,
        timeout: Duration,
    ) -> Result<Result<Captured, String>, RecvTimeoutError> {
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

/// A node that is suspended to move. It goes on when this is dropped.
pub(crate) struct SuspendedMoment {
    moment: Option<Moment>,
    decide: mpsc::Sender<Decision>,
    requests: Arc<CheckpointRequests>,
}

impl SuspendedMoment {
    /// What the node is, once.
    pub(crate) fn take_moment(&mut self) -> Option<Moment> {
        self.moment.take()
    }

    /// Lets the node go on, and waits until it does.
    pub(crate) fn go_on(self) -> Option<Moment> {
        _ = self.decide.send(Decision::Resume);
        self.requests.wait_until_done(GOING_ON);
        self.moment
    }

    /// The node goes on at another host.
    pub(crate) fn leave(self, leave: Leave) {
        // One that is stopped meanwhile has ended anyway.
        _ = self.decide.send(Decision::Leave(leave));
    }
}
