//! ROS 1 link of one subscriber: its connection and its queue.

mod sharing;
mod switching;

use std::io::IoSlice;
use std::net::IpAddr;
use std::sync::Arc;

use runnel_core::wire::NoMemory;
use runnel_delivery::{SharedLinkSender, Statement};
use runnel_io::segment::Segment;
use runnel_io::{Interest, Reactor, Stream, Token};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::{LinkStats, SubscriberLink};
use runnel_ros1::tcpros::{LENGTH, SendQueue, length_prefix};

use super::memory_path::{MemoryPath, WAITING_SLOTS};
use super::message_numbers::MessageNumbers;
use crate::frame::{Frame, Payload, QueueBound};
use crate::ipc::Sender;

/// Messages per system call.
const BATCH: usize = 64;

/// Messages of up to this length are copied behind their length prefix: sending one piece is faster than two.
const ONE_PIECE: usize = 252;
/// Limit of queued statements per subscriber, since a subscriber can cause any number.
pub(super) const MOST_STATEMENTS: usize = 4096;

/// See the module's documentation. Fields that each message uses come first.
#[repr(C)]
pub(super) struct Link {
    queue: SendQueue<Frame>,
    /// Sending failed; the reactor reports the end of the connection to the driver.
    failed: bool,
    /// The reactor reports when the connection is writable.
    watched: bool,
    /// Shared memory carries the messages. The connection only completes the message that it has begun.
    memory: Option<Box<MemoryPath>>,
    /// If both ends understand statements.
    numbers: Option<MessageNumbers>,
    /// If the subscriber belongs to a dual node.
    pub(super) shared: Option<Box<SharedLinkSender>>,
    stream: Arc<Stream>,
    stats: Arc<LinkStats>,
    pub(super) conn: ConnId,
    token: Token,
    /// The IPC connection to which the link switches once the connection has sent our header.
    pending_switch: Option<Arc<Sender>>,
    /// Queue limit, without resent messages that are being queued.
    limit: QueueBound,
    pub(super) resends: bool,
    /// Messages copied because the subscriber's process had reached its quota.
    shm_copies: u64,
    pub(super) subscriber: String,
    /// The id of the subscriber's node, if that is a dual node, and its address.
    pub(super) dual_node_id: Option<u64>,
    /// It gets no messages: this process is a bridge, and the subscriber gets them from their publishers.
    pub(super) is_excluded: bool,
    pub(super) address: Option<IpAddr>,
    /// The subscriber reads the end of the connection.
    pub(super) is_ended: bool,
}

impl Link {
    /// An established link that has yet to send `unsent`, the rest of our header.
    pub(super) fn new(
        link: SubscriberLink,
        (token, stream, address): (Token, Arc<Stream>, IpAddr),
        unsent: Vec<u8>,
        bound: QueueBound,
    ) -> Self {
        let address = Some(address.to_canonical());
        let SubscriberLink { conn, subscriber, dual_node_id, stats, delivery, .. } = link;
        Self {
            queue: SendQueue::with_preamble(unsent, bound),
            failed: false,
            watched: false,
            memory: None,
            numbers: delivery.map(MessageNumbers::new),
            shared: dual_node_id.map(|_| Box::default()),
            address,
            stream,
            stats,
            conn,
            token,
            pending_switch: None,
            limit: bound,
            resends: false,
            shm_copies: 0,
            subscriber,
            dual_node_id,
            is_excluded: false,
            is_ended: false,
        }
    }

    /// Sends a frame at once if the queue is empty, otherwise queues it. Returns the number of dropped messages.
    pub(super) fn send_or_queue(&mut self, reactor: &Reactor, frame: &Frame) -> u64 {
        if self.failed {
            return 0;
        }
        if self.memory.is_none() {
            self.flush_if_waiting(reactor);
        }
        // The queue is flushed first: numbers of queued messages are counted back from the last one.
        let number = self.numbers.as_mut().map_or(0, MessageNumbers::take);
        if let Some(memory) = &mut self.memory {
            let dropped = memory.send_or_queue(number, frame);
            self.stats.count_dropped(dropped);
            return dropped;
        }
        let sent = if self.queue.is_empty() { self.send(frame) } else { 0 };
        if sent == LENGTH + frame.as_ref().len() {
            self.stats.count(1, sent as u64);
        } else if !self.failed {
            return self.queue_rest(reactor, frame, sent);
        }
        0
    }

    /// Counts a dropped message.
    pub(super) fn count_drop(&self) {
        self.stats.count_dropped(1);
    }

    /// Whether both ends understand statements.
    pub(super) fn has_statements(&self) -> bool {
        self.numbers.is_some()
    }

