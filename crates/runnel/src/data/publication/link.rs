//! One subscriber of a publication: what it is sent, and what waits for it.

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
use super::numbers::Numbers;
use crate::frame::{Frame, Payload, QueueBound};
use crate::ipc::Sender;

/// Messages given to the kernel in one call.
const BATCH: usize = 64;

/// A message of up to so many bytes is copied behind its length: one piece is sent faster than two.
const ONE_PIECE: usize = 252;
/// Statements that wait for a subscriber at most, which can have them made without end.
pub(super) const MOST_STATEMENTS: usize = 4096;

/// See the module's documentation. What each message touches comes first.
#[repr(C)]
pub(super) struct Link {
    queue: SendQueue<Frame>,
    /// Sending failed; the reactor will tell the driver of the end.
    failed: bool,
    /// The reactor tells when the connection takes more.
    watched: bool,
    /// The messages go by memory meanwhile, and what the connection had begun ends there.
    memory: Option<Box<MemoryPath>>,
    /// If both ends understand statements.
    numbers: Option<Numbers>,
    /// If the subscriber's node is in both graphs.
    pub(super) shared: Option<Box<SharedLinkSender>>,
    stream: Arc<Stream>,
    stats: Arc<LinkStats>,
    pub(super) conn: ConnId,
    token: Token,
    /// The session that the link goes over to once the connection has sent our header.
    wanted: Option<Arc<Sender>>,
    /// How much it may hold, apart from what is sent again, which is under way to the queue.
    usual: QueueBound,
    pub(super) resends: bool,
    /// Messages that were copied for want of memory that the subscriber's process may hold.
    copied: u64,
    pub(super) subscriber: String,
    /// By what the subscriber's node is known in both graphs, if it is in both, and where it is.
    pub(super) origin: Option<u64>,
    pub(super) address: Option<IpAddr>,
}

impl Link {
    /// A link that stands, on which `unsent` is still to go of our header.
    pub(super) fn new(
        link: SubscriberLink,
        (token, stream, address): (Token, Arc<Stream>, IpAddr),
        unsent: Vec<u8>,
        bound: QueueBound,
    ) -> Self {
        let address = Some(address.to_canonical());
        let SubscriberLink { conn, subscriber, origin, stats, delivery, .. } = link;
        Self {
            queue: SendQueue::with_preamble(unsent, bound),
            failed: false,
            watched: false,
            memory: None,
            numbers: delivery.map(Numbers::new),
            shared: origin.map(|_| Box::default()),
            address,
            stream,
            stats,
            conn,
            token,
            wanted: None,
            usual: bound,
            resends: false,
            copied: 0,
            subscriber,
            origin,
        }
    }

    /// Sends a frame at once if nothing waits, and otherwise lets it wait; how many were dropped for it.
    pub(super) fn offer(&mut self, reactor: &Reactor, frame: &Frame) -> u64 {
        if self.failed {
            return 0;
        }
        if self.memory.is_none() {
            self.flush_if_waiting(reactor);
        }
        // Not before what waits was sent, whose numbers are counted from the last.
        let number = self.numbers.as_mut().map_or(0, Numbers::take);
        if let Some(memory) = &mut self.memory {
            let dropped = memory.offer(number, frame);
            self.stats.count_dropped(dropped);
            return dropped;
        }
        let sent = if self.queue.is_empty() { self.send(frame) } else { 0 };
        if sent == LENGTH + frame.as_ref().len() {
            self.stats.count(1, sent as u64);
        } else if !self.failed {
            return self.wait_in_line(reactor, frame, sent);
        }
        0
    }

    /// A message is dropped.
    pub(super) fn leave_out(&self) {
        self.stats.count_dropped(1);
    }

    /// Whether both ends understand statements.
    pub(super) fn has_statements(&self) -> bool {
        self.numbers.is_some()
    }

    /// States something of the subscriptions that share the link, behind all messages so far.
    pub(super) fn state(&mut self, reactor: &Reactor, statement: Statement) {
        let Some(numbers) = self.numbers.as_mut().filter(|_| !self.failed) else { return };
        let statements = match &mut self.memory {
            Some(memory) => &mut memory.statements,
            None => &mut numbers.statements,
        };
        statements.push_back((numbers.next, statement));
        if statements.len() > MOST_STATEMENTS {
            // It does not read what it asks for. The reactor tells of its end.
            self.failed = true;
            let _ = self.stream.shutdown();
        }
        self.flush(reactor);
    }

    fn has_statements_waiting(&self) -> bool {
        self.numbers.as_ref().is_some_and(|numbers| !numbers.statements.is_empty())
    }

    fn wait_in_line(&mut self, reactor: &Reactor, frame: &Frame, sent: usize) -> u64 {
        // A subscriber that does not take its messages is not to take the slots of others with them.
        let copies = self.queue.len() >= WAITING_SLOTS && matches!(frame.payload(), Payload::Slot(_));
        self.copied += u64::from(copies);
        let dropped = self.queue.push(if copies { frame.to_own() } else { frame.clone() }, sent);
        self.stats.count_dropped(dropped);
        self.watch(reactor, true);
        dropped
    }

    /// Sends what waits, as far as it is taken.
    pub(super) fn flush(&mut self, reactor: &Reactor) {
        if let Some(memory) = &mut self.memory {
            memory.flush();
        }
        while (!self.queue.is_empty() || self.has_statements_waiting()) && !self.failed && self.send_batch() {
        }
        self.watch(reactor, !self.queue.is_empty());
        if self.queue.bound() != self.usual && self.waiting() == 0 && !self.resends {
            self.widen_to(self.usual);
        }
        if self.queue.preamble_left() == 0
            && !self.has_statements_waiting()
            && let Some(sender) = self.wanted.take()
        {
            sender.wake_driver();
        }
    }

