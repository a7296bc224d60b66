//! Who turns the driver, and who waits.
//!
//! Any thread may turn it. One that needs it for itself takes it over from a thread that only waits in it; a thread
//! that merely passes time (a rate, the keeper) does not fight for it. The keeper is a thread that turns the driver
//! when nobody else has for 50 ms, or for 250 ms if that did not happen for a second; it ends when another thread has
//! waited in the driver for a second without leaving it, so that an idle node has one thread.

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
use crate::polling::PollingPolicy;
use crate::ready::{Listeners, ReadyQueue, Waitable};
use crate::sync::{MutexGuard, assert_unlocked};
use activity::Activity;
use handover::{Handover, Poller};

/// What the hand-over is made of; see `crate::sync::model`.
mod primitives {
    pub(super) use crate::ready::Signal;
    pub(super) use crate::sync::{
        Class, Mutex, Mutex as ListMutex, MutexGuard, lock, lock as lock_list, try_lock,
    };
    pub(super) use runnel_io::Waker;
    pub(super) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence};
}

/// How long the driver may go unattended.
const UNATTENDED: Duration = Duration::from_millis(50);

/// How often a keeper that was not needed for [`KEEPER_LEISURE`] looks whether it is: programs whose callbacks are short
/// are not to pay for those of others.
const PATROL: Duration = Duration::from_millis(200);

/// How long others must turn the driver without leaving it before the keeper ends.
const KEEPER_LEISURE: Duration = Duration::from_secs(1);

/// How long a thread waits before it looks again, while another turns the driver.
const SLICE: Duration = Duration::from_millis(1);

/// Stack of the keeper, in bytes: it runs engines, never user code.
const KEEPER_STACK: usize = 256 * 1024;

/// The driver behind its lock.
pub(crate) struct Turning {
    driver: Handover<Driver>,
    /// When the driver was last left by others than the keeper, in nanoseconds, to the tick: read for each callback.
    left: AtomicU64,
    ended: AtomicBool,
    /// The context shuts down.
    stop: Arc<AtomicBool>,
    /// Tasks that wait for that, too.
    listeners: Listeners,
    activity: Arc<Activity>,
}

/// It is ready once the context shuts down.
impl Waitable for Turning {
    fn is_ready(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn listeners(&self) -> &Listeners {
        &self.listeners
    }
}

/// The driver in the hands of a thread that does not poll it. It settles when that lets go.
pub(crate) struct DriverGuard<'a>(MutexGuard<'a, Driver>, &'a Activity);

impl Deref for DriverGuard<'_> {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        &self.0
    }
}

impl DerefMut for DriverGuard<'_> {
    fn deref_mut(&mut self) -> &mut Driver {
        &mut self.0
    }
}

impl Drop for DriverGuard<'_> {
    fn drop(&mut self) {
        // A thread that panics may have left it half changed.
        if !thread::panicking() {
            self.0.settle();
        }
        self.1.notify();
    }
}

impl Turning {
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

