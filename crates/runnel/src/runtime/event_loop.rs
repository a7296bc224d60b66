//! Event loop of the driver: which thread polls it, and how other threads wait meanwhile.
//!
//! Any thread may poll the driver. A thread that needs the driver takes it from one that only waits in it. A thread
//! that only passes time (a rate, the background thread) does not compete for it. The background thread polls once no
//! other thread has polled for 50 ms. If it was not needed for a second, it only checks every 200 ms, so the gap may be
//! 250 ms. It ends when another thread has waited in the driver for a second without leaving it. So an idle node has
//! one thread.

mod activity;
mod handover;
#[cfg(test)]
mod interleavings;
mod parked;
mod waiting;

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{Waker, clock};

use crate::driver::{Driver, PollOutcome};
use crate::log_output::console;
use crate::ready::{Listeners, ReadyQueue, Waitable};
use crate::runtime::polling::PollingPolicy;
use crate::sync::{MutexGuard, assert_unlocked};
use activity::{Activity, ChangeNotice};
use handover::{Handover, Poller};

/// Primitives of the handover; replaced in `crate::sync::model`.
mod primitives {
    pub(super) use crate::ready::Signal;
    pub(super) use crate::sync::{
        Class, Mutex, Mutex as ListMutex, MutexGuard, lock, lock as lock_list, try_lock,
    };
    pub(super) use runnel_io::Waker;
    pub(super) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence};
}

/// Longest time without a poll before the background thread polls.
const MAX_POLL_GAP: Duration = Duration::from_millis(50);

/// Period of the background thread's checks after it was not needed for [`BACKGROUND_IDLE_TIMEOUT`]. Programs with
/// short callbacks must not pay for those with long ones.
const BACKGROUND_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Time for which another thread must poll without leaving the driver before the background thread ends.
const BACKGROUND_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Wait of a thread before it retries, while another polls the driver.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// Stack of the background thread, in bytes. It runs engines, never user code.
const BACKGROUND_STACK: usize = 256 * 1024;

/// The driver with its lock, and the threads that poll it.
pub(crate) struct EventLoop {
    driver: Handover<Driver>,
    /// End of the last poll by a thread other than the background thread, in nanoseconds with the resolution of the
    /// kernel's tick. It is read for each callback.
    left: AtomicU64,
    ended: AtomicBool,
    /// The context shuts down.
    stop: Arc<AtomicBool>,
    /// Tasks that wait for the shutdown.
    listeners: Listeners,
    activity: Arc<Activity>,
}

/// The event loop is ready once the context shuts down.
impl Waitable for EventLoop {
    fn is_ready(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn listeners(&self) -> &Listeners {
        &self.listeners
    }
}

/// The locked driver for a thread that does not poll it. Dropping the guard applies pending effects, and notifies tasks
/// if the driver may have changed.
pub(crate) struct DriverGuard<'a> {
    driver: MutexGuard<'a, Driver>,
    /// Dropped after the lock, so that the tasks are woken without it.
    notice: ChangeNotice<'a>,
}

impl Deref for DriverGuard<'_> {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        &self.driver
    }
}

impl DerefMut for DriverGuard<'_> {
    fn deref_mut(&mut self) -> &mut Driver {
        self.notice.has_changed = true;
        &mut self.driver
    }
}

impl Drop for DriverGuard<'_> {
    fn drop(&mut self) {
        // A thread that panics may leave the driver in an inconsistent state.
        if !thread::panicking() {
            self.notice.has_changed |= self.driver.settle();
        }
    }
}

impl EventLoop {
    pub(crate) fn new(driver: Driver, stop: Arc<AtomicBool>, waker: Waker) -> Self {
        Self {
            driver: Handover::new(driver, waker),
            left: AtomicU64::new(clock::monotonic().0),
            ended: AtomicBool::new(false),
            stop,
            listeners: Listeners::new(),
            activity: Arc::default(),
        }
    }

