//! How long a guest may run: until it is stopped, until its time is over, and within its share of a processor.

mod watchdog;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
}

impl Signals {
    /// Ends the guest at the next instruction that checks, also within a loop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// The time of one guest, on its own thread.
pub struct Pace {
    signals: Arc<Signals>,
    limit: Duration,
    share: Option<Share>,
    watchdog: Option<&'static Watchdog>,
}

/// A share of one processor, as a bucket of time that fills at this rate.
struct Share {
    of_one: f64,
    /// Nanoseconds that may be used at once; below zero after too many.
    left: f64,
    filled: Instant,
}

/// The bucket holds the share of this time.
const WINDOW: Duration = Duration::from_secs(1);

/// Longest sleep in which a guest cannot be stopped.
const STEP: Duration = Duration::from_millis(20);

impl Pace {
    pub fn new(limits: &Limits, signals: Arc<Signals>) -> Self {
        let now = clock::monotonic();
        let share = (limits.cpu < 1.0).then(|| Share::new(limits.cpu, now));
        Self { signals, limit: limits.callback, share, watchdog: None }
    }

    /// Whether somebody has to look at how long the guest runs.
    pub fn is_watched(&self) -> bool {
        self.share.is_some() || !self.limit.is_zero()
    }

    /// From now on, the watchdog looks.
    pub fn watch(&mut self, watchdog: &'static Watchdog) {
        self.watchdog = Some(watchdog);
    }

    /// Whether the guest is to end at once.
    pub fn is_stopped(&self) -> bool {
        self.signals.is_stopped()
    }

    /// Begins to run.
    pub fn run(&mut self) {
        self.signals.slice.fetch_add(1, Ordering::SeqCst);
        if let Some(watchdog) = self.watchdog {
            watchdog.wake();
        }
        if let Some(share) = &mut self.share {
            share.fill(clock::monotonic());
        }
    }

    /// Begins to wait. Sleeps first if the guest has used more than its share.
    pub fn rest(&mut self) -> Result<(), Stopped> {
        self.signals.slice.fetch_add(1, Ordering::SeqCst);
        self.take_share()
    }

    /// The guest runs, and somebody raised the engine's epoch: checks why.
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
        let mut debt = share.use_until(clock::monotonic());
        while debt > Duration::ZERO {
            if self.signals.is_stopped() {
                return Err(Stopped::ByControl);
            }
            thread::sleep(debt.min(STEP));
            share.fill(clock::monotonic());
            debt = share.debt();
        }
        Ok(())
    }
}

impl Share {
    fn new(of_one: f64, now: Instant) -> Self {
        Self { of_one, left: of_one * WINDOW.as_nanos() as f64, filled: now }
    }

    /// Time passes in which the guest does not run.
    fn fill(&mut self, now: Instant) {
        let passed = now.since(self.filled).as_nanos() as f64;
        self.left = (self.left + passed * self.of_one).min(self.of_one * WINDOW.as_nanos() as f64);
        self.filled = now;
    }

    /// The guest has run until now. Returns how long it has to rest.
    fn use_until(&mut self, now: Instant) -> Duration {
        let used = now.since(self.filled).as_nanos() as f64;
        self.left -= used * (1.0 - self.of_one);
        self.filled = now;
        self.debt()
    }

    fn debt(&self) -> Duration {
        Duration::from_nanos((-self.left / self.of_one).max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    #[test]
    fn guest_below_its_share_never_rests() {
        let start = clock::monotonic();
        let mut share = Share::new(0.5, start);
        for round in 0..100 {
            share.fill(after(start, 10 * round));
            assert_eq!(share.use_until(after(start, 10 * round + 4)), Duration::ZERO);
        }
    }

    #[test]
    fn guest_that_always_runs_gets_its_share() {
        let start = clock::monotonic();
        let mut share = Share::new(0.25, start);
        let (mut now, mut ran) = (0, 0);
        while now < 100_000 {
            (now, ran) = (now + 50, ran + 50);
            let rest = share.use_until(after(start, now));
            now += rest.as_millis() as u64;
            share.fill(after(start, now));
        }
        let of_one = ran as f64 / now as f64;
        assert!((0.24..0.27).contains(&of_one), "{of_one}");
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
