//! State that all nodes of a context share: the driver and its event loop, due callbacks, clock and timers, and
//! shutdown.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::names::Arguments;
use runnel_core::time::Instant;
use runnel_io::signals::{Hold, Interrupts};
use runnel_io::{Reactor, clock};

use crate::data::Publication;
use crate::driver::{Driver, Key};
use crate::error::Error;
use crate::ipc::Pool;
use crate::log_output::console;
use crate::log_output::destinations::Destinations;
use crate::ready::{ExecutorQueues, ReadyQueue};
use crate::runtime::event_loop::EventLoop;
use crate::runtime::polling::PollingPolicy;
use crate::runtime::spin_count::SpinCount;
use crate::runtime::standby_nodes::StandbyNodes;
use crate::settings::environment::Settings;
use crate::settings::linger::{self, Linger, Unarrived};
use crate::sync::{Mutex, assert_unlocked, lock};
use crate::time::ros_clock::RosClock;
use crate::time::time_jumps::TimeJumps;
use crate::time::timers::Timers;

/// Longest wait before a thread checks whether the context has ended.
pub(crate) const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Work to do before the nodes leave the graph.
pub(crate) trait ShutdownHook: Send + Sync {
    /// Runs the hook after spinning has ended.
    fn run(&self);
}

/// Sets up a part of a new node, which is a `NodeInner`. Options have it as a pointer, so that only programs that choose
/// the part link it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeSetup(pub(crate) fn(Arc<dyn Any + Send + Sync>) -> Result<(), Error>);

/// Two options that choose a part choose the same one.
impl PartialEq for NodeSetup {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NodeSetup {}

/// See the module's documentation.
pub(crate) struct Shared {
    pub(crate) event_loop: Arc<EventLoop>,
    /// Queue of the nodes that are in no executor.
    pub(crate) ready: Arc<ReadyQueue>,
    /// Queues of executors with their own nodes.
    pub(crate) executors: ExecutorQueues,
    pub(crate) spin_count: SpinCount,
    pub(crate) reactor: Arc<Reactor>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) clock: Arc<RosClock>,
    pub(crate) jumps: Arc<TimeJumps>,
    pub(crate) rosout: bool,
    pub(crate) log_destinations: Arc<Destinations>,
    pub(crate) sim_time: bool,
    /// Sets up what the nodes have in ROS 2.
    pub(crate) ros2_setup: Option<NodeSetup>,
    pub(crate) arguments: Arguments,
    pub(crate) settings: Settings,
    pub(crate) polling: PollingPolicy,
    /// Set when the context shuts down.
    pub(crate) stop: Arc<AtomicBool>,
    /// Engine for calls that belong to no node, created by the first call.
    pub(crate) client: Mutex<Option<Key>>,
    pub(crate) shutdown_hooks: Mutex<Vec<Weak<dyn ShutdownHook>>>,
    pub(crate) on_shutdown: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    pub(crate) linger: Linger,
    pub(crate) standby: StandbyNodes,
    pub(crate) interrupts: Option<Interrupts>,
}

impl Shared {
    /// False once the context shuts down.
    pub(crate) fn ok(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }

    /// Ends spinning on all threads.
    pub(crate) fn shutdown(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.ready.close();
        self.executors.close();
    }

    /// Adds a callback that runs after spinning has ended and the nodes have left the graph.
    pub(crate) fn on_shutdown(&self, callback: Box<dyn FnOnce() + Send>) {
        lock(&self.on_shutdown).push(callback);
    }

    /// Polls the driver until `done` returns true. False after `timeout` or when the context ends.
    pub(crate) fn wait(
        &self,
        timeout: Duration,
        mut done: impl FnMut(&mut Driver) -> bool,
    ) -> Result<bool, Error> {
        let mut reached = false;
        self.wait_through_shutdown(timeout, |driver| {
            reached = done(driver);
            reached || self.stop.load(Ordering::SeqCst)
        })?;
        Ok(reached)
    }

    /// As [`Shared::wait`], but fails when the context ends before `done`.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends first; [`Error::Io`] if the operating system refuses to wait.
    pub(crate) fn wait_while_ok(
        &self,
        timeout: Duration,
        done: impl FnMut(&mut Driver) -> bool,
    ) -> Result<bool, Error> {
        let is_done = self.wait(timeout, done)?;
        if is_done || self.ok() { Ok(is_done) } else { Err(Error::ShuttingDown) }
    }

