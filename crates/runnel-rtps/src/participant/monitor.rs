//! Deadline and liveliness monitoring: periods within which samples and liveliness assertions must occur.

use super::{Participant, Timer};
use crate::announce::Role;
use crate::event::Event;
use crate::wire::{EntityId, Guid, GuidPrefix, Timestamp};
use crate::writer::SHORTEST_PERIOD;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;
use runnel_core::qos::{Liveliness, QoS};
use runnel_core::time::Instant;

/// Liveliness kinds of participant messages. Source: RTPS 2.5, section 9.6.3.1.
const AUTOMATIC: [u8; 4] = [0, 0, 0, 1];
/// Assertion by the user for all writers of that kind, which count as automatic here.
const MANUAL: [u8; 4] = [0, 0, 0, 2];

/// Assertions per lease, so that some may be lost.
const ASSERTIONS_PER_LEASE: u32 = 3;

/// Shortest interval of assertions.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Monitored condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Monitored {
    /// Samples within the deadline of a local reader.
    Deadline(EntityId),
    /// Liveliness of a writer that a local reader has matched.
    Liveliness(EntityId, Guid),
}

#[derive(Debug)]
struct Monitor {
    period: Duration,
    /// When the period ends without an occurrence; `None` before the first one.
    due: Option<Instant>,
    /// The period has ended without an occurrence.
    is_missed: bool,
    /// The participant asserts it for the writer.
    is_automatic: bool,
}

/// Monitors of all conditions.
#[derive(Debug, Default)]
pub(super) struct Monitors {
    all: BTreeMap<Monitored, Monitor>,
    /// Interval of our own assertions.
    assertion_interval: Option<Duration>,
}

impl Participant {
    /// Monitors the deadline of a local reader.
    pub(super) fn monitor_deadline(&mut self, id: EntityId, qos: &QoS) {
        self.monitor(Monitored::Deadline(id), qos.deadline, false);
    }

    /// Schedules assertions for a local writer with automatic liveliness.
    pub(super) fn schedule_assertions(&mut self, now: Instant, qos: &QoS) {
        let by_user = qos.liveliness == Liveliness::ManualByTopic;
        let Some(lease) = qos.liveliness_lease.filter(|_| !by_user) else { return };
        let assertion_interval = interval_of(lease);
        if self.monitors.assertion_interval.is_none_or(|other| assertion_interval < other) {
            self.monitors.assertion_interval = Some(assertion_interval);
            self.timers.schedule_if_earlier(Timer::AssertLiveliness, now);
        }
    }

    /// Monitors the liveliness of a writer that a local reader has matched, beginning now.
    pub(super) fn monitor_liveliness(&mut self, now: Instant, reader: EntityId, writer: Guid, qos: &QoS) {
        let what = Monitored::Liveliness(reader, writer);
        self.monitor(what, qos.liveliness_lease, qos.liveliness == Liveliness::Automatic);
        self.note_occurrence(now, what);
    }

    fn monitor(&mut self, what: Monitored, period: Option<Duration>, is_automatic: bool) {
        if let Some(period) = period.filter(|period| !period.is_zero()) {
            let period = period.max(SHORTEST_PERIOD);
            let monitor = Monitor { period, due: None, is_missed: false, is_automatic };
            self.monitors.all.insert(what, monitor);
        }
    }

    /// Returns whether a sample of this writer is an occurrence of a monitored condition of this reader.
    pub(super) fn is_monitored_for(&self, reader: EntityId, writer: Guid) -> bool {
        [Monitored::Deadline(reader), Monitored::Liveliness(reader, writer)]
            .iter()
            .any(|what| self.monitors.all.contains_key(what))
    }

    /// Records an occurrence.
    pub(super) fn note_occurrence(&mut self, now: Instant, what: Monitored) {
        if self.monitors.all.is_empty() {
            return;
        }
        let Some(monitor) = self.monitors.all.get_mut(&what) else { return };
        let due = now + monitor.period;
        monitor.due = Some(due);
        self.timers.schedule_if_earlier(Timer::Monitor(what), due);
        if core::mem::take(&mut monitor.is_missed)
            && let Monitored::Liveliness(reader, writer) = what
        {
            self.push_event(Event::LivelinessChanged { reader, writer, alive: true });
        }
    }

