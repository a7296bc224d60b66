//! What all nodes of a process share: the driver with its event loop, the callbacks that are due, clock and timers, and the
//! end of the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::names::Arguments;
use runnel_core::time::Instant;
use runnel_io::signals::{Hold, Interrupts};
use runnel_io::{Reactor, clock};

use crate::data::Publication;
use crate::driver::{Driver, Key};
use crate::environment::Settings;
use crate::error::Error;
use crate::ipc::Pool;
use crate::linger::{self, Linger, Unarrived};
use crate::log_output::console;
use crate::polling::PollingPolicy;
use crate::ready::{ExecutorQueues, ReadyQueue};
use crate::ros_clock::RosClock;
use crate::sync::{Mutex, assert_unlocked, lock};
use crate::timers::Timers;
use crate::turning::Turning;

/// How long a wait goes on at most before it looks whether the context has ended.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);

/// What has something to tell its peers before it leaves the graph.
pub(crate) trait LastWords: Send + Sync {
    /// Tells them. Spinning has ended.
    fn say(&self);
}

/// See the module's documentation.
pub(crate) struct Shared {
    pub(crate) turning: Arc<Turning>,
    /// Of the nodes that are in no executor.
    pub(crate) ready: Arc<ReadyQueue>,
    /// Of executors with nodes of their own.
    pub(crate) executors: ExecutorQueues,
    pub(crate) reactor: Arc<Reactor>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) clock: Arc<RosClock>,
    pub(crate) rosout: bool,
    pub(crate) sim_time: bool,
    pub(crate) arguments: Arguments,
    pub(crate) settings: Settings,
    pub(crate) polling: PollingPolicy,
    /// Set when spinning is to end.
    pub(crate) stop: Arc<AtomicBool>,
    /// The engine for calls that belong to no node, made at the first.
    pub(crate) client: Mutex<Option<Key>>,
    pub(crate) last_words: Mutex<Vec<Weak<dyn LastWords>>>,
    pub(crate) on_shutdown: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    pub(crate) linger: Linger,
    pub(crate) interrupts: Option<Interrupts>,
}

impl Shared {
    /// False once the context shuts down.
    pub(crate) fn ok(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }

    /// Ends spinning, on whichever threads.
    pub(crate) fn shutdown(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.ready.close();
        self.executors.close();
    }

    /// Has `callback` run when spinning has ended and the nodes have left the graph.
    pub(crate) fn on_shutdown(&self, callback: Box<dyn FnOnce() + Send>) {
        lock(&self.on_shutdown).push(callback);
    }

    /// Turns the driver until `done` says so; false if `timeout` is over before, or the context ends.
    pub(crate) fn wait(
        &self,
        timeout: Duration,
        mut done: impl FnMut(&mut Driver) -> bool,
    ) -> Result<bool, Error> {
        let mut reached = false;
        self.wait_out(timeout, |driver| {
            reached = done(driver);
            reached || self.stop.load(Ordering::SeqCst)
        })?;
        Ok(reached)
    }

    /// As [`Shared::wait`], whether the context ends or not.
    pub(crate) fn wait_out(
        &self,
        timeout: Duration,
        mut done: impl FnMut(&mut Driver) -> bool,
    ) -> Result<bool, Error> {
        self.wait_unlocked(timeout, || done(&mut self.turning.driver()))
    }

    /// As [`Shared::wait_out`], but `done` has no driver, and so may run anything.
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
            // Another thread may take the wake that comes with the end of the context.
            self.turning.turn_waiting(until.min(now + GLANCE))?;
        };
        self.turning.finish_wait();
        Ok(reached)
    }

    /// Has `speaker` say its last words when spinning ends, before those that were added earlier.
    pub(crate) fn add_last_words(&self, speaker: Weak<dyn LastWords>) {
        let mut last_words = lock(&self.last_words);
        last_words.retain(|speaker| speaker.strong_count() > 0);
        last_words.push(speaker);
    }

    /// Unregisters all nodes and runs the user's shutdown callbacks, once.
    pub(crate) fn close(&self) {
        let last_words = std::mem::take(&mut *lock(&self.last_words));
        last_words.iter().rev().filter_map(Weak::upgrade).for_each(|speaker| speaker.say());
        // What was published just before the end is still to arrive. Links of ROS 1 end when the nodes do.
        let until = clock::monotonic() + self.linger.time();
        if !self.wait_for_arrival(until, |driver| driver.nodes.are_sent_in_ros1()) {
            self.report_unarrived(Publication::held_by_links);
        }
        self.turning.driver().close_nodes();
        let closed = self.wait_out(Duration::from_secs(1), |driver| driver.nodes.are_closed());
        if !self.wait_for_arrival(until, |driver| driver.ros2.is_acknowledged()) {
            self.report_unarrived(Publication::unacknowledged);
        }
        self.linger.close();
        // A handle that some thread keeps may outlive the program's own end.
        self.turning.driver().sessions.leave_host();
        self.turning.driver().leave_ros2();
        if !closed.unwrap_or(false) {
            console::warning!("the master did not confirm within a second that all is unregistered");
        }
        self.run_on_shutdown();
    }

    /// Waits until what was published has arrived, or `until`; true if it has. A signal that comes meanwhile ends this wait and
    /// those that follow, instead of the process.
    pub(crate) fn wait_for_arrival(
        &self,
        until: Instant,
        mut has_arrived: impl FnMut(&mut Driver) -> bool,
    ) -> bool {
        let hold = self.interrupts.as_ref().map(Interrupts::hold);
        let mut reached = false;
        let left = until.since(clock::monotonic());
        let _ = self.wait_out(left, |driver| {
            reached = has_arrived(driver);
            if hold.as_ref().is_some_and(Hold::is_interrupted) {
                self.linger.end();
            }
            reached || self.linger.is_over()
        });
        reached
    }

    fn report_unarrived(&self, of: fn(&Publication) -> Vec<Unarrived>) {
        let unarrived = self.turning.driver().nodes.unarrived(of);
        unarrived.iter().for_each(|(topic, unarrived)| linger::report(topic, unarrived, &self.linger));
    }

    /// Runs the user's shutdown callbacks, without the lock: they may add others.
    fn run_on_shutdown(&self) {
        let callbacks = std::mem::take(&mut *lock(&self.on_shutdown));
        assert_unlocked("a shutdown callback");
        callbacks.into_iter().for_each(|callback| callback());
    }

    /// When the next timer or the given time is due, whichever is first.
    pub(crate) fn next_due(&self, until: Option<Instant>) -> Option<Instant> {
        [self.timers.next(), until].into_iter().flatten().min()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        console::flush();
        self.turning.end();
        self.run_on_shutdown();
    }
}
