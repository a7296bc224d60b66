//! Readers whose user has room for so many samples: more are held and not acknowledged, so that writers wait.

use super::Participant;
use crate::stored::Lend;
use crate::wire::{EntityId, Guid};
use runnel_core::time::Instant;

impl<P: Lend> Participant<P> {
    /// The user of a reader has room for so many samples more, however many it was before. Until then a reader takes all
    /// that comes; from now on what finds no room is held and not acknowledged, as far as it comes from writers that are
    /// reliable, and given when there is room again. [`Participant::poll_sample`] has what was held.
    pub fn set_room(&mut self, now: Instant, reader: EntityId, room: usize) {
        let Some(of) = self.readers.get_mut(&reader) else { return };
        of.set_room(room);
        let mut writers = of.writers_in_turn();
        writers.retain(|writer| self.deliver_held(now, reader, *writer));
        let progressed = writers.clone();
        while !writers.is_empty() {
            // One of each in turn: none is to take all the room there is.
            writers.retain(|writer| self.deliver_held(now, reader, *writer));
        }
        progressed.into_iter().for_each(|writer| self.tell_progress(reader, writer));
    }

    /// A writer may have waited for what its reader has taken.
    fn tell_progress(&mut self, reader: EntityId, writer: Guid) {
        if let Some(proxy) = self.writer_of(reader, writer) {
            proxy.tell_progress();
        }
        self.wake_answer(reader, writer);
    }
}