    /// Queues a statement about the subscriptions that share the link, behind all messages published until now.
    pub(super) fn state(&mut self, reactor: &Reactor, statement: Statement) {
        let Some(numbers) = self.numbers.as_mut().filter(|_| !self.failed) else { return };
        let statements = match &mut self.memory {
            Some(memory) => &mut memory.statements,
            None => &mut numbers.statements,
        };
        statements.push_back((numbers.next, statement));
        if statements.len() > MOST_STATEMENTS {
            // The subscriber does not read the statements that it causes. The reactor reports the end of the
            // connection.
            self.failed = true;
            let _ = self.stream.shutdown();
        }
        self.flush(reactor);
    }

    fn has_statements_waiting(&self) -> bool {
        self.numbers.as_ref().is_some_and(|numbers| !numbers.statements.is_empty())
    }

    fn queue_rest(&mut self, reactor: &Reactor, frame: &Frame, sent: usize) -> u64 {
        // A slow subscriber must not occupy slots that other subscribers need.
        let copies = self.queue.len() >= WAITING_SLOTS && matches!(frame.payload(), Payload::Slot(_));
        self.shm_copies += u64::from(copies);
        let dropped = self.queue.push(if copies { frame.to_own() } else { frame.clone() }, sent);
        self.stats.count_dropped(dropped);
        self.watch(reactor, true);
        dropped
    }

    /// Sends the queue, until the connection accepts no more.
    pub(super) fn flush(&mut self, reactor: &Reactor) {
        if let Some(memory) = &mut self.memory {
            memory.flush();
        }
        while (!self.queue.is_empty() || self.has_statements_waiting()) && !self.failed && self.send_batch() {
        }
        self.watch(reactor, !self.queue.is_empty());
        if self.queue.bound() != self.limit && self.waiting() == 0 && !self.resends {
            self.raise_limit_to(self.limit);
        }
        if self.queue.preamble_left() == 0
            && !self.has_statements_waiting()
            && let Some(sender) = self.pending_switch.take()
        {
            sender.wake_driver();
        }
    }

    /// Like [`flush`](Self::flush), without a system call if the queue is empty.
    pub(super) fn flush_if_waiting(&mut self, reactor: &Reactor) {
        let memory_waits = self.memory.as_ref().is_some_and(|memory| !memory.is_sent());
        if !self.queue.is_empty() || memory_waits || self.has_statements_waiting() {
            self.flush(reactor);
        }
    }

    /// Whether the reactor is to report writability.
    fn watch(&mut self, reactor: &Reactor, watch: bool) {
        if !self.failed && self.watched != watch {
            self.watched = watch;
            let interest = if watch { Interest::Both } else { Interest::Read };
            self.failed = reactor.modify(&*self.stream, self.token, interest).is_err();
        }
    }

    /// Whether the subscriber reads from shared memory.
    pub(super) fn is_channel(&self) -> bool {
        self.memory.is_some()
    }

    /// Announces segments to the subscriber's process. False until it has mapped them.
    pub(super) fn announce(&self, segments: &[Arc<Segment>]) -> bool {
        self.memory.as_ref().is_none_or(|memory| memory.ipc_connection().announce(segments))
    }

    /// Reclaims the slots of messages that the subscriber has read.
    pub(super) fn reclaim_slots(&self) {
        self.memory.iter().for_each(|memory| memory.ipc_connection().reclaim_slots());
    }

    /// Messages copied because the subscriber's process had reached its quota.
    pub(super) fn shm_copies(&self) -> u64 {
        self.shm_copies + self.memory.as_ref().map_or(0, |memory| memory.shm_copies())
    }

    /// Sets the queue limit, without resent messages.
    pub(super) fn set_bound(&mut self, bound: QueueBound) {
        self.limit = bound;
        self.raise_limit_to(bound);
    }

    /// Queue limit, without resent messages.
    pub(super) fn bound(&self) -> QueueBound {
        self.limit
    }

    /// Raises the queue limit until the queue is empty.
    pub(super) fn raise_limit_to(&mut self, bound: QueueBound) {
        self.queue.set_bound(bound);
        self.memory.iter_mut().for_each(|memory| memory.set_bound(bound));
    }

    /// Messages and bytes in the queue.
    pub(super) fn waiting_bound(&self) -> QueueBound {
        let in_memory = self.memory.as_ref().map_or(0, |memory| memory.waiting_bytes());
        QueueBound { messages: self.waiting(), bytes: self.queue.bytes() + in_memory }
    }

    /// The number of the next message; 0 if messages have no numbers.
    pub(super) fn next_number(&self) -> u64 {
        self.numbers.as_ref().map_or(0, |numbers| numbers.next)
    }

