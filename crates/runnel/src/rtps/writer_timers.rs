//! Timers of RTPS writers.
//!
//! A writer only sets its timer to an earlier time. So a timer may expire without anything to do, and the writer sets
//! it again. Writers that publish all the time hardly ever lock this.

use std::sync::atomic::{AtomicU64, Ordering};

use runnel_core::time::Instant;
use runnel_core::timers::Timers;
use runnel_rtps::wire::EntityId;

use super::NEVER;
use crate::sync::{Class, Mutex, lock};

/// See the module's documentation.
pub(super) struct WriterTimers {
    timers: Mutex<Timers<EntityId>>,
    /// When the first timer expires.
    deadline: AtomicU64,
}

impl WriterTimers {
    pub(super) fn new() -> Self {
        Self { timers: Mutex::new(Class::RtpsWriterTimers, Timers::new()), deadline: AtomicU64::new(NEVER) }
    }

    /// When the first timer expires; [`NEVER`] if none is set.
    pub(super) fn deadline(&self) -> u64 {
        self.deadline.load(Ordering::SeqCst)
    }

    pub(super) fn schedule(&self, writer: EntityId, at: Instant) {
        self.change(|timers| timers.schedule(writer, at));
    }

    pub(super) fn cancel(&self, writer: EntityId) {
        self.change(|timers| timers.cancel(&writer));
    }

    /// A writer whose timer has expired.
    pub(super) fn pop_due(&self, now: Instant) -> Option<EntityId> {
        if self.deadline() > now.0 {
            return None;
        }
        self.change(|timers| timers.pop_due(now)).map(|(_, writer)| writer)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Timers<EntityId>) -> T) -> T {
        let mut timers = lock(&self.timers);
        let done = change(&mut timers);
        self.deadline.store(timers.next_deadline().map_or(NEVER, |at| at.0), Ordering::SeqCst);
        done
    }
}
