//! SIGINT and SIGTERM as a flag and a wake-up.

use crate::reactor::Waker;
use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

const SIGNALS: [i32; 2] = [libc::SIGINT, libc::SIGTERM];

/// How many [`Interrupts`] there are.
static CATCHING: AtomicUsize = AtomicUsize::new(0);

/// How many of these have had a signal: the next one ends the process.
static SIGNALLED: AtomicUsize = AtomicUsize::new(0);

/// How many [`Hold`]s there are, of whichever [`Interrupts`].
static HOLDS: AtomicUsize = AtomicUsize::new(0);

/// Sets `flag` and wakes the reactor when SIGINT or SIGTERM arrives, until dropped. The second one, and when nobody
/// catches it any more, a signal ends the process as if it had never been caught.
#[derive(Debug)]
pub struct Interrupts {
    actions: Actions,
    /// How many signals have arrived.
    arrived: Arc<AtomicU32>,
}

/// While there is one, no signal ends the process: for a wait that itself ends when [`Hold::is_interrupted`].
#[derive(Debug)]
pub struct Hold {
    arrived: Arc<AtomicU32>,
    before: u32,
}

impl Hold {
    /// True if a signal has arrived since the hold began.
    pub fn is_interrupted(&self) -> bool {
        self.arrived.load(Ordering::SeqCst) != self.before
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HOLDS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What is done when a signal arrives, until dropped.
#[derive(Debug, Default)]
struct Actions {
    ids: Vec<signal_hook_registry::SigId>,
}

impl Interrupts {
    /// Begins to catch the signals; handlers that were there are called as well.
    ///
    /// # Errors
    /// When the kernel refuses the handler.
    pub fn catch(flag: &Arc<AtomicBool>, waker: &Waker) -> io::Result<Self> {
        decide_first()?;
        let mut actions = Actions::default();
        let arrived = Arc::new(AtomicU32::new(0));
        for signal in SIGNALS {
            let (flag, waker, arrived) = (Arc::clone(flag), waker.clone(), Arc::clone(&arrived));
            let action = move || {
                if arrived.fetch_add(1, Ordering::SeqCst) == 0 {
                    SIGNALLED.fetch_add(1, Ordering::SeqCst);
                }
                flag.store(true, Ordering::SeqCst);
                waker.wake();
            };
            // SAFETY: the action stores atomics and writes 8 bytes to an eventfd; both are allowed in a handler, and neither
            // allocates, locks or panics.
            actions.ids.push(unsafe { signal_hook_registry::register(signal, action) }?);
        }
        // Not before: a signal whose action was not there yet would be lost.
        CATCHING.fetch_add(1, Ordering::SeqCst);
        Ok(Self { actions, arrived })
    }

    /// Keeps further signals from ending the process until the result is dropped.
    #[must_use]
    pub fn hold(&self) -> Hold {
        // Counted first: a signal that arrives in between ends the process or the wait, and is not lost.
        let before = self.arrived.load(Ordering::SeqCst);
        HOLDS.fetch_add(1, Ordering::SeqCst);
        Hold { arrived: Arc::clone(&self.arrived), before }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // First: a signal that arrives meanwhile ends the process, and is not lost.
        CATCHING.fetch_sub(1, Ordering::SeqCst);
        self.actions.remove();
        if self.arrived.load(Ordering::SeqCst) != 0 {
            SIGNALLED.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Actions {
    fn remove(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook_registry::unregister(id);
        }
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Has a signal end the process that nobody catches, or that is not the first and nobody holds. Actions run in the order of
/// their registration: this one before any that has a wait end, and with it its hold. The handler stays for good once there
/// was one. A signal that arrives in the moment in which the first handler is installed is lost, since the registry has no
/// way to do what the system would have done.
fn decide_first() -> io::Result<()> {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    if INSTALLED.get().is_some() {
        return Ok(());
    }
    for signal in SIGNALS {
        let action = move || {
            let is_caught = CATCHING.load(Ordering::SeqCst) != 0;
            // A callback that does not end is not to keep the user from ending the program.
            let is_another = SIGNALLED.load(Ordering::SeqCst) != 0 && HOLDS.load(Ordering::SeqCst) == 0;
            if !is_caught || is_another {
                end_by(signal);
            }
        };
        // SAFETY: the action reads atomics, and may change a signal's disposition and raise it; all are allowed in a handler,
        // and none allocates, locks or panics.
        unsafe { signal_hook_registry::register(signal, action) }?;
    }
    let _ = INSTALLED.set(());
    Ok(())
}

/// What the signal does without a handler. It is raised once the handler that calls this has returned.
fn end_by(signal: i32) {
    // SAFETY: both calls take numbers only and are allowed in a handler.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
