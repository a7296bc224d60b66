//! Pairs of endpoints of the ROS 2 graph that may come by sessions, what each has to do with memory, and what the two ends ask of
//! each other.

use std::sync::Arc;

use runnel_delivery::{ReceiveAction, Statement};
use runnel_rtps::wire::{EntityId, Guid};

use super::{Entry, Session, Sessions};
use crate::data::{LinkInfo, Publication, Received, SampleInfo, TopicInput};
use crate::driver::effect::Effects;
use crate::driver::memory_input::MemoryInput;
use crate::driver::pair_end::PairEnd;
use crate::driver::table::Key;
use crate::ipc::{Heard, Piece, Receiver, Record, SessionFault};
use crate::rtps::Rtps;

/// What asks that are not understood yet are remembered: the other process may know of a pair before this one.
const MOST_EARLY: usize = 4096;

/// A writer of another process that a reader of ours is matched with.
pub(super) struct SampleInput {
    pub(super) topic: Arc<TopicInput>,
    pub(super) from: Arc<LinkInfo>,
    pub(super) rtps: Arc<Rtps>,
    pub(super) reader: EntityId,
    pub(super) writer: Guid,
    /// It keeps all: the writer waits for its user.
    waits_for_user: bool,
    pub(super) memory: MemoryInput,
    /// Somebody waits for signs of life, or for samples by a deadline.
    pub(super) is_watched: bool,
    /// A session stands that is to be asked once the pair has settled.
    pub(super) asks_later: bool,
}

/// A reader of another process that a writer of ours is matched with.
pub(super) struct SampleOutput {
    pub(super) publication: Arc<Publication>,
    pub(super) writer: EntityId,
    pub(super) reader: Guid,
    /// The reader's user is waited for.
    pub(super) waits_for_user: bool,
}

impl SampleInput {
    /// Whether the writer is to wait for the reader's user.
    pub(super) fn waits_for_user(&self) -> bool {
        self.waits_for_user
    }

    pub(super) fn pair(&self) -> (EntityId, Guid) {
        (self.reader, self.writer)
    }

    /// Gives a sample that a record carries to the subscription, if nothing is to come before it.
    #[inline]
    pub(super) fn take_in_order(
        &mut self,
        receiver: &mut Receiver,
        record: &Record,
    ) -> Result<bool, SessionFault> {
        let number = receiver.number(record)?;
        if !self.from.position.takes(number) {
            return Ok(false);
        }
        let is_taken = self.memory.take_in_order(receiver, record, (&self.topic, &self.from))?;
        if is_taken {
            self.from.position.take(number);
            if self.is_watched {
                self.rtps.sample_passed(self.pair());
            }
        }
        Ok(is_taken)
    }

    /// What is to be done next; messages are given only while there is room for them.
    pub(super) fn next_action(&mut self, has_room: bool) -> Option<ReceiveAction<Piece>> {
        let receiver = &mut self.memory.delivery.as_mut()?.receiver;
        if has_room { receiver.poll_action() } else { receiver.poll_report() }
    }

    /// Gives the subscription a message, unless a link of ROS 1 serves it instead. Returns its length, for which room was promised
    /// in either case.
    pub(super) fn deliver(&self, number: u64, message: Piece) -> usize {
        let length = message.bytes().len();
        if !self.from.position.take(number) {
            return length;
        }
        let message = match message {
            Piece::Lent(lent) => Received::Lent(lent),
            Piece::Own(bytes) => Received::Own(bytes),
        };
        self.topic.push_sample(message, &self.from, SampleInfo::numbered(number));
        if self.is_watched {
            self.rtps.sample_passed(self.pair());
        }
        length
    }

    /// Messages did not come, and will not. What is missing while a link of ROS 1 serves the subscription was written for others.
    pub(super) fn lose(&self, count: u64) {
        if !self.from.is_served_by_link() {
            self.from.position.lose(count);
            self.topic.lose(count, &self.from);
        }
    }
}

impl SampleOutput {
    pub(super) fn pair(&self) -> (EntityId, Guid) {
        (self.writer, self.reader)
    }
}

