//! Links of ROS 1 to nodes that are in both graphs: which of their subscriptions RTPS serves instead.
//!
//! A reader of a node that has a link is held when it is matched, so that the link serves it. It leaves the link when the
//! subscriber asks for that, see [`SharedLinkSender`]. Where a link carries no statements, as one of UDPROS or to a release
//! 0.1.0, its readers stay held, and the link serves them.

use std::sync::Arc;

use runnel_delivery::{
    Credit, PairId, PairMatch, QueuePolicy, Sender, SenderOptions, SharedLinkSender, Statement,
};
use runnel_io::Reactor;
use runnel_ros1::net::ConnId;
use runnel_rtps::wire::{EntityId, Guid};

use super::link::Link;
use super::{Offer, Publication, RtpsWriter, State};
use crate::frame::{Frame, QueueBound};
use crate::ipc;
use crate::linger::Unarrived;
use crate::rtps::LeftReader;
use crate::sync::lock;

/// A reader that leaves a link: what is for it waits until the subscriber has all that came by the link.
pub(super) struct Leaving {
    conn: ConnId,
    writer: EntityId,
    reader: Guid,
    /// The number of the first message that waits.
    from: u64,
    waiting: Sender<Frame>,
}

impl Leaving {
    pub(super) fn is_of(&self, pair: (EntityId, Guid)) -> bool {
        (self.writer, self.reader) == pair
    }

    /// What waits, with the numbers.
    pub(super) fn into_waiting(self) -> impl Iterator<Item = (u64, Frame)> {
        let waiting = self.waiting.snapshot().messages;
        waiting.into_iter().map(|message| (message.number, message.message))
    }
}

fn number_of(entity: EntityId) -> u32 {
    u32::from_be_bytes(entity.0)
}

pub(super) fn pair_of(writer: EntityId, reader: Guid) -> PairId {
    PairId { writer: number_of(writer), reader: number_of(reader.entity) }
}

/// The messages that wait while a pair has no path.
fn waiting_sender(pair: PairId, first: u64, bound: QueueBound) -> Sender<Frame> {
    Sender::new(SenderOptions {
        id: pair.id(),
        first,
        policy: QueuePolicy::KeepLast { depth: bound.messages },
        max_bytes: bound.bytes,
        credit: Credit::DEFAULT,
    })
}

impl RtpsWriter {
    /// The number of the message that is written next.
    pub(super) fn next_number(&self) -> u64 {
        self.last_number().unwrap_or(0) + 1
    }
}

impl Publication {
    /// The subscriber of a link states something of the subscriptions that share it.
    ///
    /// # Errors
    /// It makes no sense.
    pub(crate) fn stated_by_subscriber(&self, conn: ConnId, statement: &Statement) -> Result<(), String> {
        let state = &mut *lock(&self.state);
        let Some(index) = state.links.iter().position(|link| link.conn == conn) else { return Ok(()) };
        let unknown = || format!("a statement of a kind that is the publisher's: {statement:?}");
        let pair = PairId::of(statement).ok_or_else(unknown)?;
        let writer = state.writer_of(EntityId(pair.writer.to_be_bytes()));
        // It may have ended meanwhile.
        let Some(writer) = writer else { return Ok(()) };
        match *statement {
            Statement::Ask { .. } => self.asked(state, index, (&writer, pair))?,
            Statement::Return { .. } => {
                let lost = state.take_back(&self.reactor, index, (&writer, pair));
                self.count_dropped(lost);
                self.count_memory_links(state);
            }
            Statement::Reached { epoch, next, .. } => {
                let Some(shared) = &mut state.links[index].shared else { return Ok(()) };
                let reached = shared.reached(pair, epoch, next).map_err(|error| error.to_string())?;
                reached.into_iter().for_each(|from| state.left_link(&writer, (conn, pair), from));
            }
            Statement::Standby { epoch, .. } => {
                if let Some(shared) = &mut state.links[index].shared {
                    shared.stand_by(pair.writer, epoch);
                }
            }
            Statement::Needed { .. } => {
                let from = writer.next_number();
                state.links[index].share(&self.reactor, |shared| shared.needed(pair.writer, from));
            }
            _ => return Err(unknown()),
        }
        self.count_channels(state);
        Ok(())
    }

