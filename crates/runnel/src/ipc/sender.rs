//! Sending side of an IPC connection: records and packets for one peer, from any thread.

mod lending;
mod teardown;

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_delivery::Statement;
use runnel_io::memory::ForeignWords;
use runnel_io::unix::Packets;
use runnel_io::{Ringer, Token};

use super::announced_segments::AnnouncedSegments;
use super::loans::Loans;
use super::outbox::{Inbox, LOANS, Outbox, RING};
use super::pool::Pool;
use super::record::{self, kind};
use super::returns::ReturnReader;
use super::ring::RingWriter;
use super::sleep_flag::NotifiedEpoch;
use crate::frame::{Frame, Payload};
use crate::sync::{Class, Mutex, lock};
use lending::LendResult;
use teardown::Unread;
pub(crate) use teardown::{UnreadSample, UnreadSamples};

/// Messages of up to this length are sent in one record.
const ONE_PIECE: usize = 16 * 1024;

/// Longer messages always use a slot. In the ring such a message would fill it, possibly several times, and each time
/// wait until the reader has woken up: a reader that has fallen behind would stay behind.
const MOST_IN_RING: usize = RING * 4;

/// Fault of a peer whose reported position is ahead of the writer, or behind an earlier one.
const BAD_POSITION: &str = "it reported an impossible position in shared memory";

/// See the module's documentation.
pub(crate) struct Sender {
    outbox: Arc<Outbox>,
    inbox: Arc<Inbox>,
    /// The page with the peer's sleep flag.
    page: ForeignWords,
    doorbell: Ringer,
    /// Wakes this process's own driver.
    own_doorbell: Arc<Ringer>,
    packets: Arc<Packets>,
    /// Has the quota of lent slots.
    pool: Arc<Pool>,
    state: Mutex<State>,
}

struct State {
    ring: RingWriter,
    notified: NotifiedEpoch,
    returns: ReturnReader,
    loans: Loans,
    announced: AnnouncedSegments,
    channels: Channels,
    /// Links that wait, for free space or for the peer to map the segment of this number.
    waiting: Vec<(Token, Option<u32>)>,
    /// Index of the link that was notified first.
    first: usize,
    /// Channels whose close record did not fit.
    closing: VecDeque<u32>,
    /// Why nothing more is sent.
    over: Option<&'static str>,
    /// Once the IPC connection has ended on this side: what the peer has not read.
    unread: Unread,
}

/// What a link records about the messages that it sent on an IPC connection.
#[derive(Default)]
pub(crate) struct Tally {
    /// Messages copied because the peer had reached its quota.
    pub(crate) shm_copies: u64,
    /// The segment of the next message, if the peer has yet to map it.
    pub(crate) awaits: Option<u32>,
    /// Whether the last message was copied into more than one record.
    pub(crate) in_pieces: bool,
}

/// Numbers of channels.
#[derive(Default)]
struct Channels {
    last: u32,
    free: Vec<u32>,
}

impl Sender {
    pub(crate) fn new(
        (outbox, inbox): (Arc<Outbox>, Arc<Inbox>),
        page: ForeignWords,
        (doorbell, own_doorbell): (Ringer, Arc<Ringer>),
        packets: Arc<Packets>,
        pool: Arc<Pool>,
    ) -> Self {
        let state = State {
            ring: RingWriter::new(RING),
            notified: NotifiedEpoch::default(),
            returns: ReturnReader::new(LOANS),
            loans: Loans::default(),
            announced: AnnouncedSegments::default(),
            channels: Channels::default(),
            waiting: Vec::new(),
            first: 0,
            closing: VecDeque::new(),
            over: None,
            unread: Unread::default(),
        };
        let state = Mutex::new(Class::IpcSender, state);
        Self { outbox, inbox, page, doorbell, own_doorbell, packets, pool, state }
    }

    /// Sends the rest of a sample of which `sent` bytes are sent. Returns the number of bytes sent now; `None` if the
    /// sample cannot begin now.
    pub(crate) fn send_sample(
        &self,
        (channel, number): (u32, u64),
        frame: &Frame,
        sent: usize,
        tally: &mut Tally,
    ) -> Option<usize> {
        if tally.awaits.is_some_and(|segment| !self.has_mapped(segment)) {
            return None;
        }
        tally.awaits = None;
        tally.in_pieces = true;
        if sent > 0 {
            return Some(self.send_pieces(&mut lock(&self.state), channel, &frame.as_ref()[sent..]));
        }
        let lifted = self.copy_to_slot(frame);
        let frame = lifted.as_ref().unwrap_or(frame);
        let state = &mut *lock(&self.state);
        let bytes = frame.as_ref();
        let outcome = match frame.payload() {
            Payload::Slot(slot) => self.lend(state, (channel, number), slot),
            Payload::Own(_) => LendResult::NotShared,
        };
        tally.in_pieces = outcome != LendResult::Lent && bytes.len() > ONE_PIECE;
        match outcome {
            LendResult::Lent => return Some(bytes.len()),
            LendResult::RingFull => return None,
            LendResult::Unmapped(segment) => {
                tally.awaits = Some(segment);
                return None;
            }
            LendResult::OverQuota | LendResult::NotShared => {}
        }
        let sent = self.send_copy(state, (channel, number), bytes);
        tally.shm_copies += u64::from(outcome == LendResult::OverQuota && sent.is_some());
        sent
    }

