//! The sending side of a session: what this process has for one peer, from whichever thread.

mod ending;
mod lending;

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_delivery::Statement;
use runnel_io::memory::ForeignWords;
use runnel_io::unix::Packets;
use runnel_io::{Ringer, Token};

use super::awake::Rung;
use super::given::Given;
use super::loans::Loans;
use super::outbox::{Inbox, LOANS, Outbox, RING};
use super::pool::Pool;
use super::record::{self, kind};
use super::returns::ReturnReader;
use super::ring::RingWriter;
use crate::frame::{Frame, Payload};
use crate::sync::{Class, Mutex, lock};
pub(crate) use ending::{Unread, UnreadSample};
use lending::Offered;

/// A message up to so many bytes goes into the ring in one piece.
const ONE_PIECE: usize = 16 * 1024;

/// A message of more bytes than this goes by a slot, wherever it lies: it would fill the ring, and if it is long do so again
/// and again, each time until the reader has woken up, so that one that has fallen behind would stay so.
const MOST_IN_RING: usize = RING * 4;

/// What a peer did that has read what was not written, or has not read what it had read.
const BAD_POSITION: &str = "it told a position in shared memory that cannot be";

/// See the module's documentation.
pub(crate) struct Sender {
    outbox: Arc<Outbox>,
    inbox: Arc<Inbox>,
    /// Whether the peer sleeps.
    page: ForeignWords,
    bell: Ringer,
    /// Wakes this process's own driver.
    own_bell: Arc<Ringer>,
    packets: Arc<Packets>,
    /// Tells how much may be lent.
    pool: Arc<Pool>,
    state: Mutex<State>,
}

struct State {
    ring: RingWriter,
    rung: Rung,
    returns: ReturnReader,
    loans: Loans,
    given: Given,
    channels: Channels,
    /// Links that wait, for room or for the peer to map the segment of that number.
    waiting: Vec<(Token, Option<u32>)>,
    /// Which of them was told first.
    turn: usize,
    /// Channels that could not be closed for want of room.
    closing: VecDeque<u32>,
    /// Why nothing more is sent.
    over: Option<&'static str>,
}

