//! Pairs of endpoints of the ROS 2 graph that may come by sessions, what each has to do with memory, and what the two ends ask of
//! each other.

use std::sync::Arc;

use runnel_delivery::Statement;
use runnel_ros1::tcpros::FrameReader;
use runnel_rtps::wire::{EntityId, Guid};

use super::pair_delivery::PairDelivery;
use super::{Entry, Session, Sessions};
use crate::data::{LinkInfo, Publication, TopicInput};
use crate::driver::effect::Effects;
use crate::driver::table::Key;
use crate::ipc::{Heard, SessionFault};
use crate::rtps::Rtps;

/// What asks that are not understood yet are remembered: the other process may know of a pair before this one.
const MOST_EARLY: usize = 4096;

/// A writer of another process that a reader of ours is matched with.
pub(in crate::driver) struct SampleInput {
    pub(in crate::driver) topic: Arc<TopicInput>,
    pub(in crate::driver) from: Arc<LinkInfo>,
    pub(in crate::driver) rtps: Arc<Rtps>,
    pub(in crate::driver) reader: EntityId,
    pub(in crate::driver) writer: Guid,
    /// It keeps all: the writer waits for its user.
    waits_for_user: bool,
    pub(in crate::driver) memory: MemoryInput,
    /// Somebody waits for signs of life, or for samples by a deadline.
    pub(super) is_watched: bool,
    /// A session stands that is to be asked once the pair has settled.
    pub(super) asks_later: bool,
}

/// What the subscriber of a pair has to do with memory that another process shares.
#[derive(Default)]
pub(in crate::driver) struct MemoryInput {
    pub(super) channel: Option<Channel>,
    /// From the first sample of a channel until all that came by it is with the user.
    pub(super) delivery: Option<Box<PairDelivery>>,
    /// What the publisher is still to be told.
    pub(super) untold: Option<Statement>,
}

impl MemoryInput {
    /// Whether samples come by the session.
    pub(in crate::driver) fn has_channel(&self) -> bool {
        self.channel.is_some()
    }

    pub(super) fn is_between_samples(&self) -> bool {
        self.channel.as_ref().is_some_and(|channel| channel.pieces.is_between_pieces())
    }

    /// Whether the sample of this number, which the channel has brought, goes to the subscription at once.
    #[inline]
    pub(super) fn accepts_in_order(&mut self, number: u64) -> bool {
        let is_between = self.is_between_samples();
        self.delivery.as_mut().is_some_and(|delivery| is_between && delivery.accept_in_order(number))
    }
}

/// What a pair comes by.
pub(super) struct Channel {
    /// A sample that comes in pieces, and its number.
    pub(super) pieces: FrameReader,
    pub(super) begun: u64,
}

/// A reader of another process that a writer of ours is matched with.
pub(in crate::driver) struct SampleOutput {
    pub(in crate::driver) publication: Arc<Publication>,
    pub(in crate::driver) writer: EntityId,
    pub(in crate::driver) reader: Guid,
    /// The reader's user is waited for.
    pub(in crate::driver) waits_for_user: bool,
}

impl SampleInput {
    pub(in crate::driver) fn new(
        (topic, from): (Arc<TopicInput>, Arc<LinkInfo>),
        rtps: Arc<Rtps>,
        (reader, writer): (EntityId, Guid),
    ) -> Self {
        Self {
            topic,
            from,
            reader,
            writer,
            waits_for_user: rtps.keeps_all(reader),
            rtps,
            memory: MemoryInput::default(),
            is_watched: false,
            asks_later: false,
        }
    }

    /// Whether the writer is to wait for the reader's user.
    pub(super) fn waits_for_user(&self) -> bool {
        self.waits_for_user
    }

    pub(super) fn pair(&self) -> (EntityId, Guid) {
        (self.reader, self.writer)
    }

    /// Whether the sample of this number, which the channel has brought, goes to the subscription at once.
    #[inline]
    pub(super) fn accepts_in_order(&mut self, number: u64) -> bool {
        let position = &self.from.position;
        position.takes(number) && self.memory.accepts_in_order(number) && position.take(number)
    }

    /// A sample of the channel went to the subscription.
    #[inline]
    pub(super) fn note_given(&self) {
        if self.is_watched {
            self.rtps.sample_passed(self.pair());
        }
    }
}

impl SampleOutput {
    pub(in crate::driver) fn pair(&self) -> (EntityId, Guid) {
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
    /// The other process asks to have a pair by the session.
    pub(super) fn asked_for_samples(
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
    pub(super) fn link_with(&self, session: Key, token: u128) -> Option<Key> {
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
    pub(super) fn reader_reached(
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
