//! How long a guest may run: until it is stopped, until its time is over, and within its share of a processor.

mod watchdog;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use runnel::core::time::Instant;
use runnel_io::clock;
use wasmtime::UpdateDeadline;

pub use watchdog::Watchdog;

use crate::manifest::Limits;
use crate::refusal::Stopped;

/// What the guest's own thread and others have in common.
#[derive(Default)]
pub struct Signals {
    /// The guest is to end at once.
    stop: AtomicBool,
    /// It has run for too long.
    overrun: AtomicBool,
    /// Odd while the guest runs: raised when it begins to run and when it begins to wait.
    slice: AtomicU64,
    /// The guest is to be suspended.
    suspend: AtomicBool,
    has_ended: AtomicBool,
    /// It has yet to come from another host, or has gone to one.
    is_absent: AtomicBool,
    pub node_names: NodeNames,
}

/// The full names of the guest's nodes, by their handles.
#[derive(Default)]
pub struct NodeNames(Mutex<BTreeMap<u32, String>>);

impl NodeNames {
    pub fn add(&self, handle: u32, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(handle, name.to_owned());
    }

    pub fn remove(&self, handle: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&handle);
    }

    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

impl Signals {
    /// Ends the guest at the next instruction that checks, also within a loop. False if it was stopped before.
    pub fn stop(&self) -> bool {
        !self.stop.swap(true, Ordering::SeqCst)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The guest is to be suspended where it next can be, or no longer.
    pub fn want_suspension(&self, wanted: bool) {
        self.suspend.store(wanted, Ordering::SeqCst);
    }

    pub fn is_suspension_wanted(&self) -> bool {
        self.suspend.load(Ordering::Relaxed)
    }

    /// The guest has yet to come from another host, or has gone to one; or it is here.
    pub fn set_absent(&self, is_absent: bool) {
        self.is_absent.store(is_absent, Ordering::SeqCst);
    }

    pub fn is_absent(&self) -> bool {
        self.is_absent.load(Ordering::SeqCst)
    }

    /// Whether the guest runs now: it neither waits nor does the host work for it.
    fn runs(&self) -> bool {
        self.slice.load(Ordering::SeqCst) % 2 == 1
    }

    /// The guest has ended, and its entities with it.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }
}

/// The time of one guest, on its own thread.
pub struct Pace {
    signals: Arc<Signals>,
    limit: Duration,
    share: Option<Share>,
    watchdog: Option<&'static Watchdog>,
}

/// A share of one processor, as a bucket of processor time that fills with the time that passes.
struct Share {
    of_one: f64,
    /// Nanoseconds that may be used at once; below zero after too many.
    left: f64,
    /// The time, and the processor time of the guest's thread, when it was filled.
    filled: (Instant, Duration),
}

/// The bucket holds the share of this time.
const WINDOW: Duration = Duration::from_secs(1);

/// Longest sleep in which a guest cannot be stopped.
const STEP: Duration = Duration::from_millis(20);

impl Pace {
    pub fn new(limits: &Limits, signals: Arc<Signals>) -> Self {
        let share = (limits.cpu < 1.0).then(|| Share::new(limits.cpu, clock::monotonic()));
        Self { signals, limit: limits.callback, share, watchdog: None }
    }

    /// Whether a limit needs the watchdog.
    pub fn is_watched(&self) -> bool {
        self.share.is_some() || !self.limit.is_zero()
    }

    /// From now on, the watchdog checks the guest.
    pub fn watch(&mut self, watchdog: &'static Watchdog) {
        self.watchdog = Some(watchdog);
    }

    /// Whether the guest is to end at once.
    pub fn is_stopped(&self) -> bool {
        self.signals.is_stopped()
    }

    /// Whether the guest is at another host.
    pub fn set_absent(&self, is_absent: bool) {
        self.signals.set_absent(is_absent);
    }

    /// The names of the guest's nodes, for those who look for one.
    pub fn node_names(&self) -> &NodeNames {
        &self.signals.node_names
    }

    /// Whether the guest is to be suspended.
    pub fn is_suspension_wanted(&self) -> bool {
        self.signals.is_suspension_wanted()
    }

    /// Begins to run.
    pub fn run(&mut self) {
        self.signals.slice.fetch_add(1, Ordering::SeqCst);
        if let Some(watchdog) = self.watchdog {
            watchdog.wake();
        }
    }

    /// Begins to wait. Sleeps first if the guest, or the host for it, has used more than its share.
    pub fn rest(&mut self) -> Result<(), Stopped> {
        self.signals.slice.fetch_add(1, Ordering::SeqCst);
        self.take_share()
    }

