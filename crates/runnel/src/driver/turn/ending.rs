//! Sessions that end: the loop takes what their channels still bring for others.

use crate::driver::Driver;
use crate::driver::memory_input::MemoryInput;
use crate::driver::table::{Key, Owner};
use crate::ipc::{Carried, SessionFault};

impl Driver {
    /// A session ends. `why` is what the peer did, if it ended so.
    pub(in crate::driver) fn end_session(&mut self, session: Key, why: Option<SessionFault>) {
        if why.is_none() {
            // What the peer sent before its end counts.
            self.drain_session(session);
            self.complete_partial_samples(session);
        }
        self.sessions.give_up_late(session, &mut self.effects);
        self.sessions.links_of(session).into_iter().for_each(|link| self.channel_closed(link));
        self.sessions.begin_ending(session, why, &mut self.effects);
    }

    /// Ends the sessions whose peer sends by the network already. It does so when this process was stopped while it read, and
    /// has to be known before what the network brings is taken: the samples that were read here are not taken again.
    pub(super) fn end_abandoned_sessions(&mut self) {
        while let Some(session) = self.sessions.abandoned() {
            self.end_session(session, None);
        }
    }

    /// Reads the rest of each sample of which a part was read. The peer counts such a sample as read once it has gone on to the
    /// network, and sends what follows it. Everything else in the ring comes by the network.
    fn complete_partial_samples(&mut self, session: Key) {
        for (link, piece) in self.sessions.abandoned_pieces(session) {
            // Behind the end of the sample there are pieces of others.
            if self.memory_input(link).is_some_and(|memory| memory.is_within_sample())
                && self.carried(link, Carried::Stream(piece)).is_err()
            {
                return;
            }
        }
    }

    /// What a link to a publisher, or a pair, has to do with memory.
    pub(super) fn memory_input(&mut self, link: Key) -> Option<&mut MemoryInput> {
        match link.owner() {
            Owner::Sockets => self.sockets.memory_input(link),
            Owner::Sessions => self.sessions.memory_input(link),
        }
    }
}
