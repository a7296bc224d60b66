//! When something is due.

use litemap::LiteMap;

use runnel_core::time::Instant;

use super::CallId;
use crate::net::ConnId;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A client has not sent a request in time.
    Served(ConnId),
    /// A call has not been answered in time.
    Called(CallId),
}

/// At most one time for each alarm.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_time: LiteMap<(Instant, Alarm), ()>,
    by_alarm: LiteMap<Alarm, Instant>,
}

impl Timers {
    /// Sets an alarm, in place of its earlier time.
    pub fn set(&mut self, alarm: Alarm, at: Instant) {
        self.clear(alarm);
        self.by_time.insert((at, alarm), ());
        self.by_alarm.insert(alarm, at);
    }

    /// Takes an alarm back.
    pub fn clear(&mut self, alarm: Alarm) {
        if let Some(at) = self.by_alarm.remove(&alarm) {
            self.by_time.remove(&(at, alarm));
        }
    }

    /// The earliest time.
    pub fn next(&self) -> Option<Instant> {
        self.by_time.first().map(|((at, _), ())| *at)
    }

    /// Takes an alarm that is due.
    pub fn pop(&mut self, now: Instant) -> Option<Alarm> {
        let alarm = self.by_time.first().filter(|((at, _), ())| *at <= now)?.0.1;
        self.clear(alarm);
        Some(alarm)
    }
}
