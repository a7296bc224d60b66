//! A checkpoint that another thread asks for.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Checkpoint;
use crate::host::Signals;

/// The request that a guest has not answered.
pub struct Requests {
    signals: Arc<Signals>,
    state: Mutex<State>,
}

#[derive(Default)]
enum State {
    #[default]
    None,
    Waiting(Request),
    /// The guest is suspended.
    Answered,
    /// The guest has ended.
    Closed,
}

pub struct Request {
    reply: mpsc::Sender<Result<Checkpoint, String>>,
    decision: mpsc::Receiver<Decision>,
}

/// What becomes of a suspended guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    GoOn,
    End,
}

/// The side of the thread that asks.
pub struct Asked {
    pub answer: mpsc::Receiver<Result<Checkpoint, String>>,
    pub decide: mpsc::Sender<Decision>,
}

/// How often a suspended guest checks whether it is stopped.
const CHECK: Duration = Duration::from_millis(20);

impl Request {
    /// Gives the checkpoint to the one who asked, who decides what becomes of the guest. It goes on if that one is gone.
    pub fn answer(self, checkpoint: Result<Checkpoint, String>, is_stopped: impl Fn() -> bool) -> Decision {
        let failed = checkpoint.is_err();
        if self.reply.send(checkpoint).is_err() || failed {
            return Decision::GoOn;
        }
        loop {
            match self.decision.recv_timeout(CHECK) {
                Ok(decision) => return decision,
                Err(RecvTimeoutError::Disconnected) => return Decision::GoOn,
                Err(RecvTimeoutError::Timeout) if is_stopped() => return Decision::End,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Requests {
    pub fn new(signals: &Arc<Signals>) -> Self {
        Self { signals: Arc::clone(signals), state: Mutex::default() }
    }

    /// Adds a request, which the guest answers.
    ///
    /// # Errors
    /// Why it does not.
    pub fn add(&self) -> Result<Asked, &'static str> {
        let (reply, answer) = mpsc::channel();
        let (decide, decision) = mpsc::channel();
        let mut state = self.state();
        match *state {
            State::Waiting(_) | State::Answered => return Err("another checkpoint of it is in progress"),
            State::Closed => return Err("it has ended"),
            State::None => *state = State::Waiting(Request { reply, decision }),
        }
        self.signals.want_suspension(true);
        Ok(Asked { answer, decide })
    }

    /// The request that waits, which is answered now: there is no other one until [`done`](Self::done).
    pub fn take(&self) -> Option<Request> {
        let mut state = self.state();
        match *state {
            State::Waiting(_) => self.replace(&mut state, State::Answered),
            State::None | State::Answered | State::Closed => None,
        }
    }

    /// The one who has asked waits no longer, or the guest goes on.
    pub fn done(&self) {
        let mut state = self.state();
        if !matches!(*state, State::Closed) {
            self.replace(&mut state, State::None);
        }
    }

    /// Refuses the request that waits, and all further ones.
    pub fn close(&self) {
        self.replace(&mut self.state(), State::Closed);
    }

    fn replace(&self, state: &mut State, next: State) -> Option<Request> {
        self.signals.want_suspension(false);
        match std::mem::replace(state, next) {
            State::Waiting(request) => Some(request),
            State::None | State::Answered | State::Closed => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
