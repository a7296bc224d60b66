//! QoS obligations of a writer: samples within the deadline, and manual liveliness within the lease.

use core::time::Duration;
use runnel_core::qos::{Liveliness, QoS};
use runnel_core::time::Instant;

/// Shortest period of a deadline or lease that is monitored: a shorter one would use all CPU time.
pub(crate) const SHORTEST_PERIOD: Duration = Duration::from_micros(100);

/// QoS obligations of a writer.
#[derive(Debug, Default)]
pub(super) struct Promises {
    deadline: Option<Promise>,
    liveliness: Option<Promise>,
    pub(super) deadline_missed: bool,
    pub(super) liveliness_lost: bool,
}

#[derive(Debug)]
struct Promise {
    period: Duration,
    /// When it is violated; `None` until the first time that it is fulfilled.
    due: Option<Instant>,
}

impl Promise {
    fn new(period: Option<Duration>) -> Option<Self> {
        let period = period.filter(|period| !period.is_zero())?;
        Some(Self { period: period.max(SHORTEST_PERIOD), due: None })
    }

    fn keep(&mut self, now: Instant) {
        self.due = Some(now + self.period);
    }

    fn is_broken(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }
}

impl Promises {
    pub fn from_qos(qos: &QoS) -> Self {
        let by_user = qos.liveliness == Liveliness::ManualByTopic;
        let liveliness = Promise::new(qos.liveliness_lease.filter(|_| by_user));
        Self { deadline: Promise::new(qos.deadline), liveliness, ..Self::default() }
    }

    /// Records a written sample, which also asserts liveliness.
    pub fn note_sample(&mut self, now: Instant) {
        if let Some(deadline) = &mut self.deadline {
            deadline.keep(now);
        }
        self.note_alive(now);
    }

    /// Records that the user asserted liveliness.
    pub fn note_alive(&mut self, now: Instant) {
        if let Some(liveliness) = &mut self.liveliness {
            liveliness.keep(now);
        }
    }

    /// Returns when the next obligation is violated.
    pub fn due(&self) -> Option<Instant> {
        [&self.deadline, &self.liveliness].into_iter().flatten().filter_map(|promise| promise.due).min()
    }

    /// Records violations: a deadline once per period, a lease until the next assertion.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(deadline) = self.deadline.as_mut().filter(|deadline| deadline.is_broken(now)) {
            deadline.keep(now);
            self.deadline_missed = true;
        }
        if let Some(liveliness) = self.liveliness.as_mut().filter(|liveliness| liveliness.is_broken(now)) {
            liveliness.due = None;
            self.liveliness_lost = true;
        }
    }
}
