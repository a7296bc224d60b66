//! Writers of the participant's user, each with a lock and an outbox of its own: a thread that publishes needs neither the
//! participant nor another writer.
//!
//! What the participant finds out for a writer is given to it while the participant is locked, so that updates keep their order.

use std::collections::BTreeMap;

use runnel_core::time::Instant;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Participant, UserWriter, WriterUpdate};

use super::CdrFrame;
use super::alternate_path::{Suspended, number};
use super::origin::origin_in;
use super::outbox::Outbox;
use crate::sync::{Class, Mutex, lock};

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
