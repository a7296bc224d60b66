//! A checkpoint that another thread asks for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use super::Checkpoint;

/// The request that a guest has not answered.
#[derive(Default)]
pub struct Requests {
    is_waiting: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
enum State {
    #[default]
    None,
    Waiting(Request),
    /// The guest has ended.
    Closed,
}

pub struct Request {
    pub reply: mpsc::Sender<Result<Checkpoint, String>>,
    /// The guest ends with the checkpoint.
    pub ends: bool,
}

impl Requests {
    /// Adds a request, which the guest answers.
    ///
    /// # Errors
    /// Why it does not.
    pub fn add(&self, request: Request) -> Result<(), &'static str> {
        let mut state = self.state();
        match *state {
            State::Waiting(_) => return Err("another checkpoint of it is in progress"),
            State::Closed => return Err("it has ended"),
            State::None => *state = State::Waiting(request),
        }
        self.is_waiting.store(true, Ordering::SeqCst);
        Ok(())
    }

    pub fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }

    pub fn take(&self) -> Option<Request> {
        let mut state = self.state();
        match *state {
            State::Waiting(_) => self.end(&mut state, State::None),
            State::None | State::Closed => None,
        }
    }

    /// Refuses the request that waits, and all further ones.
    pub fn close(&self) {
        self.end(&mut self.state(), State::Closed);
    }

    fn end(&self, state: &mut State, next: State) -> Option<Request> {
        self.is_waiting.store(false, Ordering::SeqCst);
        match std::mem::replace(state, next) {
            State::Waiting(request) => Some(request),
            State::None | State::Closed => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
