//! Deadline and liveliness monitoring: periods within which samples and liveliness assertions must occur.

use super::{Participant, Timer};
use crate::announce::Role;
use crate::event::Event;
use crate::wire::{EntityId, Guid, GuidPrefix, Timestamp};
use crate::writer::SHORTEST_PERIOD;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;
use runnel_core::qos::{Liveliness, QoS};
use runnel_core::time::Instant;

/// Liveliness kinds of participant messages. Source: RTPS 2.5, section 9.6.3.1.
const AUTOMATIC: [u8; 4] = [0, 0, 0, 1];
/// Assertion by the user for all writers of that kind, which count as automatic here.
const MANUAL: [u8; 4] = [0, 0, 0, 2];

/// Assertions per lease, so that some may be lost.
const SIGNS_PER_LEASE: u32 = 3;

/// Shortest interval of assertions.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Monitored condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Watched {
    /// Samples within the deadline of a local reader.
    Deadline(EntityId),
    /// Liveliness of a writer that a local reader has matched.
    Life(EntityId, Guid),
}

#[derive(Debug)]
struct Watch {
    period: Duration,
    /// When the period ends without an occurrence; `None` before the first one.
    due: Option<Instant>,
    /// The period has ended without an occurrence.
    lapsed: bool,
    /// The participant asserts it for the writer.
    automatic: bool,
}

/// Monitors of all conditions.
#[derive(Debug, Default)]
pub(super) struct Watches {
    all: BTreeMap<Watched, Watch>,
    /// Interval of our own assertions.
    signs: Option<Duration>,
}

impl Participant {
    /// Monitors the deadline of a local reader.
    pub(super) fn watch_own_reader(&mut self, id: EntityId, qos: &QoS) {
        self.watch(Watched::Deadline(id), qos.deadline, false);
    }

    /// Schedules assertions for a local writer with automatic liveliness.
    pub(super) fn give_signs_for(&mut self, now: Instant, qos: &QoS) {
        let by_user = qos.liveliness == Liveliness::ManualByTopic;
        let Some(lease) = qos.liveliness_lease.filter(|_| !by_user) else { return };
        let signs = pause_of(lease);
        if self.watches.signs.is_none_or(|other| signs < other) {
            self.watches.signs = Some(signs);
            self.timers.schedule_if_earlier(Timer::GiveSign, now);
        }
    }

    /// Monitors the liveliness of a writer that a local reader has matched, beginning now.
    pub(super) fn watch_life(&mut self, now: Instant, reader: EntityId, writer: Guid, qos: &QoS) {
        let what = Watched::Life(reader, writer);
        self.watch(what, qos.liveliness_lease, qos.liveliness == Liveliness::Automatic);
        self.happened(now, what);
    }

    fn watch(&mut self, what: Watched, period: Option<Duration>, automatic: bool) {
        if let Some(period) = period.filter(|period| !period.is_zero()) {
            let period = period.max(SHORTEST_PERIOD);
            let watch = Watch { period, due: None, lapsed: false, automatic };
            self.watches.all.insert(what, watch);
        }
    }

    /// Returns whether a sample of this writer is an occurrence of a monitored condition of this reader.
    pub(super) fn is_watched_for(&self, reader: EntityId, writer: Guid) -> bool {
        [Watched::Deadline(reader), Watched::Life(reader, writer)]
            .iter()
            .any(|what| self.watches.all.contains_key(what))
    }

    /// Records an occurrence.
    pub(super) fn happened(&mut self, now: Instant, what: Watched) {
        if self.watches.all.is_empty() {
            return;
        }
        let Some(watch) = self.watches.all.get_mut(&what) else { return };
        let due = now + watch.period;
        watch.due = Some(due);
        self.timers.schedule_if_earlier(Timer::Watch(what), due);
        if core::mem::take(&mut watch.lapsed)
            && let Watched::Life(reader, writer) = what
        {
            self.tell(Event::LivelinessChanged { reader, writer, alive: true });
        }
    }

    /// Handles the end of a period.
    pub(super) fn watch_due(&mut self, now: Instant, what: Watched) {
        let Some(watch) = self.watches.all.get_mut(&what) else { return };
        let Some(due) = watch.due else { return };
        if due > now {
            return self.timers.schedule_if_earlier(Timer::Watch(what), due);
        }
        match what {
            Watched::Deadline(local) => {
                let due = now + watch.period;
                watch.due = Some(due);
                self.timers.schedule_if_earlier(Timer::Watch(what), due);
                self.tell(Event::DeadlineMissed { local });
            }
            Watched::Life(reader, writer) => {
                (watch.due, watch.lapsed) = (None, true);
                self.tell(Event::LivelinessChanged { reader, writer, alive: false });
            }
        }
    }

    /// Removes monitors of a local endpoint or a writer.
    pub(super) fn unwatch(&mut self, which: impl Fn(&Watched) -> bool) {
        let gone: Vec<Watched> = self.watches.all.keys().copied().filter(which).collect();
        for what in gone {
            self.watches.all.remove(&what);
            self.timers.cancel(&Timer::Watch(what));
        }
    }

    /// Asserts the liveliness of our automatic writers.
    pub(super) fn give_sign(&mut self, now: Instant) {
        let lease = |qos: &QoS| qos.liveliness_lease.filter(|_| qos.liveliness == Liveliness::Automatic);
        let writers = self.endpoints.values().filter(|endpoint| endpoint.role() == Role::Writer);
        self.watches.signs = writers.filter_map(|writer| lease(&writer.qos)).min().map(pause_of);
        let Some(pause) = self.watches.signs else { return };
        self.timers.schedule_if_earlier(Timer::GiveSign, now + pause);
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
    pub(super) fn sign_heard(&mut self, now: Instant, prefix: GuidPrefix, payload: &[u8]) {
        let is_sign = payload.get(16..20).is_some_and(|kind| kind == AUTOMATIC || kind == MANUAL);
        if payload.get(4..16) != Some(&prefix.0[..]) || !is_sign {
            return;
        }
        let alive = |(what, watch): (&Watched, &Watch)| match what {
            Watched::Life(_, writer) if writer.prefix == prefix && watch.automatic => Some(*what),
            _ => None,
        };
        let alive: Vec<Watched> = self.watches.all.iter().filter_map(alive).collect();
        alive.into_iter().for_each(|what| self.happened(now, what));
    }
}

/// Returns the interval of assertions for a lease.
fn pause_of(lease: Duration) -> Duration {
    (lease / SIGNS_PER_LEASE).max(SHORTEST_PAUSE)
}