impl Session {
    /// The other process asks for a pair that this one does not know yet, or knew.
    fn asked_early(&mut self, token: u128, waits_for_user: bool) {
        self.take_early(token);
        if self.early.len() >= MOST_EARLY {
            self.early.pop_front();
        }
        self.early.push_back((token, waits_for_user));
    }

    /// Whether it has asked for this, and whether the reader's user is to be waited for.
    fn take_early(&mut self, token: u128) -> Option<bool> {
        let index = self.early.iter().position(|(early, _)| *early == token)?;
        self.early.remove(index).map(|(_, waits_for_user)| waits_for_user)
    }
}

impl Sessions {
    /// A pair is known.
    pub(in crate::driver) fn add_pair(&mut self, end: PairEnd) -> Key {
        let entry = match end {
            PairEnd::Reader { topic, from, rtps, reader, writer } => {
                let (waits_for_user, memory) = (rtps.keeps_all(reader), MemoryInput::default());
                let (is_watched, asks_later) = (false, false);
                Entry::SampleInput(SampleInput {
                    topic,
                    from,
                    rtps,
                    reader,
                    writer,
                    waits_for_user,
                    memory,
                    is_watched,
                    asks_later,
                })
            }
            PairEnd::Writer { publication, writer, reader } => {
                Entry::SampleOutput(SampleOutput { publication, writer, reader, waits_for_user: false })
            }
        };
        self.entries.insert_with(|_| entry)
    }

    /// The other process asks to have a pair by the session.
    pub(in crate::driver) fn asked_for_samples(
        &mut self,
        session: Key,
        token: u128,
        waits_for_user: bool,
        effects: &mut Effects,
    ) {
        let key = self.links.get(&token).copied();
        let Some(Entry::SampleOutput(output)) = key.and_then(|key| self.entries.get_mut(key)) else {
            let open = self.open.get_mut(session);
            return open.into_iter().for_each(|open| open.asked_early(token, waits_for_user));
        };
        output.waits_for_user = waits_for_user;
        self.go_over(session, token, effects);
    }

    /// It may have asked before this one knew of the pair.
    pub(super) fn go_over_if_asked(&mut self, session: Key, token: u128, effects: &mut Effects) {
        let asked = self.open.get_mut(session).and_then(|open| open.take_early(token));
        if let Some(waits_for_user) = asked {
            self.asked_for_samples(session, token, waits_for_user, effects);
        }
    }

    /// The link of a token that is one with the process of a session.
    pub(in crate::driver) fn link_with(&self, session: Key, token: u128) -> Option<Key> {
        let process = self.open.get(session)?.process;
        let link = *self.links.get(&token)?;
        self.peer_of(link).filter(|peer| peer.process == process).map(|_| link)
    }

    /// Whether RTPS is to be read before a record: what was sent before by the network of this host lies in our sockets.
    pub(super) fn is_behind_network(&self, session: Key, heard: &Heard) -> bool {
        let Heard::OpenSamples { token, begin: Statement::Begin { from, .. }, .. } = heard else {
            return false;
        };
        match self.link_with(session, *token).and_then(|key| self.entries.get(key)) {
            Some(Entry::SampleInput(input)) => {
                input.rtps.next_due(input.pair()).is_none_or(|due| due < *from)
            }
            _ => false,
        }
    }

    /// A reader of another process tells how far it is.
    pub(in crate::driver) fn reader_reached(
        &mut self,
        pair: Key,
        (epoch, next): (u32, u64),
    ) -> Result<(), SessionFault> {
        match self.entries.get(pair) {
            Some(Entry::SampleOutput(output)) => {
                output.publication.reached(output.pair(), epoch, next).map_err(SessionFault::Reached)
            }
            _ => Ok(()),
        }
    }

    /// A publisher is known by another name.
    pub(in crate::driver) fn rename_publisher(&mut self, pair: Key, named: Arc<LinkInfo>) {
        if let Some(Entry::SampleInput(input)) = self.entries.get_mut(pair) {
            input.from = named;
        }
    }
}
