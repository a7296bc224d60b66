//! A checkpoint that another thread requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Checkpoint, MemoryCopy, State};
use crate::host::{Host, Signals};

/// The request that a guest has not answered.
pub struct CheckpointRequests {
    signals: Arc<Signals>,
    state: Mutex<RequestState>,
    /// Of a change from `Answered`.
    answered: Condvar,
    numbers: AtomicU64,
}

#[derive(Default)]
enum RequestState {
    #[default]
    None,
    Waiting(u64, Request),
    /// The guest is suspended.
    Answered,
    /// The guest has ended.
    Closed,
}

pub struct Request {
    wanted: Wanted,
    reply: mpsc::Sender<Result<Captured, String>>,
    decision: mpsc::Receiver<Decision>,
}

/// What is wanted of a guest.
pub enum Wanted {
    Checkpoint,
    /// What a host needs to which it moves; of the memory what has changed since this copy.
    Copy(Box<MemoryCopy>),
    /// It does not move after all.
    Nothing,
}

/// What was wanted, of a guest that is suspended.
pub enum Captured {
    Checkpoint(Box<Checkpoint>),
    Copy(Box<Moment>),
    /// It cannot move yet: the host that it has left still serves it.
    StillServed,
    Nothing,
}

/// A guest at one instant, for a host to which it moves.
pub struct Moment {
    pub state: State,
    pub memory: Box<MemoryCopy>,
    /// Goals of others that it executes.
    pub goals: usize,
    /// How many peers its entities are linked to.
    pub links: Vec<(u32, u32)>,
}

/// What is left to do for a guest that goes on at another host.
pub type Leave = Box<dyn FnOnce(&mut Host) + Send>;

/// What becomes of a suspended guest.
pub enum Decision {
    Resume,
    Terminate,
    /// It goes on at another host: what is left to do here.
    Leave(Leave),
}

/// The requester's side of a request.
pub struct PendingCheckpoint {
    pub number: u64,
    pub answer: mpsc::Receiver<Result<Captured, String>>,
    pub decide: mpsc::Sender<Decision>,
}

/// How often a suspended guest checks whether it is stopped.
const CHECK: Duration = Duration::from_millis(20);

impl Request {
    /// Gives what it wants to the requester, which decides what becomes of the guest. Without a requester it goes on.
    pub fn answer(
        self,
        capture: impl FnOnce(Wanted) -> Result<Captured, String>,
        is_stopped: impl Fn() -> bool,
    ) -> Decision {
        let captured = capture(self.wanted);
        let failed = captured.is_err();
        if self.reply.send(captured).is_err() || failed {
            return Decision::Resume;
        }
        loop {
            match self.decision.recv_timeout(CHECK) {
                Ok(decision) => return decision,
                Err(RecvTimeoutError::Disconnected) => return Decision::Resume,
                Err(RecvTimeoutError::Timeout) if is_stopped() => return Decision::Terminate,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl CheckpointRequests {
    pub fn new(signals: &Arc<Signals>) -> Self {
        Self {
            signals: Arc::clone(signals),
            state: Mutex::default(),
            answered: Condvar::new(),
            numbers: AtomicU64::new(0),
        }
    }

    /// Adds a request, which the guest answers.
    ///
    /// # Errors
    /// Why it does not.
    pub fn add(&self, wanted: Wanted) -> Result<PendingCheckpoint, &'static str> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = mpsc::channel();
        let (decide, decision) = mpsc::channel();
        let mut state = self.state();
        match *state {
            RequestState::Waiting(..) | RequestState::Answered => {
                return Err("another checkpoint of it is in progress");
            }
            RequestState::Closed => return Err("it has ended"),
            RequestState::None => *state = RequestState::Waiting(number, Request { wanted, reply, decision }),
        }
        self.signals.want_suspension(true);
        Ok(PendingCheckpoint { number, answer, decide })
    }

    /// The request that waits, which is answered now: there is no other one until [`done`](Self::done).
    pub fn take(&self) -> Option<Request> {
        let mut state = self.state();
        match *state {
            RequestState::Waiting(..) => self.replace(&mut state, RequestState::Answered),
            RequestState::None | RequestState::Answered | RequestState::Closed => None,
        }
    }

    /// The guest goes on after its answer.
    pub fn done(&self) {
        let mut state = self.state();
        if matches!(*state, RequestState::Answered) {
            self.replace(&mut state, RequestState::None);
        }
    }

    /// Waits until the guest goes on after its answer.
    pub fn wait_until_done(&self, timeout: Duration) {
        let is_answered = |state: &mut RequestState| matches!(state, RequestState::Answered);
        // If this takes longer, the next request is refused.
        let _ = self.answered.wait_timeout_while(self.state(), timeout, is_answered);
    }

    /// The requester waits no longer. An answer that is being given ends by itself.
    pub fn withdraw(&self, number: u64) {
        let mut state = self.state();
        if matches!(*state, RequestState::Waiting(waiting, _) if waiting == number) {
            self.replace(&mut state, RequestState::None);
        }
    }

    /// Refuses the request that waits, and all further ones.
    pub fn close(&self) {
        self.replace(&mut self.state(), RequestState::Closed);
    }

    fn replace(&self, state: &mut RequestState, next: RequestState) -> Option<Request> {
        self.signals.want_suspension(false);
        self.answered.notify_all();
        match std::mem::replace(state, next) {
            RequestState::Waiting(_, request) => Some(request),
            RequestState::None | RequestState::Answered | RequestState::Closed => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
