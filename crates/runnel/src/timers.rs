//! Timers of the user's, fired by whoever spins.

use litemap::LiteMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use crate::data::{ReadyQueue, Runnable};
use crate::sync::lock;

/// Stands for no timer in [`Timers::next`].
const NEVER: u64 = u64::MAX;

type Due = LiteMap<(Instant, u64), Arc<TimerCore>>;

/// All timers of a context, by when they fire next.
pub(crate) struct Timers {
    due: Mutex<Due>,
    /// When the next fires, so that a spinner that looks at every message needs no lock.
    next: AtomicU64,
    next_id: AtomicU64,
}

impl Default for Timers {
    fn default() -> Self {
        Self { due: Mutex::default(), next: AtomicU64::new(NEVER), next_id: AtomicU64::new(0) }
    }
}

/// One timer.
pub(crate) struct TimerCore {
    period: Duration,
    callback: Mutex<Box<dyn FnMut() + Send>>,
    /// It stands in the ready queue.
    scheduled: AtomicBool,
    /// Removed since it was scheduled.
    cancelled: AtomicBool,
}

impl Timers {
    /// Adds a timer that fires first after one period, and gives the number by which it is removed.
    pub(crate) fn add(&self, period: Duration, callback: Box<dyn FnMut() + Send>) -> u64 {
        let (scheduled, cancelled) = (AtomicBool::new(false), AtomicBool::new(false));
        // Without any time between two firings, firing would have no end.
        let period = period.max(Duration::from_nanos(1));
        let timer = Arc::new(TimerCore { period, callback: Mutex::new(callback), scheduled, cancelled });
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut due = lock(&self.due);
        due.insert((clock::monotonic() + period, id), timer);
        self.note_next(&due);
        id
    }

    /// Removes a timer and all that its callback holds.
    pub(crate) fn remove(&self, id: u64) {
        let mut due = lock(&self.due);
        let key = due.keys().find(|(_, other)| *other == id).copied();
        let timer = key.and_then(|key| due.remove(&key));
        self.note_next(&due);
        // What the callback holds may be a publisher, whose end must not happen under this lock.
        drop(due);
        if let Some(timer) = timer {
            timer.cancelled.store(true, Ordering::Relaxed);
        }
    }

    fn note_next(&self, due: &Due) {
        let next = due.first().map_or(NEVER, |((at, _), _)| at.0);
        self.next.store(next, Ordering::Release);
    }

    /// When the next timer fires.
    pub(crate) fn next(&self) -> Option<Instant> {
        Some(self.next.load(Ordering::Acquire)).filter(|next| *next != NEVER).map(Instant)
    }

    /// Makes the callbacks of all timers that are due ready. One that was missed more than once fires once.
    pub(crate) fn fire(&self, ready: &ReadyQueue) {
        let Some(next) = self.next() else { return };
        let now = clock::monotonic();
        if now < next {
            return;
        }
        let mut due = lock(&self.due);
        while let Some(key) = due.first().map(|(key, _)| *key).filter(|(at, _)| *at <= now)
            && let Some(timer) = due.remove(&key)
        {
            let (at, id) = key;
            if !timer.scheduled.swap(true, Ordering::SeqCst) {
                ready.push(Arc::clone(&timer) as Arc<dyn Runnable>);
            }
            let regular = at + timer.period;
            let next = if regular > now { regular } else { now + timer.period };
            due.insert((next, id), timer);
        }
        self.note_next(&due);
    }
}

impl Runnable for TimerCore {
    fn run(&self) {
        self.scheduled.store(false, Ordering::SeqCst);
        let mut callback = match self.callback.try_lock() {
            Ok(callback) => callback,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // It runs further down on this thread's stack, or on another thread.
            Err(TryLockError::WouldBlock) => return,
        };
        if !self.cancelled.load(Ordering::Relaxed) {
            callback();
        }
    }
}
