//! Commands that run until Ctrl-C, until they have what they want, or until nobody reads their output.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runnel::Context;

use crate::error::CliError;

/// How often a wait looks whether it is over.
pub const GLANCE: Duration = Duration::from_millis(100);

/// The end of such a command, as its callbacks bring it about.
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

    /// Ends the command: it has what it wanted.
    pub fn reached(&self) {
        self.context.shutdown();
    }

    /// Ends the command if a callback failed.
    pub fn unless_ok(&self, result: Result<(), CliError>) {
        if let Err(error) = result {
            *lock(&self.error) = Some(error);
            self.context.shutdown();
        }
    }

    /// Runs callbacks until the end.
    ///
    /// # Errors
    /// What a callback failed with.
    pub fn wait(&self) -> Result<(), CliError> {
        self.context.spin()?;
        let error = lock(&self.error).take();
        error.map_or(Ok(()), Err)
    }
}

/// Runs callbacks for as long, or until the end.
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

/// The value behind a lock, also after a panic elsewhere.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
