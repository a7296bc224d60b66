//! The context: the program that the host runs.

pub(crate) mod rate;

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use runnel_core::time::{Instant, Time};
use runnel_core::wire::Encoding;

use crate::abi::Clock;
use crate::error::Error;
use crate::event_loop;
use crate::host;

/// How often a wait for a peer checks whether it is there.
const CHECK_PERIOD: Duration = Duration::from_millis(10);

/// The graphs in which the nodes of a context are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Graphs {
    /// The ROS 1 graph, which has a master.
    #[default]
    Ros1,
    /// The ROS 2 graph, which needs no master.
    Ros2,
    /// Both. Each topic is in both graphs.
    Both,
}

/// Options of a context. The host reads arguments and environment, and chooses the graphs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ContextOptions;

impl ContextOptions {
    /// The graphs that the user chooses, by arguments of the host.
    ///
    /// # Errors
    /// None: the host has read them.
    pub fn from_args() -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The state that all nodes of the program share. Clones are handles of the same context.
#[derive(Clone)]
pub struct Context {
    inner: Arc<ContextInner>,
}

struct ContextInner {
    graphs: Graphs,
    arguments: Vec<String>,
    on_shutdown: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl Context {
    /// The context of this program, in the graphs of its host.
    ///
    /// # Errors
    /// None: the host has joined the graphs.
    pub fn new() -> Result<Self, Error> {
        Self::with_options(ContextOptions)
    }

    /// As [`Context::new`].
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn with_options(_: ContextOptions) -> Result<Self, Error> {
        let graphs = match host::graphs() {
            1 => Graphs::Ros1,
            2 => Graphs::Ros2,
            _ => Graphs::Both,
        };
        let arguments = host::arguments();
        Ok(Self { inner: Arc::new(ContextInner { graphs, arguments, on_shutdown: Mutex::default() }) })
    }

    /// The command line without the ROS arguments.
    pub fn arguments(&self) -> &[String] {
        &self.inner.arguments
    }

    /// The graphs in which the context's nodes are.
    pub fn graphs(&self) -> Graphs {
        self.inner.graphs
    }

    /// The current ROS time: the wall clock or, while the parameter `/use_sim_time` is true, the time on `/clock`.
    pub fn now(&self) -> Time {
        Time::from_nanos(host::now(Clock::ROS))
    }

    /// Sleeps. Messages wait meanwhile.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the program is to end.
    pub fn sleep(&self, duration: Duration) -> Result<(), Error> {
        thread::sleep(duration);
        if self.ok() { Ok(()) } else { Err(Error::ShuttingDown) }
    }

    /// Runs callbacks until the program is to end, then those of [`Context::on_shutdown`].
    ///
    /// # Errors
    /// When the host refuses to wait.
    pub fn spin(&self) -> Result<(), Error> {
        while self.ok() {
            ignore_end(event_loop::run_once(Duration::MAX))?;
        }
        let callbacks =
            mem::take(&mut *self.inner.on_shutdown.lock().unwrap_or_else(PoisonError::into_inner));
        callbacks.into_iter().for_each(|callback| callback());
        Ok(())
    }

    /// Runs the callbacks that are due now, without waiting.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn spin_some(&self) -> Result<(), Error> {
        while self.ok() && ignore_end(event_loop::run_once(Duration::ZERO))? {}
        Ok(())
    }

    /// Waits at most `timeout` for a callback and runs it. False if none became due.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn spin_once(&self, timeout: Duration) -> Result<bool, Error> {
        ignore_end(event_loop::run_once(timeout))
    }

    /// False once the program is to end.
    pub fn ok(&self) -> bool {
        !event_loop::is_shutting_down()
    }

    /// Ends spinning.
    pub fn shutdown(&self) {
        event_loop::shut_down();
    }

    /// Registers a callback that runs when spinning ends.
    pub fn on_shutdown(&self, callback: impl FnOnce() + Send + 'static) {
        self.inner.on_shutdown.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(callback));
    }

    /// The encoding that the program uses; the host converts for the other graph.
    pub(crate) fn encoding(&self) -> Encoding {
        if self.inner.graphs == Graphs::Ros1 { Encoding::Ros1 } else { Encoding::Xcdr1 }
    }

    /// Waits at most `timeout` until `is_ready`. False if it is not.
    pub(crate) fn wait_until(
        &self,
        timeout: Duration,
        is_ready: impl Fn() -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let end = steady_time() + timeout;
        while !is_ready()? {
            let left = end.since(steady_time());
            if left.is_zero() {
                return Ok(false);
            }
            self.sleep(left.min(CHECK_PERIOD))?;
        }
        Ok(true)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("graphs", &self.graphs()).finish_non_exhaustive()
    }
}

/// The time of a clock that never steps. It runs only while the program runs, also after a move to another host.
pub fn steady_time() -> Instant {
    Instant(host::now(Clock::MONOTONIC).unsigned_abs())
}

/// The end of the program is no error of spinning.
fn ignore_end(ran: Result<bool, Error>) -> Result<bool, Error> {
    match ran {
        Err(Error::ShuttingDown) => Ok(false),
        ran => ran,
    }
}
