//! What must happen every so often: samples within their deadline, signs of life within a lease.

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

/// The kinds of signs of life that a participant gives for its writers. Source: RTPS 2.5, section 9.6.3.1.
const AUTOMATIC: [u8; 4] = [0, 0, 0, 1];
/// When its user says so, of all writers of that kind, which are taken for automatic ones here.
const MANUAL: [u8; 4] = [0, 0, 0, 2];

/// Signs of life come so many times within a lease, so that some may be lost.
const SIGNS_PER_LEASE: u32 = 3;

/// But no more often than this.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// What is watched for, by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Watched {
    /// Samples for a reader of ours.
    Deadline(EntityId),
    /// A writer that a reader of ours has met.
    Life(EntityId, Guid),
}

#[derive(Debug)]
struct Watch {
    period: Duration,
    /// When it has not happened in time; nothing is watched before it has happened once.
    due: Option<Instant>,
    /// It has not happened in time.
    lapsed: bool,
    /// The participant says it for the writer.
    automatic: bool,
}

/// All that is watched.
#[derive(Debug, Default)]
pub(super) struct Watches {
    all: BTreeMap<Watched, Watch>,
    /// How often we say that our writers live.
    signs: Option<Duration>,
}

impl Participant {
    /// Watches what a reader of ours has asked for.
    pub(super) fn watch_own_reader(&mut self, id: EntityId, qos: &QoS) {
        self.watch(Watched::Deadline(id), qos.deadline, false);
    }

    /// Gives signs of life for a writer of ours, if it has promised any but those of its user.
    pub(super) fn give_signs_for(&mut self, now: Instant, qos: &QoS) {
        let by_user = qos.liveliness == Liveliness::ManualByTopic;
        let Some(lease) = qos.liveliness_lease.filter(|_| !by_user) else { return };
        let signs = pause_of(lease);
        if self.watches.signs.is_none_or(|other| signs < other) {
            self.watches.signs = Some(signs);
            self.timers.schedule_if_earlier(Timer::GiveSign, now);
        }
    }

    /// Watches whether a writer that a reader of ours has met lives, and begins at once.
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

    /// Whether anything is watched for that a sample of this writer's shows to this reader of ours.
    pub(super) fn is_watched_for(&self, reader: EntityId, writer: Guid) -> bool {
        [Watched::Deadline(reader), Watched::Life(reader, writer)]
            .iter()
            .any(|what| self.watches.all.contains_key(what))
    }

    /// What is watched for has happened.
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

    /// Its time may be over.
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

    /// Watches nothing any more of an endpoint of ours, or of a writer.
    pub(super) fn unwatch(&mut self, which: impl Fn(&Watched) -> bool) {
        let gone: Vec<Watched> = self.watches.all.keys().copied().filter(which).collect();
        for what in gone {
            self.watches.all.remove(&what);
            self.timers.cancel(&Timer::Watch(what));
        }
    }

    /// Says that our writers live for which we answer.
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

    /// A participant says that its writers live.
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

/// How often signs of life are given for a lease.
fn pause_of(lease: Duration) -> Duration {
    (lease / SIGNS_PER_LEASE).max(SHORTEST_PAUSE)
}