    /// As [`Shared::wait`], but also continues while the context shuts down.
    pub(crate) fn wait_through_shutdown(
        &self,
        timeout: Duration,
        mut done: impl FnMut(&mut Driver) -> bool,
    ) -> Result<bool, Error> {
        self.wait_unlocked(timeout, || done(&mut self.event_loop.driver()))
    }

    /// As [`Shared::wait_through_shutdown`], but `done` is called without the driver locked, so it may run any code.
    pub(crate) fn wait_unlocked(
        &self,
        timeout: Duration,
        mut done: impl FnMut() -> bool,
    ) -> Result<bool, Error> {
        let until = clock::monotonic() + timeout;
        let reached = loop {
            if done() {
                break true;
            }
            let now = clock::monotonic();
            if now >= until {
                break false;
            }
            // Another thread may consume the wake of the shutdown.
            self.event_loop.poll_or_park(until.min(now + STOP_CHECK_INTERVAL))?;
        };
        self.event_loop.finish_wait();
        Ok(reached)
    }

    /// Adds a hook that runs when spinning ends, before the hooks added earlier.
    pub(crate) fn add_shutdown_hook(&self, hook: Weak<dyn ShutdownHook>) {
        let mut shutdown_hooks = lock(&self.shutdown_hooks);
        shutdown_hooks.retain(|hook| hook.strong_count() > 0);
        shutdown_hooks.push(hook);
    }

    /// Unregisters all nodes and runs the user's shutdown callbacks, once no executor spins.
    pub(crate) fn close(&self) {
        let shutdown_hooks = std::mem::take(&mut *lock(&self.shutdown_hooks));
        shutdown_hooks.iter().rev().filter_map(Weak::upgrade).for_each(|hook| hook.run());
        // Messages published just before the end must still arrive. ROS 1 links end with their nodes.
        let until = clock::monotonic() + self.linger.time();
        if !self.wait_for_arrival(until, |driver| driver.nodes.are_sent_in_ros1()) {
            self.report_unarrived(Publication::held_by_links);
        }
        self.event_loop.driver().close_nodes();
        let closed = self.wait_through_shutdown(Duration::from_secs(1), |driver| driver.nodes.are_closed());
        if !self.wait_for_arrival(until, |driver| driver.ros2.is_acknowledged()) {
            self.report_unarrived(Publication::unacknowledged);
        }
        self.linger.close();
        // A thread may keep a handle beyond the program's own end.
        self.event_loop.driver().ipc_connections.leave_host();
        self.event_loop.driver().leave_ros2();
        if !closed.unwrap_or(false) {
            console::warning!("the master did not confirm within 1 s that all nodes are unregistered");
        }
        self.run_on_shutdown();
    }

    /// Waits until the published messages have arrived, or `until`. True if they have. A signal ends this wait and
    /// later ones, instead of the process.
    pub(crate) fn wait_for_arrival(
        &self,
        until: Instant,
        mut has_arrived: impl FnMut(&mut Driver) -> bool,
    ) -> bool {
        let hold = self.interrupts.as_ref().map(Interrupts::hold);
        let mut reached = false;
        let left = until.since(clock::monotonic());
        let _ = self.wait_through_shutdown(left, |driver| {
            reached = has_arrived(driver);
            if hold.as_ref().is_some_and(Hold::is_interrupted) {
                self.linger.end();
            }
            reached || self.linger.is_over()
        });
        reached
    }

    fn report_unarrived(&self, of: fn(&Publication) -> Vec<Unarrived>) {
        let unarrived = self.event_loop.driver().nodes.unarrived(of);
        unarrived.iter().for_each(|(topic, unarrived)| linger::report(topic, unarrived, &self.linger));
    }

    /// Runs the user's shutdown callbacks without the lock, because they may add others.
    fn run_on_shutdown(&self) {
        let callbacks = std::mem::take(&mut *lock(&self.on_shutdown));
        assert_unlocked("a shutdown callback");
        callbacks.into_iter().for_each(|callback| callback());
    }

    /// The next timer's time or `until`, whichever is first.
    pub(crate) fn next_due(&self, until: Option<Instant>) -> Option<Instant> {
        [self.timers.next(), until].into_iter().flatten().min()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        console::flush();
        self.event_loop.end();
        self.run_on_shutdown();
    }
}
