//! Readers that leave a ROS 1 link for RTPS: their messages wait until the subscriber has received everything that the
//! link carried.

use runnel_delivery::{Credit, PairId, QueuePolicy, Sender, SenderOptions};
use runnel_io::Reactor;
use runnel_ros1::net::ConnId;
use runnel_rtps::wire::{EntityId, Guid};

use super::link::Link;
use super::{RtpsWriter, State};
use crate::frame::{Frame, QueueBound};
use crate::rtps::{NodeReader, pair_id};
use crate::settings::linger::Unarrived;

/// One reader that leaves a link.
pub(super) struct LeavingReader {
    pub(super) conn: ConnId,
    writer: EntityId,
    reader: Guid,
    /// Counts the matches of the reader.
    matching: u64,
    /// The number of the first message that the link did not carry for the reader.
    from: u64,
    waiting: Sender<Frame>,
}

impl LeavingReader {
    pub(super) fn is_of(&self, writer: EntityId, reader: Guid) -> bool {
        (self.writer, self.reader) == (writer, reader)
    }

    /// Whether it belongs to this match of its reader, or to an earlier one.
    pub(super) fn is_of_match(&self, matching: u64) -> bool {
        self.matching <= matching
    }

    /// The waiting messages with their numbers.
    pub(super) fn into_waiting(self) -> impl Iterator<Item = (u64, Frame)> {
        let waiting = self.waiting.snapshot().messages;
        waiting.into_iter().map(|message| (message.number, message.message))
    }

    pub(super) fn is_of_writer(&self, writer: EntityId) -> bool {
        self.writer == writer
    }
}

/// The queue of messages while a pair has no path.
fn waiting_sender(pair: PairId, first: u64, bound: QueueBound) -> Sender<Frame> {
    Sender::new(SenderOptions {
        id: pair.id(),
        first,
        policy: QueuePolicy::KeepLast { depth: bound.messages },
        max_bytes: bound.bytes,
        credit: Credit::DEFAULT,
    })
}

impl State {
    /// Whether a reader leaves a link that is not older than `conn`.
    pub(super) fn is_leaving(&self, (writer, reader): (EntityId, Guid), conn: ConnId) -> bool {
        self.leaving.iter().any(|leaving| leaving.is_of(writer, reader) && leaving.conn >= conn)
    }

    /// A reader leaves a link: its messages wait, beginning with the next one. A reader that was leaving an older link
    /// of its node leaves this one instead: this link was established before and has carried all messages since.
    pub(super) fn leave_link(
        &mut self,
        reactor: &Reactor,
        index: usize,
        (writer, reader): (&RtpsWriter, NodeReader),
    ) {
        let (pair, from, bound) =
            (pair_id(writer.id(), reader.guid.entity), writer.next_number(), self.options.bound);
        let link = &mut self.links[index];
        link.share(reactor, |shared| shared.leave(pair, from));
        let conn = link.conn;
        let before = self.leaving.extract_if(.., |leaving| leaving.is_of(writer.id(), reader.guid)).next();
        let waiting = before.map_or_else(|| waiting_sender(pair, from, bound), |leaving| leaving.waiting);
        let NodeReader { guid: reader, matching, .. } = reader;
        self.leaving.push(LeavingReader { conn, writer: writer.id(), reader, matching, from, waiting });
    }

    /// Readers that leave an older link leave a new link of the same node instead. The new link carries none of their
    /// messages: the subscriber may have handled the Leave of the older link, and its answer may be lost with that.
    pub(super) fn leave_new_link(&mut self, reactor: &Reactor, link: &mut Link) {
        let Some(dual_node_id) = link.dual_node_id.filter(|_| link.has_statements()) else { return };
        let mut leaving = std::mem::take(&mut self.leaving);
        for LeavingReader { conn, writer, reader, matching, from, .. } in &mut leaving {
            let Some(writer) = self.writer_of(*writer) else { continue };
            let current = writer.reader(dual_node_id, *reader);
            let is_matched = current.is_some_and(|current| current.matching == *matching);
            if is_matched && writer.is_at(*reader, link.address) {
                *conn = link.conn;
                link.share(reactor, |shared| shared.leave(pair_id(writer.id(), reader.entity), *from));
            }
        }
        self.leaving = leaving;
    }

    /// The subscriber has received all messages that its link carried for a reader: RTPS serves the reader now.
    pub(super) fn finish_leaving(
        &mut self,
        reactor: &Reactor,
        writer: &RtpsWriter,
        (conn, pair): (ConnId, PairId),
        from: u64,
    ) {
        let is_meant = |leaving: &mut LeavingReader| {
            leaving.conn == conn && pair_id(leaving.writer, leaving.reader.entity) == pair
        };
        let left: Vec<LeavingReader> = self.leaving.extract_if(.., is_meant).collect();
        let dual_node_id =
            self.links.iter().find(|link| link.conn == conn).and_then(|link| link.dual_node_id);
        for leaving in left {
            self.release(writer, leaving, from);
            self.declare_on_other_links(reactor, (conn, dual_node_id), pair);
        }
    }

