//! SIGINT and SIGTERM as a flag and a wake-up.

use crate::reactor::Waker;
use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

const SIGNALS: [i32; 2] = [libc::SIGINT, libc::SIGTERM];

/// How many [`Interrupts`] there are.
static CATCHING: AtomicUsize = AtomicUsize::new(0);

/// Sets `flag` and wakes the reactor when SIGINT or SIGTERM arrives, until dropped. The second one, and when nobody
/// catches it any more, a signal ends the process as if it had never been caught.
#[derive(Debug)]
pub struct Interrupts {
    /// Removed last: a signal that arrives meanwhile ends the process, and is not lost.
    _actions: Actions,
    state: Arc<State>,
}

/// What the handler and the program tell each other.
#[derive(Debug, Default)]
struct State {
    /// How many signals have arrived.
    arrived: AtomicU32,
    /// How many [`Hold`]s there are.
    holds: AtomicU32,
}

/// While there is one, no signal ends the process.
#[derive(Debug)]
pub struct Hold {
    state: Arc<State>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.state.holds.fetch_sub(1, Ordering::SeqCst);
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
        end_where_nobody_catches()?;
        let mut actions = Actions::default();
        let (first, state) = (Arc::new(AtomicBool::new(true)), Arc::new(State::default()));
        for signal in SIGNALS {
            let (flag, waker, first) = (Arc::clone(flag), waker.clone(), Arc::clone(&first));
            let state = Arc::clone(&state);
            let action = move || {
                state.arrived.fetch_add(1, Ordering::SeqCst);
                flag.store(true, Ordering::SeqCst);
                waker.wake();
                // A callback that does not end is not to keep the user from ending the program.
                if !first.swap(false, Ordering::SeqCst) && state.holds.load(Ordering::SeqCst) == 0 {
                    end_by(signal);
                }
            };
            // SAFETY: the action stores atomics, writes 8 bytes to an eventfd, and may change a signal's disposition and
            // raise it; all are allowed in a handler, and none allocates, locks or panics.
            actions.ids.push(unsafe { signal_hook_registry::register(signal, action) }?);
        }
        // Not before: a signal whose action was not there yet would be lost.
        CATCHING.fetch_add(1, Ordering::SeqCst);
        Ok(Self { _actions: actions, state })
    }

    /// How many signals have arrived.
    pub fn arrived(&self) -> u32 {
        self.state.arrived.load(Ordering::SeqCst)
    }

    /// Keeps further signals from ending the process until the result is dropped: for a wait that itself ends when
    /// [`Interrupts::arrived`] grows.
    #[must_use]
    pub fn hold(&self) -> Hold {
        self.state.holds.fetch_add(1, Ordering::SeqCst);
        Hold { state: Arc::clone(&self.state) }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        CATCHING.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook_registry::unregister(id);
        }
    }
}

/// Has a signal that nobody catches end the process: the handler stays for good once there was one. A signal that arrives
/// in the moment in which the first handler is installed is lost, since the registry has no way to do what the system
/// would have done.
fn end_where_nobody_catches() -> io::Result<()> {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    if INSTALLED.get().is_some() {
        return Ok(());
    }
    for signal in SIGNALS {
        let action = move || {
            if CATCHING.load(Ordering::SeqCst) == 0 {
                end_by(signal);
            }
        };
        // SAFETY: as in `Interrupts::catch`.
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
