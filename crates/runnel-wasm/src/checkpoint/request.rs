//! A checkpoint that another thread asks for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use super::Checkpoint;

/// The request that a guest has not answered.
#[derive(Default)]
pub struct Requests {
    is_waiting: AtomicBool,
    request: Mutex<Option<Request>>,
}

pub struct Request {
    pub reply: mpsc::Sender<Result<Checkpoint, String>>,
    /// The guest ends with the checkpoint.
    pub ends: bool,
}

impl Requests {
    /// False if there is one already.
    pub fn add(&self, request: Request) -> bool {
        let mut place = self.place();
        let is_free = place.is_none();
        if is_free {
            *place = Some(request);
            self.is_waiting.store(true, Ordering::SeqCst);
        }
        is_free
    }

    pub fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }

    pub fn take(&self) -> Option<Request> {
        let mut place = self.place();
        self.is_waiting.store(false, Ordering::SeqCst);
        place.take()
    }

    fn place(&self) -> MutexGuard<'_, Option<Request>> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
