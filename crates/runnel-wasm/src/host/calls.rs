//! Calls of a guest that have no response.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The numbers of the calls, and the clients that called.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<BTreeMap<u64, u32>>>);

/// A call. It has no response until this is dropped.
pub struct PendingCall {
    calls: Calls,
    id: u64,
}

impl Calls {
    pub fn add(&self, id: u64, client: u32) -> PendingCall {
        self.waiting().insert(id, client);
        PendingCall { calls: self.clone(), id }
    }

    pub fn count(&self) -> usize {
        self.waiting().len()
    }

    pub fn all(&self) -> Vec<(u64, u32)> {
        self.waiting().iter().map(|(id, client)| (*id, *client)).collect()
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.calls.waiting().remove(&self.id);
    }
}