    /// Messages in the queue.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + self.memory.as_ref().map_or(0, |memory| memory.waiting())
    }

    /// Whether one more message of `bytes` bytes would drop another.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        let is_full = |memory: &MemoryPath| memory.is_full(bytes);
        !self.failed && self.memory.as_deref().map_or_else(|| self.queue.is_full(bytes), is_full)
    }

    /// True if the queue is empty, or the link has failed.
    pub(super) fn is_flushed(&self) -> bool {
        let is_sent = self.memory.as_ref().is_none_or(|memory| memory.is_sent());
        self.failed || self.queue.is_empty() && is_sent
    }

    /// Whether the connection has sent all that it carries itself: a message that it had begun, and statements.
    pub(super) fn is_connection_flushed(&self) -> bool {
        self.queue.is_empty() && self.queue.preamble_left() == 0 && !self.has_statements_waiting()
    }

    /// The connection.
    pub(super) fn stream_of_connection(&self) -> &Stream {
        &self.stream
    }

    /// The number of the first queued message of which nothing was sent, or of the next message.
    fn first_unsent(&self, numbers: &MessageNumbers) -> u64 {
        numbers.next - self.queue.unsent() as u64
    }

    /// The number of the next message that the connection sends, if messages before it were dropped and no statement
    /// says so yet.
    fn gap(&self) -> Option<u64> {
        let numbers = self.numbers.as_ref().filter(|_| self.memory.is_none())?;
        let next = self.first_unsent(numbers);
        (numbers.stated < next).then_some(next)
    }

    /// States the skip to this number on the connection, behind a message that it has begun.
    fn state_skip(&mut self, to: u64) {
        let Some(numbers) = &mut self.numbers else { return };
        let mut skip = Vec::new();
        let appended = numbers.append_skip(&mut skip, to);
        if skip.is_empty() {
            return;
        }
        match appended.and_then(|()| self.queue.insert_preamble(&skip)) {
            Ok(completed) => self.stats.count(completed, 0),
            Err(NoMemory { .. }) => self.failed = true,
        }
    }

    /// Inserts the due statements before the next message.
    fn put_statements(&mut self) {
        let Some(next) = self.numbers.as_ref().map(|numbers| self.first_unsent(numbers)) else { return };
        let due = self.numbers.as_mut().map(|numbers| numbers.due_statements(next)).unwrap_or_default();
        if !due.is_empty() && self.queue.insert_preamble(&due).is_err() {
            self.failed = true;
        }
    }

    /// The number of queued messages before the next statement.
    fn until_statement(&self) -> usize {
        let Some(numbers) = &self.numbers else { return BATCH };
        let Some((at, _)) = numbers.statements.front() else { return BATCH };
        let messages = at.saturating_sub(self.first_unsent(numbers)) as usize;
        messages + (self.queue.len() - self.queue.unsent())
    }

    /// Sends a message behind its length prefix. Returns the number of bytes sent.
    fn send(&mut self, frame: &Frame) -> usize {
        let (message, length) = (frame.as_ref(), length_prefix(frame.as_ref()));
        let sent = if message.len() <= ONE_PIECE {
            let mut piece = [0; LENGTH + ONE_PIECE];
            piece[..LENGTH].copy_from_slice(&length);
            piece[LENGTH..][..message.len()].copy_from_slice(message);
            self.stream.send(&piece[..LENGTH + message.len()])
        } else {
            self.stream.send_vectored(&[IoSlice::new(&length), IoSlice::new(message)])
        };
        self.failed |= sent.is_err();
        let sent = sent.unwrap_or(0);
        if sent > 0
            && let Some(numbers) = &mut self.numbers
        {
            numbers.stated = numbers.next;
        }
        sent
    }

    /// Sends a batch of queued messages. False if the connection did not accept all of it.
    fn send_batch(&mut self) -> bool {
        if !self.queue.is_partly_sent() {
            if let Some(to) = self.gap() {
                self.state_skip(to);
            }
            self.put_statements();
        }
        let mut slices: [IoSlice<'_>; 2 * BATCH] = std::array::from_fn(|_| IoSlice::new(&[]));
        let (mut count, mut offered) = (0, 0);
        // A message that is begun is completed before the statement about those dropped behind it.
        let most = if self.gap().is_some() { 1 } else { self.until_statement().min(BATCH) };
        for (place, bytes) in slices.iter_mut().zip(self.queue.slices(most)) {
            *place = IoSlice::new(bytes);
            offered += bytes.len();
            count += 1;
        }
        let sent = match &slices[..count] {
            [one] => self.stream.send(one),
            many => self.stream.send_vectored(many),
        };
        self.failed |= sent.is_err();
        let sent = sent.unwrap_or(0);
        self.note_sent(sent);
        sent == offered
    }

    fn note_sent(&mut self, sent: usize) {
        let has_gap = self.gap().is_some();
        let preamble = self.queue.preamble_left();
        let completed = self.queue.advance(sent);
        // Headers and statements do not count as messages.
        self.stats.count(completed, (sent - (preamble - self.queue.preamble_left())) as u64);
        let unsent = self.queue.unsent() as u64;
        if let Some(numbers) = self.numbers.as_mut().filter(|_| !has_gap) {
            numbers.stated = numbers.next - unsent;
        }
    }
}