    /// States on the other links of a node that they do not carry a pair either.
    fn declare_on_other_links(
        &mut self,
        reactor: &Reactor,
        (conn, dual_node_id): (ConnId, Option<u64>),
        pair: PairId,
    ) {
        let others =
            self.links.iter_mut().filter(|link| link.dual_node_id == dual_node_id && link.conn != conn);
        others.for_each(|link| link.declare_on_rtps(reactor, pair));
    }

    /// A link has ended: its leaving readers leave a newer link of their node, or RTPS serves them at once. Returns the
    /// number of lost messages.
    pub(super) fn end_link(&mut self, reactor: &Reactor, conn: ConnId, dual_node_id: Option<u64>) -> u64 {
        let gone: Vec<LeavingReader> = self.leaving.extract_if(.., |leaving| leaving.conn == conn).collect();
        let mut lost = 0;
        for leaving in gone {
            let Some(writer) = self.writer_of(leaving.writer) else { continue };
            let reader = dual_node_id.and_then(|dual_node_id| writer.reader(dual_node_id, leaving.reader));
            let Some(reader) = reader.filter(|reader| reader.matching == leaving.matching) else { continue };
            let of_node = |of: Option<u64>, address| of == dual_node_id && writer.is_at(reader.guid, address);
            let is_other = |link: &Link| of_node(link.dual_node_id, link.address);
            let is_newer = |link: &Link| link.has_statements() && link.conn > conn && is_other(link);
            if let Some(index) = self.links.iter().rposition(is_newer) {
                self.leaving.push(leaving);
                self.leave_link(reactor, index, (&writer, reader));
            } else if self.links.iter().any(|link| !link.has_statements() && is_other(link))
                || self.datagram_links.iter().any(|link| of_node(link.dual_node_id, link.address))
            {
                // A link without statements serves the reader.
                lost += leaving.waiting.queue_len() as u64;
            } else {
                let from = leaving.from;
                self.release(&writer, leaving, from);
                let pair = pair_id(writer.id(), reader.guid.entity);
                self.declare_on_other_links(reactor, (conn, dual_node_id), pair);
            }
        }
        lost
    }

    fn release(&mut self, writer: &RtpsWriter, leaving: LeavingReader, from: u64) {
        let waiting = leaving.waiting.snapshot().messages.into_iter();
        let due = waiting.filter(|message| message.number >= from);
        let due = due.map(|message| (message.number, None, message.message)).collect();
        writer.release(leaving.reader, from, due);
        self.wake_memory_requests(Some(leaving.reader));
    }

    /// Forgets leaving readers. Returns the number of their lost messages.
    pub(super) fn remove_leaving(&mut self, is_meant: impl Fn(&LeavingReader) -> bool) -> u64 {
        let gone = self.leaving.extract_if(.., |leaving| is_meant(leaving));
        gone.map(|leaving| leaving.waiting.queue_len() as u64).sum()
    }

    /// Queues a message of a writer for the readers that leave a link. Returns the number of dropped messages.
    pub(super) fn queue_for_leaving(&mut self, writer: &RtpsWriter, frame: &Frame) -> u64 {
        let Some(number) = writer.last_number() else { return 0 };
        let mut dropped = 0;
        for leaving in self.leaving.iter_mut().filter(|leaving| leaving.writer == writer.id()) {
            let bytes = frame.as_ref().len();
            dropped += leaving.waiting.publish(number, frame.to_own(), bytes).unwrap_or_default();
        }
        dropped
    }

    /// Whether messages of a writer wait for readers that leave a link.
    pub(super) fn has_leaving_messages(&self, writer: EntityId) -> bool {
        let mut leaving = self.leaving.iter().filter(|leaving| leaving.writer == writer);
        leaving.any(|leaving| leaving.waiting.queue_len() > 0)
    }

    /// A leaving reader whose queue is full, so that the next message of the writer would drop another.
    pub(super) fn full_leaving_reader(&self, writer: EntityId) -> Option<String> {
        let bound = self.options.bound;
        let is_full = |leaving: &&LeavingReader| {
            let waiting = &leaving.waiting;
            leaving.writer == writer
                && waiting.queue_len() > 0
                && (waiting.queue_len() >= bound.messages || waiting.queue_bytes() >= bound.bytes / 2)
        };
        self.leaving.iter().find(is_full).map(|leaving| leaving.reader.to_string())
    }

    /// The leaving readers that lack messages.
    pub(super) fn unarrived_leaving(&self) -> Vec<Unarrived> {
        let waiting = self.leaving.iter().filter(|leaving| leaving.waiting.queue_len() > 0);
        let of = |leaving: &LeavingReader| Unarrived {
            subscriber: leaving.reader.to_string(),
            messages: leaving.waiting.queue_len() as u64,
        };
        waiting.map(of).collect()
    }
}
