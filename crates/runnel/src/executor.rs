//! Executors run callbacks: on one thread by default, on several for those who ask.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{clock, cpu};

use crate::error::Error;
use crate::shared::Shared;

/// After callbacks that took this long (or into another tick of the kernel), everything that arrived meanwhile is taken before
/// the next one runs: a queue then drops the oldest messages, and the newest are not left in the kernel.
pub(crate) const LONG_CALLBACK: Duration = Duration::from_millis(1);

/// Most turns for that, so that callbacks get their turn however fast peers send.
const CATCH_UP: usize = 256;

/// How long that goes on at most: turns that take large messages are long ones.
const CATCH_UP_FOR: Duration = Duration::from_millis(2);

/// Runs the callbacks of a context.
///
/// The thread that spins is the thread that waits for messages: nothing is handed over. With several threads one
/// waits and the others take callbacks; a subscription's or timer's own callback never runs twice at once.
pub struct Executor {
    shared: Arc<Shared>,
    threads: usize,
    cpus: Vec<usize>,
}

impl Executor {
    /// An executor of one thread.
    pub(crate) fn of(shared: Arc<Shared>) -> Self {
        Self { shared, threads: 1, cpus: Vec::new() }
    }

    /// Uses so many threads (at least one).
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Binds the threads to these CPUs, numbered from 0.
    #[must_use]
    pub fn cpus(mut self, cpus: &[usize]) -> Self {
        self.cpus = cpus.to_vec();
        self
    }

    /// Runs callbacks until the context shuts down, then unregisters its nodes.
    ///
    /// # Errors
    /// When a CPU cannot be used, or the operating system refuses to wait.
    pub fn spin(&self) -> Result<(), Error> {
        let shared = &*self.shared;
        thread::scope(|scope| {
            let others: Vec<_> =
                (1..self.threads).map(|_| scope.spawn(|| self.spin_thread(shared))).collect();
            let mine = self.spin_thread(shared);
            let theirs =
                others.into_iter().map(|thread| thread.join().unwrap_or_else(|why| resume_unwind(why)));
            [mine].into_iter().chain(theirs).collect::<Result<(), Error>>()
        })?;
        shared.close();
        Ok(())
    }

    fn spin_thread(&self, shared: &Shared) -> Result<(), Error> {
        if !self.cpus.is_empty() {
            cpu::bind_thread(&self.cpus)?;
        }
        let _end = End(shared);
        while shared.ok() {
            step(shared, None)?;
        }
        Ok(())
    }

    /// Runs the callbacks that are due now, without waiting, on the calling thread: threads and CPUs are for
    /// [`Executor::spin`] alone.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn spin_some(&self) -> Result<(), Error> {
        let shared = &*self.shared;
        catch_up(shared)?;
        shared.timers.fire();
        let due = shared.ready.len();
        for _ in 0..due {
            run_next(shared);
        }
        shared.turning.finish_wait();
        Ok(())
    }

    /// Waits at most `timeout` for a callback and runs it on the calling thread; false if none became due.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn spin_once(&self, timeout: Duration) -> Result<bool, Error> {
        let until = clock::monotonic() + timeout;
        let shared = &*self.shared;
        loop {
            if step(shared, Some(until))? {
                return Ok(true);
            }
            if !shared.ok() || clock::monotonic() >= until {
                shared.ready.wake_another();
                shared.turning.finish_wait();
                return Ok(false);
            }
        }
    }
}

/// Ends the other threads with this one, also when a callback panics: those that wait for callbacks see neither that
/// nor the signal that ended it.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

/// Runs one callback, or waits for one until `until`; true if one was run.
fn step(shared: &Shared, until: Option<Instant>) -> Result<bool, Error> {
    shared.timers.fire();
    // Who waits until a certain time wants one callback.
    if until.map_or_else(|| run_several(shared), |_| run_next(shared)) {
        if shared.turning.since_left() >= LONG_CALLBACK {
            catch_up(shared)?;
        }
        return Ok(true);
    }
    let due = || shared.next_due(until);
    if shared.turning.spinner_waits() {
        let timeout = due().map(|until| until.since(clock::monotonic()));
        shared.ready.follow(timeout, || shared.turning.spinner_waits());
    } else {
        shared.turning.turn_spinning(due, &shared.ready, shared.polling)?;
    }
    Ok(false)
}

fn run_next(shared: &Shared) -> bool {
    let Some(due) = shared.ready.pop() else { return false };
    shared.turning.attend();
    due.run();
    true
}

/// Runs a callback, and on for the messages of its subscription that wait, until something else is due.
fn run_several(shared: &Shared) -> bool {
    let Some(due) = shared.ready.pop() else { return false };
    shared.turning.attend();
    due.run_on(&|| {
        !shared.ready.is_due()
            && shared.timers.next().is_none_or(|at| clock::monotonic() < at)
            && shared.turning.since_left() < LONG_CALLBACK
            && !shared.stop.load(Ordering::SeqCst)
    });
    true
}

/// Takes all that has arrived, unless more comes all the time.
pub(crate) fn catch_up(shared: &Shared) -> Result<(), Error> {
    let until = clock::monotonic() + CATCH_UP_FOR;
    for _ in 0..CATCH_UP {
        if clock::monotonic() >= until || !shared.turning.turn_at_once()?.served {
            break;
        }
    }
    Ok(())
}