    fn asked(
        &self,
        state: &mut State,
        index: usize,
        (writer, pair): (&RtpsWriter, PairId),
    ) -> Result<(), String> {
        let link = &mut state.links[index];
        let (Some(shared), Some(origin)) = (&mut link.shared, link.origin) else { return Ok(()) };
        let reader = writer.reader_of(origin, EntityId(pair.reader.to_be_bytes()));
        let is_leaving =
            |reader: Guid| state.leaving.iter().any(|of| (of.writer, of.reader) == (writer.id(), reader));
        let is = match reader {
            None => PairMatch::Unmatched,
            Some((reader, is_held)) if is_held && !is_leaving(reader) => PairMatch::OnLink,
            Some(_) => PairMatch::OnRtps,
        };
        let leaves = shared.ask(pair, is).map_err(|error| error.to_string())?;
        if let Some((reader, _)) = reader.filter(|_| leaves) {
            state.leave_link(&self.reactor, index, (writer, reader));
        }
        Ok(())
    }

    /// A reader of a node that may have a link has been matched.
    pub(super) fn reader_matched(&self, offer: &Offer, reader: Guid, origin: u64) {
        let state = &mut *lock(&self.state);
        let Some(writer) = offer.writer().cloned().filter(|writer| writer.is_held(reader)) else { return };
        let pair = pair_of(writer.id(), reader);
        let mut was_asked = None;
        for (index, link) in state.links.iter_mut().enumerate() {
            let is_asked = |shared: &mut SharedLinkSender| shared.matched(pair);
            if link.origin == Some(origin) && link.shared.as_deref_mut().is_some_and(is_asked) {
                was_asked = Some(index);
            }
        }
        was_asked.into_iter().for_each(|index| state.leave_link(&self.reactor, index, (&writer, reader)));
    }

    /// There is another writer. It may have matched readers of nodes with links already, which RTPS serves then.
    pub(super) fn share_links(&self, writer: &RtpsWriter) {
        let State { links, datagram_links, .. } = &mut *lock(&self.state);
        let from = writer.next_number();
        for link in links {
            let readers = link.origin.map(|origin| writer.link(origin)).unwrap_or_default();
            for reader in readers {
                link.left_already(&self.reactor, pair_of(writer.id(), reader), from);
            }
        }
        for link in datagram_links {
            if link.origin.is_some_and(|origin| !writer.link(origin).is_empty()) {
                link.standby.push(writer.id());
            }
        }
    }

    /// Readers of such nodes have been lost, or have ended: their links carry all from here on.
    pub(super) fn tell_of_left(&self, offer: &Offer) {
        let state = &mut *lock(&self.state);
        if let Some(writer) = offer.writer() {
            self.readers_left(state, writer, (writer.next_number(), writer.take_left()));
        }
    }

    /// The first message that the links carry for them has the number `from`.
    pub(super) fn readers_left(
        &self,
        state: &mut State,
        writer: &RtpsWriter,
        (from, left): (u64, Vec<LeftReader>),
    ) {
        let is_any = !left.is_empty();
        for LeftReader { reader, origin, unacknowledged } in left {
            let returned = state.take_returned((writer.id(), reader), unacknowledged);
            let lost = state.serve_by_links(&self.reactor, origin, (writer, reader), (from, returned));
            self.count_dropped(lost);
            let links = state.datagram_links.iter_mut().filter(|link| link.origin == Some(origin));
            links.for_each(|link| link.standby.retain(|standby| *standby != writer.id()));
        }
        if is_any {
            self.count_memory_links(state);
            self.count_channels(state);
        }
    }
}

impl State {
    /// A link stands. RTPS serves the readers of its node that it serves already, and no others.
    pub(super) fn share_link(&mut self, reactor: &Reactor, link: &mut Link) {
        let Some(origin) = link.origin else { return };
        for writer in self.offers.iter().filter_map(|offer| offer.writer()) {
            let from = writer.next_number();
            for reader in writer.link(origin) {
                link.left_already(reactor, pair_of(writer.id(), reader), from);
            }
        }
    }