    /// Calls a function that may wait for others, which does not count as the guest's time.
    pub fn wait_for_others<T>(&mut self, function: impl FnOnce() -> T) -> T {
        // The host also calls it while it restores a guest that does not run yet.
        if !self.signals.runs() {
            return function();
        }
        self.signals.slice.fetch_add(1, Ordering::SeqCst);
        let result = function();
        self.run();
        result
    }

    /// The host works for the guest, for which no limit of the guest holds. [`run`](Self::run) ends it.
    pub fn stand_still(&mut self) {
        self.signals.slice.fetch_add(1, Ordering::SeqCst);
    }

    /// The guest has ended.
    pub fn end(&mut self) {
        self.signals.slice.store(0, Ordering::SeqCst);
    }

    /// The guest runs, and the watchdog or its control raised the engine's epoch: checks why.
    pub fn check(&mut self) -> wasmtime::Result<UpdateDeadline> {
        if self.signals.is_stopped() {
            return Err(wasmtime::Error::new(Stopped::ByControl));
        }
        if self.signals.overrun.load(Ordering::SeqCst) {
            return Err(wasmtime::Error::new(Stopped::Overrun(self.limit)));
        }
        self.take_share().map_err(wasmtime::Error::new)?;
        Ok(UpdateDeadline::Continue(1))
    }

    fn take_share(&mut self) -> Result<(), Stopped> {
        let Some(share) = &mut self.share else { return Ok(()) };
        loop {
            let debt = share.debt_at(clock::monotonic(), clock::thread_time());
            // A guest that is suspended rests later.
            if debt.is_zero() || self.signals.is_suspension_wanted() {
                return Ok(());
            }
            if self.signals.is_stopped() {
                return Err(Stopped::ByControl);
            }
            thread::sleep(debt.min(STEP));
        }
    }
}

impl Share {
    /// The thread's processor time counts from the first use.
    fn new(of_one: f64, now: Instant) -> Self {
        Self { of_one, left: of_one * WINDOW.as_nanos() as f64, filled: (now, Duration::MAX) }
    }

    /// Fills the bucket with the time that has passed, and takes the processor time that was used. Returns how long the guest
    /// has to rest.
    fn debt_at(&mut self, now: Instant, used: Duration) -> Duration {
        let passed = now.since(self.filled.0).as_nanos() as f64;
        let used_since = used.saturating_sub(self.filled.1).as_nanos() as f64;
        let most = self.of_one * WINDOW.as_nanos() as f64;
        self.left = (self.left + passed * self.of_one).min(most) - used_since;
        self.filled = (now, used);
        Duration::from_nanos((-self.left / self.of_one).max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[test]
    fn guest_below_its_share_never_rests() {
        let start = clock::monotonic();
        let mut share = Share::new(0.5, start);
        for round in 1..100 {
            assert!(share.debt_at(start + milliseconds(10 * round), milliseconds(4 * round)).is_zero());
        }
    }

    #[test]
    fn guest_that_always_runs_gets_its_share() {
        let start = clock::monotonic();
        let mut share = Share::new(0.25, start);
        assert!(share.debt_at(start, Duration::ZERO).is_zero());
        let (mut now, mut ran) = (0, 0);
        while now < 100_000 {
            (now, ran) = (now + 50, ran + 50);
            now += share.debt_at(start + milliseconds(now), milliseconds(ran)).as_millis() as u64;
        }
        let of_one = ran as f64 / now as f64;
        assert!((0.24..0.27).contains(&of_one), "{of_one}");
    }

    #[test]
    fn host_that_works_for_a_guest_may_wait_for_others() {
        let signals = Arc::new(Signals::default());
        let mut pace = Pace::new(&Limits::default(), Arc::clone(&signals));
        pace.run();
        assert!(!pace.wait_for_others(|| signals.runs()) && signals.runs());
        pace.stand_still();
        assert!(
            !pace.wait_for_others(|| signals.runs()) && !signals.runs(),
            "no limit of the guest holds meanwhile"
        );
    }

    #[test]
    fn stopped_guest_does_not_rest() {
        let signals = Arc::new(Signals::default());
        let mut pace = Pace::new(&Limits { cpu: 0.001, ..Limits::default() }, Arc::clone(&signals));
        signals.stop();
        pace.share.as_mut().unwrap().left = -1e15;
        assert_eq!(pace.rest(), Err(Stopped::ByControl));
    }
}
