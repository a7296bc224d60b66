//! SIGINT and SIGTERM as a flag and a wake-up.

use crate::reactor::Waker;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Sets `flag` and wakes the reactor whenever SIGINT or SIGTERM arrives, until dropped.
#[derive(Debug)]
pub struct Interrupts {
    ids: Vec<signal_hook_registry::SigId>,
}

impl Interrupts {
    /// Begins to catch the signals; handlers that were there are called as well.
    ///
    /// # Errors
    /// When the kernel refuses the handler.
    pub fn catch(flag: &Arc<AtomicBool>, waker: &Waker) -> io::Result<Self> {
        let mut caught = Self { ids: Vec::new() };
        for signal in [SIGINT, SIGTERM] {
            let (flag, waker) = (Arc::clone(flag), waker.clone());
            let action = move || {
                flag.store(true, Ordering::SeqCst);
                waker.wake();
            };
            // SAFETY: the action stores an atomic and writes 8 bytes to an eventfd; both are allowed in a handler,
            // and neither allocates, locks or panics.
            caught.ids.push(unsafe { signal_hook_registry::register(signal, action) }?);
        }
        Ok(caught)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook_registry::unregister(id);
        }
    }
}