/// What a link keeps of the messages that it sent by a session.
#[derive(Default)]
pub(crate) struct Tally {
    /// Those that were copied because the peer holds as much as it may.
    pub(crate) copied: u64,
    /// The segment of the session that the next one lies in, if that is still to be mapped.
    pub(crate) awaits: Option<u32>,
    /// Whether the last one was copied into more than one record.
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
        (bell, own_bell): (Ringer, Arc<Ringer>),
        packets: Arc<Packets>,
        pool: Arc<Pool>,
    ) -> Self {
        let state = State {
            ring: RingWriter::new(RING),
            rung: Rung::default(),
            returns: ReturnReader::new(LOANS),
            loans: Loans::default(),
            given: Given::default(),
            channels: Channels::default(),
            waiting: Vec::new(),
            turn: 0,
            closing: VecDeque::new(),
            over: None,
        };
        let state = Mutex::new(Class::IpcSender, state);
        Self { outbox, inbox, page, bell, own_bell, packets, pool, state }
    }

    /// Sends what is left of a sample of which `sent` bytes are sent; how many bytes that was. `None` if the sample does not
    /// begin now.
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
        let lifted = self.lift(frame);
        let frame = lifted.as_ref().unwrap_or(frame);
        let state = &mut *lock(&self.state);
        let bytes = frame.as_ref();
        let offered = match frame.payload() {
            Payload::Slot(slot) => self.lend(state, (channel, number), slot),
            Payload::Own(_) => Offered::NotShared,
        };
        tally.in_pieces = offered != Offered::Lent && bytes.len() > ONE_PIECE;
        match offered {
            Offered::Lent => return Some(bytes.len()),
            Offered::NoRoom => return None,
            Offered::Unmapped(segment) => {
                tally.awaits = Some(segment);
                return None;
            }
            Offered::TooMuch | Offered::NotShared => {}
        }
        let sent = self.send_copy(state, (channel, number), bytes);
        tally.copied += u64::from(offered == Offered::TooMuch && sent.is_some());
        sent
    }

    /// Sends a sample in the ring; how many bytes of it. `None` if it does not begin now.
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

    /// Sends bytes of a link's stream; how many.
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

    /// Appends a record and wakes the peer; false if there is no room, of which the peer will then tell.
    fn push(&self, state: &mut State, (kind, channel): (u8, u32), parts: &[&[u8]]) -> bool {
        if state.over.is_some() {
            return false;
        }
        let mut pushed =
            state.ring.push(self.outbox.ring(), (kind, channel), parts, || self.inbox.position());
        if pushed == Ok(false) {
            self.outbox.ask_for_room();
            // There may be room since, of which nobody would tell.
            pushed = state.ring.push(self.outbox.ring(), (kind, channel), parts, || self.inbox.position());
        }
        match pushed {
            Ok(true) => {
                if state.rung.should_ring(&self.page) {
                    self.bell.ring();
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

    /// Asks the peer to send what the link of this token carries here; false if there is no room now.
    pub(crate) fn ask(&self, token: u128) -> bool {
        let words = record::bytes(record::token_words(token));
        self.push(&mut lock(&self.state), (kind::ASK, 0), &[&words])
    }

    /// Asks the peer to send the samples of the pair of this token here, and whether it is to wait for the reader's user. False
    /// if there is no room for that now.
    pub(crate) fn ask_samples(&self, token: u128, waits_for_user: bool) -> bool {
        let [low, high] = record::token_words(token);
        let words = record::bytes([low, high, u64::from(waits_for_user)]);
        self.push(&mut lock(&self.state), (kind::ASK_SAMPLES, 0), &[&words])
    }

    /// Tells the peer how far the reader of a pair is, by a Reached; false if there is no room for that now.
    pub(crate) fn tell_reached(&self, token: u128, reached: &Statement) -> bool {
        let words = record::bytes(record::token_words(token));
        self.push(&mut lock(&self.state), (kind::REACHED, 0), &[&words, &reached.encode()])
    }

    /// Sends a Skip of the pair of a channel; false if there is no room for that now.
    pub(crate) fn send_skip(&self, channel: u32, skip: &Statement) -> bool {
        self.push(&mut lock(&self.state), (kind::SKIP, channel), &[&skip.encode()])
    }

    /// Opens a channel for the service's link of this token, of whose stream `before` bytes went by another way. `None` if there is
    /// no room now.
    pub(crate) fn open(&self, token: u128, before: u64) -> Option<u32> {
        self.open_as(kind::OPEN, token, before, &[])
    }

    /// Opens a channel for the pair of this token, likewise, which goes on as a Begin says. The network has brought all before
    /// `first_unacknowledged`.
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
        self.close_closing(state);
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
        self.close_closing(state);
        self.take_back(state);
    }

    fn close_closing(&self, state: &mut State) {
        while let Some(channel) = state.closing.front().copied() {
            if !self.push(state, (kind::CLOSE, channel), &[]) {
                return;
            }
            state.closing.pop_front();
            state.channels.free.push(channel);
        }
    }

    /// Has the driver told of this link when it can go on: when there is room, or the memory that its next message lies in is
    /// mapped.
    pub(crate) fn wait(&self, link: Token, tally: &Tally) {
        let state = &mut *lock(&self.state);
        match state.waiting.iter_mut().find(|(waiting, _)| *waiting == link) {
            Some((_, awaits)) => *awaits = tally.awaits,
            None => state.waiting.push((link, tally.awaits)),
        }
        // The peer may have told before anybody waited for it.
        if self.can_go_on(state, tally.awaits) {
            self.own_bell.ring();
        }
    }

    fn can_go_on(&self, state: &mut State, awaits: Option<u32>) -> bool {
        awaits.map_or_else(|| self.has_room(state), |segment| self.has_mapped(segment))
    }

    /// The links that waited and can go on.
    pub(crate) fn ready_links(&self) -> Vec<Token> {
        let state = &mut *lock(&self.state);
        self.close_closing(state);
        self.take_back(state);
        if state.waiting.is_empty() {
            return Vec::new();
        }
        let has_room = state.waiting.iter().any(|(_, awaits)| awaits.is_none()) && self.has_room(state);
        let can_go_on = |awaits: Option<u32>| awaits.map_or(has_room, |segment| self.has_mapped(segment));
        let ready = state.waiting.extract_if(.., |(_, awaits)| can_go_on(*awaits));
        let mut ready: Vec<Token> = ready.map(|(link, _)| link).collect();
        if !ready.is_empty() {
            // Each is the first once, who may take all the room.
            state.turn = (state.turn + 1) % ready.len();
            ready.rotate_left(state.turn);
        }
        ready
    }

    /// Whether there is room worth going on for. If not, the peer will tell once it has read more.
    fn has_room(&self, state: &mut State) -> bool {
        self.outbox.ask_for_room();
        match state.ring.room(|| self.inbox.position()) {
            Ok(room) => room >= ONE_PIECE,
            Err(_) => {
                self.end(state, BAD_POSITION);
                false
            }
        }
    }

    /// Where in the ring all ends that was sent so far.
    pub(crate) fn written(&self) -> u64 {
        lock(&self.state).ring.written()
    }

    /// Up to where the peer says that it has read the ring.
    pub(crate) fn read_position(&self) -> u64 {
        self.inbox.position()
    }

    /// Whether the peer has read so far. If not, it rings when it has read more.
    pub(crate) fn is_read(&self, written: u64) -> bool {
        let has_read = || self.inbox.position() >= written;
        if has_read() {
            return true;
        }
        self.outbox.ask_for_room();
        // It may have told since, before it was asked.
        has_read()
    }

    /// Has the driver look after what waits for this session.
    pub(crate) fn wake_driver(&self) {
        self.own_bell.ring();
    }

    /// Wakes the peer, which waits for room, or for segments to be mapped.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    /// True if the peer did what ends the session.
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