    /// The same of a link of datagrams. Gives the writers that serve its node already.
    pub(super) fn share_datagrams(&self, origin: Option<u64>) -> Vec<EntityId> {
        let writers = self.offers.iter().filter_map(|offer| offer.writer());
        let serves = |writer: &&RtpsWriter| origin.is_some_and(|origin| !writer.link(origin).is_empty());
        writers.filter(serves).map(RtpsWriter::id).collect()
    }

    /// A link is gone: what waited for it goes by RTPS, which serves the readers of its node from now on.
    pub(super) fn unshare_link(&mut self, conn: ConnId, origin: Option<u64>) {
        let gone: Vec<Leaving> = self.leaving.extract_if(.., |leaving| leaving.conn == conn).collect();
        for leaving in gone {
            if let Some(writer) = self.writer_of(leaving.writer) {
                let from = leaving.from;
                self.release(&writer, leaving, from);
            }
        }
        let Some(origin) = origin else { return };
        self.offers.iter().filter_map(|offer| offer.writer()).for_each(|writer| writer.unlink(origin));
        self.wake_wanted(None);
    }

    /// A reader leaves a link: its messages wait from the next one on.
    fn leave_link(&mut self, reactor: &Reactor, index: usize, (writer, reader): (&RtpsWriter, Guid)) {
        let (pair, from, bound) = (pair_of(writer.id(), reader), writer.next_number(), self.options.bound);
        let link = &mut self.links[index];
        link.share(reactor, |shared| shared.leave(pair, from));
        let waiting = waiting_sender(pair, from, bound);
        self.leaving.push(Leaving { conn: link.conn, writer: writer.id(), reader, from, waiting });
    }

    /// The subscriber has all of a reader that came by its link: RTPS serves it.
    fn left_link(&mut self, writer: &RtpsWriter, (conn, pair): (ConnId, PairId), from: u64) {
        let is_meant =
            |leaving: &mut Leaving| leaving.conn == conn && pair_of(leaving.writer, leaving.reader) == pair;
        let left: Vec<Leaving> = self.leaving.extract_if(.., is_meant).collect();
        left.into_iter().for_each(|leaving| self.release(writer, leaving, from));
    }

    fn release(&mut self, writer: &RtpsWriter, leaving: Leaving, from: u64) {
        let waiting = leaving.waiting.snapshot().messages;
        let waiting = waiting.into_iter().map(|message| (message.number, None, message.message));
        writer.release(leaving.reader, from, waiting.collect());
        self.wake_wanted(Some(leaving.reader));
    }

    /// The subscriber has lost the writer of a reader, which the link serves from here on. How many messages are lost.
    fn take_back(&mut self, reactor: &Reactor, index: usize, (writer, pair): (&RtpsWriter, PairId)) -> u64 {
        let (link, from) = (&mut self.links[index], writer.next_number());
        let Some(origin) = link.origin else { return 0 };
        let reader = writer.reader_of(origin, EntityId(pair.reader.to_be_bytes()));
        let Some((reader, is_held)) = reader else {
            link.share(reactor, |shared| shared.serve(pair, from));
            return 0;
        };
        let unacknowledged = if is_held { Vec::new() } else { writer.hold(reader) };
        let returned = self.take_returned((writer.id(), reader), unacknowledged);
        self.serve_by_links(reactor, origin, (writer, reader), (from, returned))
    }

    /// A message that a writer has written waits for those that leave a link. How many were dropped for it.
    pub(super) fn wait_for_link(&mut self, writer: &RtpsWriter, frame: &Frame) -> u64 {
        let Some(number) = writer.last_number() else { return 0 };
        let mut dropped = 0;
        for leaving in self.leaving.iter_mut().filter(|leaving| leaving.writer == writer.id()) {
            let bytes = frame.as_ref().len();
            dropped += leaving.waiting.publish(number, frame.to_own(), bytes).unwrap_or_default();
        }
        dropped
    }