    /// The driver, for a moment. A thread that waits in it is woken and lets go.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn driver(&self) -> DriverGuard<'_> {
        DriverGuard(self.driver.take(), &self.activity)
    }

    /// `until`, or no wait at all if another thread wants the driver. To be asked with the driver in hand: whoever wants
    /// it later wakes the wait.
    fn patience(&self, until: Option<Instant>) -> Option<Instant> {
        if self.driver.is_wanted() { Some(Instant::default()) } else { until }
    }

    /// `until`, or no wait at all once the context shuts down. To be asked with the driver in hand, too: the wake that
    /// came with the end may have gone to another thread.
    fn while_running(&self, until: Option<Instant>) -> Option<Instant> {
        if self.stop.load(Ordering::SeqCst) { Some(Instant::default()) } else { until }
    }

    /// The pause of [`PollingPolicy::Period`] before the driver is taken, so that others may have it meanwhile. Ends
    /// early when a callback is due or a timer was added, and soon after a signal.
    fn pause(&self, policy: PollingPolicy, due: impl Fn() -> Option<Instant>, ready: &ReadyQueue) {
        let PollingPolicy::Period(period) = policy else { return };
        let start = clock::monotonic();
        let end = due().map_or(start + period, |until| until.min(start + period));
        while self.while_running(Some(end)) > Some(clock::monotonic()) {
            let left = end.since(clock::monotonic());
            if ready.follow(Some(left.min(UNATTENDED)), || true) {
                return;
            }
        }
    }

    /// True if a thread that also runs callbacks waits in the driver.
    pub(crate) fn spinner_waits(&self) -> bool {
        self.driver.is_polled_by(Poller::Executor)
    }

    /// True if another thread than the keeper does.
    pub(crate) fn is_attended(&self) -> bool {
        self.driver.is_attended()
    }

    /// Turns the driver once as the thread that runs callbacks. Does not wait if one is due, nor beyond the time that
    /// `due` gives: with the driver in hand, since the wake for a timer that was added may have gone to another thread.
    pub(crate) fn turn_spinning(
        &self,
        due: impl Fn() -> Option<Instant>,
        ready: &ReadyQueue,
        policy: PollingPolicy,
    ) -> io::Result<PollOutcome> {
        self.pause(policy, &due, ready);
        self.driver.yield_to_wanting();
        let mut driver = self.driver.take();
        self.driver.poll_as(Poller::Executor);
        let until = self.patience(self.while_running(due()));
        let turned = policy.turn(&mut driver, until, ready, || self.driver.is_wanted());
        ready.awake();
        self.left.store(clock::last_tick().0, Ordering::Release);
        self.driver.leave(driver);
        self.notify_tasks(turned.as_ref().is_ok_and(|turned| turned.served));
        turned
    }

    /// Turns the driver once without waiting.
    pub(crate) fn turn_at_once(&self) -> io::Result<PollOutcome> {
        self.turn_as(Poller::Waiter, self.driver.take(), Some(Instant::default()))
    }

    /// How long ago the driver was last left by others than the keeper.
    pub(crate) fn since_left(&self) -> Duration {
        clock::last_tick().since(Instant(self.left.load(Ordering::SeqCst)))
    }

    /// Turns the driver once for a thread that waits for something without running callbacks. `until` bounds it; if
    /// another thread turns the driver already, waits for that one to let go or for a slice of time.
    pub(crate) fn turn_waiting(&self, until: Instant) -> io::Result<()> {
        assert_unlocked("a wait");
        self.driver.yield_to_wanting();
        if self.is_attended() {
            // What is waited for may unpark the thread.
            thread::park_timeout(until.since(clock::monotonic()).min(SLICE));
            return Ok(());
        }
        self.turn_as(Poller::Waiter, self.driver.take(), Some(until)).map(drop)
    }

    /// Passes time until `until` or the end of the context, and turns the driver meanwhile if nobody else does.
    pub(crate) fn pass_time(&self, until: Instant) -> io::Result<()> {
        assert_unlocked("a wait");
        while !self.stop.load(Ordering::SeqCst) {
            let left = until.since(clock::monotonic());
            if left.is_zero() {
                break;
            }
            if self.is_attended() {
                thread::sleep(left.min(UNATTENDED));
            } else {
                self.driver.yield_to_wanting();
                let driver = self.driver.take();
                self.turn_as(Poller::Waiter, driver, self.while_running(Some(until)))?;
            }
        }
        Ok(())
    }

    fn turn_as(
        &self,
        who: Poller,
        mut driver: MutexGuard<'_, Driver>,
        until: Option<Instant>,
    ) -> io::Result<PollOutcome> {
        self.driver.poll_as(who);
        let turned = driver.turn(self.patience(until));
        // The keeper stays until others turn the driver again: it does not count as one of them.
        if who != Poller::Background {
            self.left.store(clock::last_tick().0, Ordering::SeqCst);
        }
        self.driver.leave(driver);
        self.notify_tasks(turned.as_ref().is_ok_and(|turned| turned.served));
        turned
    }

    /// What tasks register with that wait for a change of the graph.
    pub(crate) fn activity(&self) -> &Arc<impl Waitable + use<>> {
        &self.activity
    }

    /// Wakes tasks once something has happened, and once the context shuts down: a signal tells that only the thread that polls.
    fn notify_tasks(&self, served: bool) {
        if served {
            self.activity.notify();
        }
        if self.stop.load(Ordering::SeqCst) {
            self.listeners.notify();
        }
    }

    /// As [`attend`](Self::attend), for a task that waits from now on: a background thread that starts polls at once.
    pub(crate) fn attend_now(self: &Arc<Self>) {
        self.start_background(Instant::default());
    }

    /// The caller is about to run user code, or to return to it: somebody must look after the driver meanwhile.
    pub(crate) fn attend(self: &Arc<Self>) {
        self.start_background(clock::last_tick());
    }

    /// Starts the background thread unless it runs. It takes the driver for left at that time.
    fn start_background(self: &Arc<Self>, left: Instant) {
        if !self.driver.begin_background() {
            return;
        }
        self.left.store(left.0, Ordering::SeqCst);
        let myself = Arc::clone(self);
        let builder = thread::Builder::new().name("runnel-keeper".into()).stack_size(KEEPER_STACK);
        if let Err(error) = builder.spawn(move || myself.keep()) {
            self.driver.end_background();
            console::error!("no thread can be started to answer peers during callbacks: {error}");
        }
    }

    /// The keeper's life.
    fn keep(&self) {
        loop {
            self.keep_until_leisure();
            self.driver.end_background();
            // Whoever left the driver just now saw a keeper that was about to go.
            if self.has_ended() || !self.driver.resume_background() {
                return;
            }
        }
    }

    fn keep_until_leisure(&self) {
        let mut kept = clock::monotonic();
        while !self.has_ended() {
            match (self.driver.is_polled_by(Poller::Nobody), self.since_left()) {
                (true, gone) if gone >= UNATTENDED => {
                    self.turn_as_keeper();
                    kept = clock::monotonic();
                }
                (true, gone) => thread::park_timeout(UNATTENDED - gone),
                (false, inside) => {
                    let is_needed = clock::monotonic().since(kept) < KEEPER_LEISURE;
                    if !is_needed && inside >= KEEPER_LEISURE {
                        return;
                    }
                    thread::park_timeout(if is_needed { UNATTENDED } else { PATROL });
                }
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn turn_as_keeper(&self) {
        if self.leave_to_waiter() {
            return;
        }
        self.driver.yield_to_wanting();
        // Somebody may have it for a moment.
        let Some(driver) = self.driver.try_take() else { return thread::park_timeout(SLICE) };
        if let Err(error) = self.turn_as(Poller::Background, driver, None) {
            console::error!("waiting for peers failed: {error}");
        }
    }

    /// The context is over: the keeper ends, though maybe not before the process does. What would outlast that goes now.
    pub(crate) fn end(&self) {
        self.driver().sessions.leave_host();
        self.driver().leave_ros2();
        self.ended.store(true, Ordering::SeqCst);
        self.driver.wake();
    }
}