    /// The same, with no system call if nothing does.
    pub(super) fn flush_if_waiting(&mut self, reactor: &Reactor) {
        let memory_waits = self.memory.as_ref().is_some_and(|memory| !memory.is_sent());
        if !self.queue.is_empty() || memory_waits || self.has_statements_waiting() {
            self.flush(reactor);
        }
    }

    /// Has the reactor tell when the connection takes more, or no longer.
    fn watch(&mut self, reactor: &Reactor, watch: bool) {
        if !self.failed && self.watched != watch {
            self.watched = watch;
            let interest = if watch { Interest::Both } else { Interest::Read };
            self.failed = reactor.modify(&*self.stream, self.token, interest).is_err();
        }
    }

    /// Whether messages can be lent to the subscriber.
    pub(super) fn is_channel(&self) -> bool {
        self.memory.is_some()
    }

    /// Has the subscriber's process map memory of which it may be lent messages later; false until it has.
    pub(super) fn give(&self, segments: &[Arc<Segment>]) -> bool {
        self.memory.as_ref().is_none_or(|memory| memory.session().give(segments))
    }

    /// Takes back the memory of messages that the subscriber has read.
    pub(super) fn take_back(&self) {
        self.memory.iter().for_each(|memory| memory.session().take_back_slots());
    }

    /// Messages that were copied because the subscriber's process holds as much as it may.
    pub(super) fn copied(&self) -> u64 {
        self.copied + self.memory.as_ref().map_or(0, |memory| memory.copied())
    }

    /// Of what is sent again it may hold more.
    pub(super) fn set_bound(&mut self, bound: QueueBound) {
        self.usual = bound;
        self.widen_to(bound);
    }

    /// How much it may hold, apart from what is sent again.
    pub(super) fn bound(&self) -> QueueBound {
        self.usual
    }

    /// It may hold so much until nothing waits.
    pub(super) fn widen_to(&mut self, bound: QueueBound) {
        self.queue.set_bound(bound);
        self.memory.iter_mut().for_each(|memory| memory.set_bound(bound));
    }

    /// What waits.
    pub(super) fn waiting_bound(&self) -> QueueBound {
        let in_memory = self.memory.as_ref().map_or(0, |memory| memory.waiting_bytes());
        QueueBound { messages: self.waiting(), bytes: self.queue.bytes() + in_memory }
    }

    /// The number of the next message; 0 if they are not counted.
    pub(super) fn next_number(&self) -> u64 {
        self.numbers.as_ref().map_or(0, |numbers| numbers.next)
    }

    /// Messages that wait.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + self.memory.as_ref().map_or(0, |memory| memory.waiting())
    }

    /// Whether one more message of so many bytes would push out another.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        let is_full = |memory: &MemoryPath| memory.is_full(bytes);
        !self.failed && self.memory.as_deref().map_or_else(|| self.queue.is_full(bytes), is_full)
    }

    /// True if nothing waits that could still go.
    pub(super) fn is_flushed(&self) -> bool {
        let is_sent = self.memory.as_ref().is_none_or(|memory| memory.is_sent());
        self.failed || self.queue.is_empty() && is_sent
    }

    /// The number of the first message that waits whole for the connection, or of the next one.
    fn first_unsent(&self, numbers: &Numbers) -> u64 {
        numbers.next - self.queue.unsent() as u64
    }

    /// The number of the next message that the connection takes, if messages were dropped before it of which the subscriber is
    /// still to be told.
    fn gap(&self) -> Option<u64> {
        let numbers = self.numbers.as_ref().filter(|_| self.memory.is_none())?;
        let next = self.first_unsent(numbers);
        (numbers.stated < next).then_some(next)
    }

    /// States that none before this number is still to come by the connection, behind a message that it has begun.
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

    /// Puts what is to be stated before the next message in front of it.
    fn put_statements(&mut self) {
        let Some(next) = self.numbers.as_ref().map(|numbers| self.first_unsent(numbers)) else { return };
        let due = self.numbers.as_mut().map(|numbers| numbers.due_statements(next)).unwrap_or_default();
        if !due.is_empty() && self.queue.insert_preamble(&due).is_err() {
            self.failed = true;
        }
    }

    /// How many messages of the queue go before something is to be stated.
    fn until_statement(&self) -> usize {
        let Some(numbers) = &self.numbers else { return BATCH };
        let Some((at, _)) = numbers.statements.front() else { return BATCH };
        let messages = at.saturating_sub(self.first_unsent(numbers)) as usize;
        messages + (self.queue.len() - self.queue.unsent())
    }

    /// Sends a message behind its length, as far as the two are taken; how many bytes.
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

    /// Sends many of those that wait at once. False if not all of them were taken.
    fn send_batch(&mut self) -> bool {
        if !self.queue.is_partly_sent() {
            if let Some(to) = self.gap() {
                self.state_skip(to);
            }
            self.put_statements();
        }
        let mut slices: [IoSlice<'_>; 2 * BATCH] = std::array::from_fn(|_| IoSlice::new(&[]));
        let (mut count, mut offered) = (0, 0);
        // What is begun goes before what tells of those that were dropped behind it.
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
        // A header and what is stated are none of the messages.
        self.stats.count(completed, (sent - (preamble - self.queue.preamble_left())) as u64);
        let unsent = self.queue.unsent() as u64;
        if let Some(numbers) = self.numbers.as_mut().filter(|_| !has_gap) {
            numbers.stated = numbers.next - unsent;
        }
    }
}