    /// Whether messages of a writer wait for readers that leave a link.
    pub(super) fn waits_for_link(&self, writer: EntityId) -> bool {
        let mut leaving = self.leaving.iter().filter(|leaving| leaving.writer == writer);
        leaving.any(|leaving| leaving.waiting.queue_len() > 0)
    }

    /// The reader that leaves a link for which one more message of a writer would push out another.
    pub(super) fn full_for_link(&self, writer: EntityId) -> Option<String> {
        let bound = self.options.bound;
        let is_full = |leaving: &&Leaving| {
            let waiting = &leaving.waiting;
            leaving.writer == writer
                && waiting.queue_len() > 0
                && (waiting.queue_len() >= bound.messages || waiting.queue_bytes() >= bound.bytes / 2)
        };
        self.leaving.iter().find(is_full).map(|leaving| leaving.reader.to_string())
    }

    /// The readers that leave a link and have yet to get messages.
    pub(super) fn unarrived_for_link(&self) -> Vec<Unarrived> {
        let waiting = self.leaving.iter().filter(|leaving| leaving.waiting.queue_len() > 0);
        let of = |leaving: &Leaving| Unarrived {
            subscriber: leaving.reader.to_string(),
            messages: leaving.waiting.queue_len() as u64,
        };
        waiting.map(of).collect()
    }

    /// A reader that is held is asked for by a session: its driver is woken when RTPS serves it.
    pub(super) fn want_memory(&mut self, reader: Guid, sender: &Arc<ipc::Sender>) {
        self.wanted.retain(|(of, _)| *of != reader);
        self.wanted.push((reader, Arc::clone(sender)));
    }

    fn wake_wanted(&mut self, reader: Option<Guid>) {
        let is_meant = |(of, _): &mut (Guid, Arc<ipc::Sender>)| reader.is_none_or(|reader| *of == reader);
        self.wanted.extract_if(.., is_meant).for_each(|(_, sender)| sender.wake_driver());
    }

    /// Whether any link carries what is published with an offer.
    pub(super) fn has_carrying_link(&self, offer: &Offer) -> bool {
        let writer = offer.writer_id();
        self.links.iter().any(|link| link.carries(writer))
            || self.datagram_links.iter().any(|link| link.carries(writer))
    }

    /// Whether there is any link of ROS 1, be it one that carries nothing now.
    pub(super) fn has_links(&self) -> bool {
        !(self.links.is_empty() && self.datagram_links.is_empty())
    }

    /// Whether a link carries what is published with any offer.
    pub(super) fn carries_any(&self, link: &Link) -> bool {
        self.offers.is_empty() || self.offers.iter().any(|offer| link.carries(offer.writer_id()))
    }
}

impl Link {
    /// Whether it carries what this writer, if there is one, writes in ROS 2.
    #[inline]
    pub(super) fn carries(&self, writer: Option<EntityId>) -> bool {
        match (&self.shared, writer) {
            (Some(shared), Some(writer)) => shared.carries(number_of(writer)),
            _ => true,
        }
    }

    /// What is to be stated of subscriptions is, if the link carries statements.
    pub(super) fn share(
        &mut self,
        reactor: &Reactor,
        change: impl FnOnce(&mut SharedLinkSender) -> Statement,
    ) {
        if let Some(shared) = &mut self.shared {
            let statement = change(shared);
            self.state(reactor, statement);
        }
    }

    /// RTPS serves a reader already.
    fn left_already(&mut self, reactor: &Reactor, pair: PairId, from: u64) {
        let has_statements = self.has_statements();
        self.share(reactor, |shared| shared.left_already(pair, from));
        if let Some(shared) = self.shared.as_mut().filter(|_| !has_statements) {
            let epoch = shared.epoch();
            shared.stand_by(pair.writer, epoch);
        }
    }

    /// The next message is of this writer.
    #[inline]
    pub(super) fn before_message(&mut self, reactor: &Reactor, writer: Option<EntityId>) {
        let Some(writer) = writer else { return };
        if let Some(statement) =
            self.shared.as_mut().and_then(|shared| shared.before_message(number_of(writer)))
        {
            self.state(reactor, statement);
        }
    }
}
