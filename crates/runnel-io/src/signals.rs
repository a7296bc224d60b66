//! SIGINT and SIGTERM, as a flag and a wake-up.

use crate::reactor::Waker;
use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

const SIGNALS: [i32; 2] = [libc::SIGINT, libc::SIGTERM];

/// Number of [`Interrupts`].
static CATCHING: AtomicUsize = AtomicUsize::new(0);

/// Number of these that have received a signal: the next one ends the process.
static SIGNALLED: AtomicUsize = AtomicUsize::new(0);

/// Number of [`Hold`]s, of all [`Interrupts`].
static HOLDS: AtomicUsize = AtomicUsize::new(0);

/// Sets `flag` and wakes the reactor on SIGINT or SIGTERM, until dropped. A second signal, or a signal when none is
/// left, ends the process as if it had never been caught.
#[derive(Debug)]
pub struct Interrupts {
    actions: Actions,
    /// Signals received.
    arrived: Arc<AtomicU32>,
}

/// While it exists, no signal ends the process: for a wait that itself ends when [`Hold::is_interrupted`].
#[derive(Debug)]
pub struct Hold {
    arrived: Arc<AtomicU32>,
    before: u32,
}

impl Hold {
    /// Whether a signal has arrived since the hold was created.
    pub fn is_interrupted(&self) -> bool {
        self.arrived.load(Ordering::SeqCst) != self.before
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HOLDS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Registered signal actions, until dropped.
#[derive(Debug, Default)]
struct Actions {
    ids: Vec<signal_hook_registry::SigId>,
}

impl Interrupts {
    /// Starts to catch the signals. Existing handlers are still called.
    ///
    /// # Errors
    /// If the kernel refuses the handler.
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
            // SAFETY: the action stores atomics and writes 8 bytes to an eventfd. Both are allowed in a handler, and
            // neither allocates, locks or panics.
            actions.ids.push(unsafe { signal_hook_registry::register(signal, action) }?);
        }
        // Only now: a signal whose action was not registered yet would be lost.
        CATCHING.fetch_add(1, Ordering::SeqCst);
        Ok(Self { actions, arrived })
    }

    /// Prevents further signals from ending the process until the result is dropped.
    #[must_use]
    pub fn hold(&self) -> Hold {
        // Counted first: a signal in between ends the process or the wait, and is not lost.
        let before = self.arrived.load(Ordering::SeqCst);
        HOLDS.fetch_add(1, Ordering::SeqCst);
        Hold { arrived: Arc::clone(&self.arrived), before }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // First: a signal in between ends the process, and is not lost.
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

/// Ends the process on a signal that is not caught, or is a second one without a hold. Actions run in order of
/// registration: this one before any that ends a wait and with it its hold. The handler stays for good. A signal in
/// the moment in which the first handler is installed is lost, since the registry cannot do the system's default
/// action.
fn decide_first() -> io::Result<()> {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    if INSTALLED.get().is_some() {
        return Ok(());
    }
    for signal in SIGNALS {
        let action = move || {
            let is_caught = CATCHING.load(Ordering::SeqCst) != 0;
            // A callback that hangs must not keep the user from ending the program.
            let is_another = SIGNALLED.load(Ordering::SeqCst) != 0 && HOLDS.load(Ordering::SeqCst) == 0;
            if !is_caught || is_another {
                end_process(signal);
            }
        };
        // SAFETY: the action reads atomics, and may change a signal's disposition and raise it. All are allowed in a
        // handler, and none allocates, locks or panics.
        unsafe { signal_hook_registry::register(signal, action) }?;
    }
    let _ = INSTALLED.set(());
    Ok(())
}

/// Does the default action of the signal, which is raised after the calling handler has returned.
fn end_process(signal: i32) {
    // SAFETY: both calls take numbers only and are allowed in a handler.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