    /// Handles the end of a period.
    pub(super) fn monitor_due(&mut self, now: Instant, what: Monitored) {
        let Some(monitor) = self.monitors.all.get_mut(&what) else { return };
        let Some(due) = monitor.due else { return };
        if due > now {
            return self.timers.schedule_if_earlier(Timer::Monitor(what), due);
        }
        match what {
            Monitored::Deadline(local) => {
                let due = now + monitor.period;
                monitor.due = Some(due);
                self.timers.schedule_if_earlier(Timer::Monitor(what), due);
                self.push_event(Event::DeadlineMissed { local });
            }
            Monitored::Liveliness(reader, writer) => {
                (monitor.due, monitor.is_missed) = (None, true);
                self.push_event(Event::LivelinessChanged { reader, writer, alive: false });
            }
        }
    }

    /// Removes the monitors of a local endpoint.
    pub(super) fn remove_monitors(&mut self, id: EntityId) {
        self.remove_monitors_in(Monitored::Deadline(id)..=Monitored::Deadline(id));
        self.remove_liveliness_monitors(id, Guid::from_bytes([0; 16])..=Guid::from_bytes([0xff; 16]));
    }

    /// Removes the liveliness monitors of a local reader for the writers in a range.
    pub(super) fn remove_liveliness_monitors(&mut self, reader: EntityId, writers: RangeInclusive<Guid>) {
        self.remove_monitors_in(liveliness_range(reader, writers));
    }

    fn remove_monitors_in(&mut self, range: RangeInclusive<Monitored>) {
        for (what, _) in self.monitors.all.extract_if(range, |_, _| true) {
            self.timers.cancel(&Timer::Monitor(what));
        }
    }

    /// Asserts the liveliness of our automatic writers.
    pub(super) fn assert_own_liveliness(&mut self, now: Instant) {
        let lease = |qos: &QoS| qos.liveliness_lease.filter(|_| qos.liveliness == Liveliness::Automatic);
        let writers = self.endpoints.values().filter(|endpoint| endpoint.role() == Role::Writer);
        self.monitors.assertion_interval =
            writers.filter_map(|writer| lease(&writer.qos)).min().map(interval_of);
        let Some(pause) = self.monitors.assertion_interval else { return };
        self.timers.schedule_if_earlier(Timer::AssertLiveliness, now + pause);
        let mut bytes = Vec::from([0, 1, 0, 0]);
        bytes.extend_from_slice(&self.config.prefix.0);
        bytes.extend_from_slice(&AUTOMATIC);
        bytes.extend_from_slice(&[0; 4]);
        let key = self.config.prefix.with(EntityId::PARTICIPANT);
        if let Some(writer) = self.writers.get_mut(&EntityId::MESSAGE_WRITER) {
            writer.write_keyed(now, Timestamp::INVALID, bytes.into(), key, false);
            self.wake_discovery_of_all();
        }
    }

    /// Handles a liveliness assertion of a participant.
    pub(super) fn handle_liveliness_message(&mut self, now: Instant, prefix: GuidPrefix, payload: &[u8]) {
        let is_sign = payload.get(16..20).is_some_and(|kind| kind == AUTOMATIC || kind == MANUAL);
        if payload.get(4..16) != Some(&prefix.0[..]) || !is_sign {
            return;
        }
        let of_it = self
            .readers
            .keys()
            .flat_map(|reader| self.monitors.all.range(liveliness_range(*reader, prefix.endpoints())));
        let alive = of_it.filter(|(_, monitor)| monitor.is_automatic).map(|(what, _)| *what);
        let alive: Vec<Monitored> = alive.collect();
        alive.into_iter().for_each(|what| self.note_occurrence(now, what));
    }
}

/// Returns the range of the liveliness monitors of a local reader for the writers in a range.
fn liveliness_range(reader: EntityId, writers: RangeInclusive<Guid>) -> RangeInclusive<Monitored> {
    let (first, last) = writers.into_inner();
    Monitored::Liveliness(reader, first)..=Monitored::Liveliness(reader, last)
}

/// Returns the interval of assertions for a lease.
fn interval_of(lease: Duration) -> Duration {
    (lease / ASSERTIONS_PER_LEASE).max(SHORTEST_PAUSE)
}
