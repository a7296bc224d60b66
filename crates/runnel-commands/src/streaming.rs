//! Commands that run until Ctrl-C, until they are complete, or until their output is closed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runnel::Context;

use crate::error::CliError;

/// How often a wait checks whether it is over.
pub const POLL_PERIOD: Duration = Duration::from_millis(100);

/// The end of such a command, which its callbacks cause.
#[derive(Clone)]
pub struct Ending {
    context: Context,
    error: Arc<Mutex<Option<CliError>>>,
}

impl Ending {
    /// The end of what the context runs.
    pub fn of(context: &Context) -> Self {
        Self { context: context.clone(), error: Arc::default() }
    }

    /// Ends the command: it is complete.
    pub fn complete(&self) {
        self.context.shutdown();
    }

    /// Ends the command if a callback failed.
    pub fn check(&self, result: Result<(), CliError>) {
        if let Err(error) = result {
            *lock(&self.error) = Some(error);
            self.context.shutdown();
        }
    }

    /// Runs callbacks until the end.
    ///
    /// # Errors
    /// The error of a callback.
    pub fn wait(&self) -> Result<(), CliError> {
        self.context.spin()?;
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
