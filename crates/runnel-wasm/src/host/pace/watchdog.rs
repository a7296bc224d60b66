//! The thread that checks whether guests run for too long, and that ends those that are stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::Signals;
use crate::manifest::Limits;
use crate::program::Engine;

/// How often it checks while a guest runs or is to end. It sleeps while all wait.
const PERIOD: Duration = Duration::from_millis(50);

/// Checks all guests of the process.
pub struct Watchdog {
    watched: Mutex<Vec<Watched>>,
    woken: Condvar,
    is_asleep: AtomicBool,
}

struct Watched {
    signals: Weak<Signals>,
    engine: Engine,
    /// `None` of a guest that is stopped.
    limits: Option<Limits>,
    /// What the guest did when it was seen first, and when.
    slice: u64,
    since: Instant,
}

impl Watchdog {
    /// The watchdog of the process, which checks this guest, too.
    pub fn watch(signals: &Arc<Signals>, engine: &Engine, limits: Limits) -> &'static Self {
        let watchdog = Self::of_process();
        watchdog.add(signals, engine, Some(limits));
        watchdog
    }

    /// Makes a guest look at its signals until it has ended: once is not enough for one that has just looked at them.
    pub fn end(signals: &Arc<Signals>, engine: &Engine) {
        let watchdog = Self::of_process();
        watchdog.add(signals, engine, None);
        watchdog.wake();
    }

    fn of_process() -> &'static Self {
        static WATCHDOG: OnceLock<&Watchdog> = OnceLock::new();
        WATCHDOG.get_or_init(|| {
            let watchdog: &Self = Box::leak(Box::new(Self {
                watched: Mutex::default(),
                woken: Condvar::new(),
                is_asleep: AtomicBool::new(false),
            }));
            thread::spawn(|| watchdog.check_all());
            watchdog
        })
    }

    fn add(&self, signals: &Arc<Signals>, engine: &Engine, limits: Option<Limits>) {
        self.watched().push(Watched {
            signals: Arc::downgrade(signals),
            engine: engine.clone(),
            limits,
            slice: 0,
            since: Instant::now(),
        });
    }

    /// A guest begins to run.
    pub fn wake(&self) {
        if self.is_asleep.load(Ordering::SeqCst) {
            let _watched = self.watched();
            self.is_asleep.store(false, Ordering::SeqCst);
            self.woken.notify_all();
        }
    }

    fn check_all(&self) {
        let mut watched = self.watched();
        loop {
            watched.retain_mut(Watched::check);
            watched = if watched.iter().any(Watched::needs_checks) {
                self.woken.wait_timeout(watched, PERIOD).unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.sleep(watched)
            };
        }
    }

    /// Sleeps until a guest runs or is to end.
    fn sleep<'a>(&'a self, watched: MutexGuard<'a, Vec<Watched>>) -> MutexGuard<'a, Vec<Watched>> {
        self.is_asleep.store(true, Ordering::SeqCst);
        // A guest that has begun before this flag was set does not wake.
        if watched.iter().any(Watched::needs_checks) {
            self.is_asleep.store(false, Ordering::SeqCst);
            return watched;
        }
        let is_asleep = |_: &mut Vec<Watched>| self.is_asleep.load(Ordering::SeqCst);
        self.woken.wait_while(watched, is_asleep).unwrap_or_else(PoisonError::into_inner)
    }

    fn watched(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    fn needs_checks(&self) -> bool {
        self.limits.is_none() || self.signals.upgrade().is_some_and(|signals| signals.runs())
    }

    /// False once the guest has ended.
    fn check(&mut self) -> bool {
        let Some(signals) = self.signals.upgrade().filter(|signals| !signals.has_ended()) else {
            return false;
        };
        match self.limits {
            Some(limits) => self.check_time(&signals, limits),
            None => self.engine.inner().increment_epoch(),
        }
        true
    }

    fn check_time(&mut self, signals: &Signals, limits: Limits) {
        let slice = signals.slice.load(Ordering::SeqCst);
        if slice != self.slice {
            (self.slice, self.since) = (slice, Instant::now());
        }
        if slice.is_multiple_of(2) {
            return;
        }
        // A guest that has a share of the processor needs the longer.
        let limit = limits.callback.div_f64(limits.cpu);
        let is_overrun = !limit.is_zero() && self.since.elapsed() > limit;
        if is_overrun {
            signals.overrun.store(true, Ordering::SeqCst);
        }
        if is_overrun || limits.cpu < 1.0 {
            self.engine.inner().increment_epoch();
        }
    }
}