    /// Sends a sample in the ring. Returns the number of bytes sent; `None` if the sample cannot begin now.
    fn send_copy(&self, state: &mut State, (channel, number): (u32, u64), bytes: &[u8]) -> Option<usize> {
        let number = number.to_le_bytes();
        if bytes.len() <= ONE_PIECE {
            return self.push(state, (kind::SAMPLE, channel), &[&number, bytes]).then_some(bytes.len());
        }
        let (first, rest) = bytes.split_at(ONE_PIECE);
        let len = (bytes.len() as u64).to_le_bytes();
        let begins = self.push(state, (kind::SAMPLE_BEGIN, channel), &[&number, &len, first]);
        begins.then(|| first.len() + self.send_pieces(state, channel, rest))
    }

    /// Sends bytes of a link's stream. Returns how many.
    pub(crate) fn send_bytes(&self, channel: u32, bytes: &[u8]) -> usize {
        self.send_pieces(&mut lock(&self.state), channel, bytes)
    }

    fn send_pieces(&self, state: &mut State, channel: u32, bytes: &[u8]) -> usize {
        let mut sent = 0;
        for piece in bytes.chunks(ONE_PIECE) {
            if !self.push(state, (kind::BYTES, channel), &[piece]) {
                break;
            }
            sent += piece.len();
        }
        sent
    }

    /// Appends a record and wakes the peer. False if it does not fit; the peer then notifies of free space.
    fn push(&self, state: &mut State, (kind, channel): (u8, u32), parts: &[&[u8]]) -> bool {
        if state.over.is_some() {
            return false;
        }
        let mut pushed =
            state.ring.push(self.outbox.ring(), (kind, channel), parts, || self.inbox.position());
        if pushed == Ok(false) {
            self.outbox.request_space();
            // The peer may have read meanwhile, before it saw the request.
            pushed = state.ring.push(self.outbox.ring(), (kind, channel), parts, || self.inbox.position());
        }
        match pushed {
            Ok(true) => {
                if state.notified.should_ring(&self.page) {
                    self.doorbell.ring();
                }
                true
            }
            Ok(false) => false,
            Err(_) => {
                self.end(state, BAD_POSITION);
                false
            }
        }
    }

    /// Requests that the peer sends what the link of this token carries on this IPC connection. False if the record
    /// does not fit.
    pub(crate) fn ask(&self, token: u128) -> bool {
        let words = record::bytes(record::token_words(token));
        self.push(&mut lock(&self.state), (kind::ASK, 0), &[&words])
    }

    /// Requests that the peer sends the samples of the pair of this token on this IPC connection. With
    /// `waits_for_user`, the writer waits for the reader's user. False if the record does not fit.
    pub(crate) fn ask_samples(&self, token: u128, waits_for_user: bool) -> bool {
        let [low, high] = record::token_words(token);
        let words = record::bytes([low, high, u64::from(waits_for_user)]);
        self.push(&mut lock(&self.state), (kind::ASK_SAMPLES, 0), &[&words])
    }

    /// Reports the position of a pair's reader by a Reached. False if the record does not fit.
    pub(crate) fn report_reached(&self, token: u128, reached: &Statement) -> bool {
        let words = record::bytes(record::token_words(token));
        self.push(&mut lock(&self.state), (kind::REACHED, 0), &[&words, &reached.encode()])
    }

    /// Sends a Skip of the pair of a channel. False if the record does not fit.
    pub(crate) fn send_statement(&self, channel: u32, skip: &Statement) -> bool {
        self.push(&mut lock(&self.state), (kind::SKIP, channel), &[&skip.encode()])
    }

    /// Opens a channel for the service link of this token, which has sent `before` bytes of its stream over the
    /// network. `None` if the record does not fit.
    pub(crate) fn open(&self, token: u128, before: u64) -> Option<u32> {
        self.open_as(kind::OPEN, token, before, &[])
    }

