//! Writers of the participant's user, each with a lock and an outbox of its own: a thread that publishes needs neither the
//! participant nor another writer.
//!
//! What the participant finds out for a writer is given to it while the participant is locked, so that updates keep their order.

use std::collections::BTreeMap;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Participant, UserWriter, WriterUpdate};

use super::alternate_path::{Returned, Suspended, number, sequence};
use super::origin::origin_in;
use super::outbox::Outbox;
use super::{CdrFrame, Rtps, Unsent, stamp};
use crate::frame::Frame;
use crate::linger::Unarrived;
use crate::sync::{Class, Mutex, MutexGuard, lock};

/// See the module's documentation.
pub(crate) struct Writer {
    id: EntityId,
    pub(super) state: Mutex<State>,
    pub(super) outbox: Outbox<CdrFrame>,
}

/// What is locked of a writer.
pub(super) struct State {
    pub(super) writer: UserWriter<CdrFrame>,
    /// The origins of its matched readers whose nodes are in both graphs.
    pub(super) origins: BTreeMap<Guid, u64>,
    /// When its timer goes off, if it has been set.
    pub(super) armed: Option<Instant>,
}

/// What came of writing a message.
pub(crate) struct Written<'a> {
    /// A frame that is not held any more.
    pub(crate) displaced: Option<Frame>,
    /// The readers are others than they were: how often they have changed by now, and the origins of those who are in both
    /// graphs.
    pub(crate) readers: Option<(u32, Vec<u64>)>,
    /// The message is sent when this is dropped, unless another thread has sent it.
    pub(crate) unsent: Unsent<'a>,
}

impl Writer {
    pub(super) fn new(writer: UserWriter<CdrFrame>) -> Self {
        let id = writer.id();
        let state = State { writer, origins: BTreeMap::new(), armed: None };
        Self { id, state: Mutex::new(Class::RtpsWriter, state), outbox: Outbox::new() }
    }

    /// Its name within the participant.
    pub(crate) fn id(&self) -> EntityId {
        self.id
    }

    /// Who stands in the way of another message, if it keeps all.
    pub(crate) fn full(&self) -> Option<String> {
        let full = lock(&self.state).writer.full()?;
        Some(full.reader.to_string())
    }

    /// How many messages some reader has yet to acknowledge.
    pub(crate) fn unacknowledged(&self) -> u32 {
        lock(&self.state).writer.unacknowledged()
    }

    /// The number of the message that was written last.
    pub(crate) fn last_number(&self) -> Option<u64> {
        lock(&self.state).writer.last_number().map(number)
    }

    /// What is written from now on reaches a reader by an alternate path. `None` if the two are not matched.
    pub(crate) fn suspend(&self, reader: Guid) -> Option<Suspended> {
        let suspended = lock(&self.state).writer.suspend(reader)?;
        let first_unacknowledged = number(suspended.first_unacknowledged);
        Some(Suspended { first_unacknowledged, next: number(suspended.next) })
    }

    /// True if a node of this origin has a reader that it has matched.
    pub(super) fn reaches(&self, origin: u64) -> bool {
        lock(&self.state).origins.values().any(|of| *of == origin)
    }
}

impl State {
    /// Takes in what the participant has found out.
    pub(super) fn update(&mut self, participant: &mut Participant, now: Instant, update: WriterUpdate) {
        if let Some(reader) = update.matched() {
            let origin = participant.endpoint(reader).and_then(|endpoint| origin_in(&endpoint.user_data));
            self.origins.remove(&reader);
            self.origins.extend(origin.map(|origin| (reader, origin)));
        }
        if let Some(reader) = update.unmatched() {
            self.origins.remove(&reader);
        }
        let acknowledged = update.acknowledged();
        let corrections = self.writer.handle_update(now, update);
        if let Some(reader) = acknowledged {
            participant.reader_corrected(self.writer.id(), reader, corrections);
        }
    }
}

impl Rtps {
    /// Publishes a message, to readers that had changed `known` times.
    pub(crate) fn write<'a>(&'a self, writer: &'a Writer, frame: Frame, known: Option<u32>) -> Written<'a> {
        let state = &mut *self.lock_to_publish(writer);
        let now = clock::monotonic();
        let displaced = state.writer.write(now, stamp(), CdrFrame(frame));
        let changes = state.writer.reader_changes();
        let readers = (known != Some(changes)).then(|| (changes, state.origins.values().copied().collect()));
        let displaced = displaced.ok().flatten().map(|frame| frame.0);
        let wakes = self.settle(writer, state, now);
        Written { displaced, readers, unsent: Unsent { rtps: self, writer, wakes } }
    }

    /// The user says that a writer lives.
    pub(crate) fn assert_liveliness(&self, writer: &Writer) {
        self.work_on(writer, |state, now| state.writer.assert_liveliness(now));
    }

    /// The alternate path of a reader has ended: these messages and all that follow go by the network. All before `from` have
    /// arrived.
    pub(crate) fn resume(&self, writer: &Writer, reader: Guid, from: u64, unsent: Vec<Returned>) {
        self.work_on(writer, |state, now| {
            let written =
                |(at, written, frame): Returned| (sequence(at), written.unwrap_or(now), CdrFrame(frame));
            let unsent = unsent.into_iter().map(written);
            state.writer.resume(now, stamp(), reader, sequence(from), unsent);
        });
    }

    /// The readers that have yet to acknowledge messages of a writer, or to be sent them.
    pub(crate) fn unarrived(&self, writer: &Writer) -> Vec<Unarrived> {
        let owing = lock(&writer.state).writer.owing().into_iter();
        let core = lock(&self.core);
        let at = |reader: Guid| match core.participant.peer(reader.prefix) {
            Some(peer) => format!("{reader} ({} at {})", peer.data.vendor, peer.address()),
            None => reader.to_string(),
        };
        owing
            .map(|(reader, messages)| Unarrived { subscriber: at(reader), messages: messages.into() })
            .collect()
    }

    /// Does what is due of writers.
    pub(super) fn handle_writer_timeouts(&self, now: Instant) {
        while let Some(id) = self.timers.pop_due(now) {
            let writer = lock(&self.core).writers.get(&id).map(Arc::clone);
            if let Some(writer) = writer {
                self.work_on(&writer, |state, now| {
                    state.armed = None;
                    // What has been promised to readers is watched for with what happens within the process: no event is taken.
                    state.writer.handle_timeout(now);
                });
            }
        }
    }

    /// A writer ends: what it has in its outbox is sent, and nothing else.
    pub(super) fn end_writer(&self, writer: &Writer) {
        lock(&writer.state).writer.close();
        self.timers.cancel(writer.id);
        self.send_all_of(writer);
    }

    /// A writer in which nothing waits for room in its outbox: else one that keeps the last would lose it.
    fn lock_to_publish<'a>(&self, writer: &'a Writer) -> MutexGuard<'a, State> {
        loop {
            let state = lock(&writer.state);
            if !state.writer.is_in_line() {
                return state;
            }
            drop(state);
            writer.outbox.wait_for_batch();
            self.send_of(writer);
        }
    }
}
