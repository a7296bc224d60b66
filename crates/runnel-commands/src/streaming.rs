//! Commands that run until Ctrl-C, until they are complete, or until their output is closed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use runnel::Context;

use crate::error::CliError;

/// How often a wait checks whether it is over.
pub const POLL_PERIOD: Duration = Duration::from_millis(100);

/// The end of such a command, which its callbacks cause.
#[derive(Clone)]
pub struct Ending {
    contexts: Vec<Context>,
    error: Arc<Mutex<Option<CliError>>>,
}

impl Ending {
    /// The end of what the context runs.
    pub fn of(context: &Context) -> Self {
        Self::of_all(vec![context.clone()])
    }

    /// The end of what all these contexts run.
    pub fn of_all(contexts: Vec<Context>) -> Self {
        Self { contexts, error: Arc::default() }
    }

    /// Ends the command: it is complete.
    pub fn complete(&self) {
        self.contexts.iter().for_each(Context::shutdown);
    }

    /// Ends the command if a callback failed.
    pub fn check(&self, result: Result<(), CliError>) {
        if let Err(error) = result {
            *lock(&self.error) = Some(error);
            self.complete();
        }
    }

    /// Runs callbacks until the end: those of one context in this thread, those of others in threads of their own.
    ///
    /// # Errors
    /// The error of a callback.
    pub fn wait(&self) -> Result<(), CliError> {
        let [others @ .., last] = self.contexts.as_slice() else { return Ok(()) };
        let spun = thread::scope(|scope| {
            for other in others {
                scope.spawn(|| {
                    let spun = other.spin();
                    self.check(spun.map_err(CliError::from));
                    self.complete();
                });
            }
            let spun = last.spin();
            self.complete();
            spun
        });
        spun?;
        let error = lock(&self.error).take();
        error.map_or(Ok(()), Err)
    }
}

/// Runs callbacks for this time, or until the end.
///
/// # Errors
/// When the operating system refuses to wait.
#[cfg(feature = "demo")]
pub fn spin_for(context: &Context, time: Duration) -> Result<(), CliError> {
    use std::time::Instant;

    let until = Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !context.ok() {
            return Ok(());
        }
        context.spin_once(left)?;
    }
}

/// Locks a mutex, even after a panic of another thread.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