    /// Opens a channel for the pair of this token, which continues as the Begin says. The network has delivered all
    /// samples before `first_unacknowledged`. `None` if the record does not fit.
    pub(crate) fn open_samples(
        &self,
        token: u128,
        first_unacknowledged: u64,
        begin: &Statement,
    ) -> Option<u32> {
        self.open_as(kind::OPEN_SAMPLES, token, first_unacknowledged, &begin.encode())
    }

    fn open_as(&self, kind: u8, token: u128, before: u64, statement: &[u8]) -> Option<u32> {
        let state = &mut *lock(&self.state);
        let [low, high] = record::token_words(token);
        self.close_pending(state);
        let channel = state.channels.take()?;
        let words = record::bytes([low, high, before]);
        let opened = self.push(state, (kind, channel), &[&words, statement]);
        if !opened {
            state.channels.free.push(channel);
        }
        opened.then_some(channel)
    }

    /// Closes a channel.
    pub(crate) fn close(&self, channel: u32) {
        let state = &mut *lock(&self.state);
        state.closing.push_back(channel);
        self.close_pending(state);
        self.reclaim(state);
    }

    fn close_pending(&self, state: &mut State) {
        while let Some(channel) = state.closing.front().copied() {
            if !self.push(state, (kind::CLOSE, channel), &[]) {
                return;
            }
            state.closing.pop_front();
            state.channels.free.push(channel);
        }
    }

    /// Has the driver notified when this link can continue: when there is free space, or when the peer has mapped the
    /// segment of its next message.
    pub(crate) fn wait(&self, link: Token, tally: &Tally) {
        let state = &mut *lock(&self.state);
        match state.waiting.iter_mut().find(|(waiting, _)| *waiting == link) {
            Some((_, awaits)) => *awaits = tally.awaits,
            None => state.waiting.push((link, tally.awaits)),
        }
        // The peer may have notified before this link waited.
        if self.can_go_on(state, tally.awaits) {
            self.own_doorbell.ring();
        }
    }

    fn can_go_on(&self, state: &mut State, awaits: Option<u32>) -> bool {
        awaits.map_or_else(|| self.has_capacity(state), |segment| self.has_mapped(segment))
    }

    /// Takes the waiting links that can continue.
    pub(crate) fn ready_links(&self) -> Vec<Token> {
        let state = &mut *lock(&self.state);
        self.close_pending(state);
        self.reclaim(state);
        if state.waiting.is_empty() {
            return Vec::new();
        }
        let has_capacity =
            state.waiting.iter().any(|(_, awaits)| awaits.is_none()) && self.has_capacity(state);
        let can_go_on = |awaits: Option<u32>| awaits.map_or(has_capacity, |segment| self.has_mapped(segment));
        let ready = state.waiting.extract_if(.., |(_, awaits)| can_go_on(*awaits));
        let mut ready: Vec<Token> = ready.map(|(link, _)| link).collect();
        if !ready.is_empty() {
            // Each link is first in turn, since the first may use up the free space.
            state.first = (state.first + 1) % ready.len();
            ready.rotate_left(state.first);
        }
        ready
    }

    /// Whether there is enough free space to continue. If not, the peer notifies once it has read more.
    fn has_capacity(&self, state: &mut State) -> bool {
        self.outbox.request_space();
        match state.ring.available(|| self.inbox.position()) {
            Ok(available) => available >= ONE_PIECE,
            Err(_) => {
                self.end(state, BAD_POSITION);
                false
            }
        }
    }

    /// The position in the ring behind everything sent until now.
    pub(crate) fn written(&self) -> u64 {
        lock(&self.state).ring.written()
    }

    /// The position that the peer has reported.
    pub(crate) fn read_position(&self) -> u64 {
        self.inbox.position()
    }

    /// Whether the peer has read up to a position. If not, it rings when it has read more.
    pub(crate) fn is_read(&self, written: u64) -> bool {
        let has_read = || self.inbox.position() >= written;
        if has_read() {
            return true;
        }
        self.outbox.request_space();
        // The peer may have reported meanwhile, before it saw the request.
        has_read()
    }

    /// Wakes this process's driver to handle what waits for this IPC connection.
    pub(crate) fn wake_driver(&self) {
        self.own_doorbell.ring();
    }

    /// Wakes the peer, which waits for free space or for segments to be mapped.
    pub(crate) fn ring(&self) {
        self.doorbell.ring();
    }

    /// True if a fault of the peer has ended the IPC connection.
    pub(crate) fn is_over(&self) -> bool {
        lock(&self.state).over.is_some()
    }
}

impl Channels {
    /// A number that no channel has.
    fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            self.last = self.last.checked_add(1).filter(|number| number >> 16 == 0)?;
            Some(self.last)
        })
    }
}