    /// Locks the driver for a short time. A thread that waits in the driver is woken and releases it.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn driver(&self) -> DriverGuard<'_> {
        DriverGuard { driver: self.driver.take(), notice: ChangeNotice::new(&self.activity) }
    }

    /// Returns `until`, or a time in the past if another thread wants the driver. Call it with the driver locked: a
    /// thread that wants the driver later ends the wait.
    fn deadline_unless_wanted(&self, until: Option<Instant>) -> Option<Instant> {
        if self.driver.is_wanted() { Some(Instant::default()) } else { until }
    }

    /// Returns `until`, or a time in the past once the context shuts down. Call it with the driver locked: another
    /// thread may have consumed the wake of the shutdown.
    fn deadline_while_running(&self, until: Option<Instant>) -> Option<Instant> {
        if self.stop.load(Ordering::SeqCst) { Some(Instant::default()) } else { until }
    }

    /// Sleeps for [`PollingPolicy::Period`] before the driver is locked, so that other threads can use it. The sleep
    /// ends early when a callback is due, a timer was added or a signal arrived.
    fn pause(&self, policy: PollingPolicy, due: impl Fn() -> Option<Instant>, ready: &ReadyQueue) {
        let PollingPolicy::Period(period) = policy else { return };
        let start = clock::monotonic();
        let end = due().map_or(start + period, |until| until.min(start + period));
        while self.deadline_while_running(Some(end)) > Some(clock::monotonic()) {
            let left = end.since(clock::monotonic());
            if ready.follow(Some(left.min(MAX_POLL_GAP)), || true) {
                return;
            }
        }
    }

    /// True if an executor thread polls the driver.
    pub(crate) fn is_polled_by_executor(&self) -> bool {
        self.driver.is_polled_by(Poller::Executor)
    }

    /// True if a thread other than the background thread polls the driver.
    pub(crate) fn is_polled_in_foreground(&self) -> bool {
        self.driver.is_polled_in_foreground()
    }

    /// Polls the driver once for an executor thread. It does not wait if a callback is due, nor beyond the time that
    /// `due` returns. `due` is called with the driver locked: another thread may have consumed the wake for a new
    /// timer.
    pub(crate) fn poll_for_executor(
        &self,
        due: impl Fn() -> Option<Instant>,
        ready: &ReadyQueue,
        policy: PollingPolicy,
    ) -> io::Result<PollOutcome> {
        self.pause(policy, &due, ready);
        self.driver.yield_to_wanting();
        let mut driver = self.driver.take();
        self.driver.poll_as(Poller::Executor);
        let until = self.deadline_unless_wanted(self.deadline_while_running(due()));
        let outcome = policy.poll_once(&mut driver, until, ready, || self.driver.is_wanted());
        ready.clear_asleep();
        self.left.store(clock::last_tick().0, Ordering::Release);
        self.driver.leave(driver);
        self.notify_tasks(outcome.as_ref().is_ok_and(|outcome| outcome.had_work));
        outcome
    }

    /// Polls the driver once without waiting.
    pub(crate) fn poll_without_waiting(&self) -> io::Result<PollOutcome> {
        self.poll_once_as(Poller::Waiter, self.driver.take(), Some(Instant::default()))
    }

    /// Time since the last poll by a thread other than the background thread.
    pub(crate) fn since_foreground_poll(&self) -> Duration {
        clock::last_tick().since(Instant(self.left.load(Ordering::SeqCst)))
    }

    /// Polls the driver once, at most until `until`, for a thread that runs no callbacks. If another thread already
    /// polls, parks until that thread unparks this one, for [`RETRY_INTERVAL`] at most.
    pub(crate) fn poll_or_park(&self, until: Instant) -> io::Result<()> {
        assert_unlocked("a wait");
        self.driver.yield_to_wanting();
        if self.is_polled_in_foreground() {
            // The thread that completes the request may unpark this one.
            thread::park_timeout(until.since(clock::monotonic()).min(RETRY_INTERVAL));
            return Ok(());
        }
        self.poll_once_as(Poller::Waiter, self.driver.take(), Some(until)).map(drop)
    }

    /// Sleeps until `until` or the end of the context. Polls the driver meanwhile if no other thread does.
    pub(crate) fn sleep_until(&self, until: Instant) -> io::Result<()> {
        assert_unlocked("a wait");
        while !self.stop.load(Ordering::SeqCst) {
            let left = until.since(clock::monotonic());
            if left.is_zero() {
                break;
            }
            if self.is_polled_in_foreground() {
                thread::sleep(left.min(MAX_POLL_GAP));
            } else {
                self.driver.yield_to_wanting();
                let driver = self.driver.take();
                self.poll_once_as(Poller::Waiter, driver, self.deadline_while_running(Some(until)))?;
            }
        }
        Ok(())
    }

    fn poll_once_as(
        &self,
        poller: Poller,
        mut driver: MutexGuard<'_, Driver>,
        until: Option<Instant>,
    ) -> io::Result<PollOutcome> {
        self.driver.poll_as(poller);
        let outcome = driver.poll_once(self.deadline_unless_wanted(until));
        // The background thread must stay until other threads poll again, so its own polls do not count.
        if poller != Poller::Background {
            self.left.store(clock::last_tick().0, Ordering::SeqCst);
        }
        self.driver.leave(driver);
        self.notify_tasks(outcome.as_ref().is_ok_and(|outcome| outcome.had_work));
        outcome
    }

    /// Waitable for tasks that wait for a change of the graph.
    pub(crate) fn activity(&self) -> &Arc<impl Waitable + use<>> {
        &self.activity
    }

    /// Wakes tasks after input was handled, and once the context shuts down. A process signal wakes only the polling
    /// thread, which notifies the tasks here.
    fn notify_tasks(&self, had_work: bool) {
        if had_work {
            self.activity.notify();
        }
        if self.stop.load(Ordering::SeqCst) {
            self.listeners.notify();
        }
    }

    /// As [`ensure_background_thread`](Self::ensure_background_thread), for a task that starts to wait: a new
    /// background thread polls at once.
    pub(crate) fn ensure_background_poll(self: &Arc<Self>) {
        self.start_background(Instant::default());
    }

    /// Ensures that a background thread runs while the caller runs user code or returns to it.
    pub(crate) fn ensure_background_thread(self: &Arc<Self>) {
        self.start_background(clock::last_tick());
    }

    /// Starts the background thread unless it runs. `left` counts as the end of the last poll.
    fn start_background(self: &Arc<Self>, left: Instant) {
        if !self.driver.begin_background() {
            return;
        }
        self.left.store(left.0, Ordering::SeqCst);
        let myself = Arc::clone(self);
        let builder = thread::Builder::new().name("runnel-poll".into()).stack_size(BACKGROUND_STACK);
        if let Err(error) = builder.spawn(move || myself.run_background()) {
            self.driver.end_background();
            console::error!("no thread can be started to answer peers during callbacks: {error}");
        }
    }

    /// Body of the background thread.
    fn run_background(&self) {
        loop {
            self.poll_until_unneeded();
            self.driver.end_background();
            // A thread that left the driver just now saw this thread still running, and started no other.
            if self.has_ended() || !self.driver.resume_background() {
                return;
            }
        }
    }

    fn poll_until_unneeded(&self) {
        let mut last_poll = clock::monotonic();
        while !self.has_ended() {
            match (self.driver.is_polled_by(Poller::Nobody), self.since_foreground_poll()) {
                (true, gone) if gone >= MAX_POLL_GAP => {
                    self.poll_in_background();
                    last_poll = clock::monotonic();
                }
                (true, gone) => thread::park_timeout(MAX_POLL_GAP - gone),
                (false, inside) => {
                    let is_needed = clock::monotonic().since(last_poll) < BACKGROUND_IDLE_TIMEOUT;
                    if !is_needed && inside >= BACKGROUND_IDLE_TIMEOUT {
                        return;
                    }
                    thread::park_timeout(if is_needed { MAX_POLL_GAP } else { BACKGROUND_CHECK_INTERVAL });
                }
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn poll_in_background(&self) {
        if self.yield_to_waiter() {
            return;
        }
        self.driver.yield_to_wanting();
        // Another thread may hold the driver for a short time.
        let Some(driver) = self.driver.try_take() else { return thread::park_timeout(RETRY_INTERVAL) };
        if let Err(error) = self.poll_once_as(Poller::Background, driver, None) {
            console::error!("waiting for peers failed: {error}");
        }
    }

    /// Ends the background thread, which may still run when the process ends. So anything that would outlast it is
    /// removed here.
    pub(crate) fn end(&self) {
        self.driver().ipc_connections.leave_host();
        self.driver().leave_ros2();
        self.ended.store(true, Ordering::SeqCst);
        self.driver.wake();
    }
}
