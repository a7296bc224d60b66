//! The sending side of a session: what this process has for one peer, from whichever thread.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use litemap::LiteMap;
use runnel_io::memory::Foreign;
use runnel_io::segment::{Segment, Slot};
use runnel_io::unix::Packets;
use runnel_io::{Bell, Token};
use runnel_ros1::tcpros::LENGTH;

use super::awake::Rung;
use super::doorbell::Doorbell;
use super::frame::Frame;
use super::given::Given;
use super::loans::Loans;
use super::outbox::{Inbox, LOANS, Outbox, RING};
use super::pool::Pool;
use super::record::{self, Lending, kind};
use super::returns::ReturnReader;
use super::ring::{RingReader, RingWriter};
use crate::sync::lock;

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
    page: Foreign,
    bell: Doorbell,
    /// Wakes this process's own driver.
    own_bell: Arc<Bell>,
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
}

/// What a segment is to the peer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It has mapped it under this number.
    Mapped(u32),
    /// It was given to it under this number, and is still to be mapped: then the peer rings.
    Coming(u32),
    /// It cannot be given to it, now or at all.
    Not,
}

/// What became of an attempt to lend a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offered {
    Lent,
    /// The ring is full.
    NoRoom,
    /// The memory of a message that is too long for the ring is still to be mapped.
    Unmapped(u32),
    /// The peer has as much as it may.
    TooMuch,
    /// The message has no slot, or the peer cannot read it there.
    NotShared,
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
        page: Foreign,
        (bell, own_bell): (Doorbell, Arc<Bell>),
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
        Self { outbox, inbox, page, bell, own_bell, packets, pool, state: Mutex::new(state) }
    }

    /// Sends what is left of a message of which `sent` bytes are sent; how many bytes that was.
    pub(crate) fn send_frame(&self, channel: u32, frame: &Frame, sent: usize, tally: &mut Tally) -> usize {
        if tally.awaits.is_some_and(|segment| !self.has_mapped(segment)) {
            return 0;
        }
        tally.awaits = None;
        if sent > 0 {
            return self.send_pieces(&mut lock(&self.state), channel, &frame.as_ref()[sent..]);
        }
        let lifted = self.lift(frame);
        let frame = lifted.as_ref().unwrap_or(frame);
        let state = &mut *lock(&self.state);
        let bytes = frame.as_ref();
        let offered = match frame {
            Frame::Slot(slot) => self.lend(state, channel, slot),
            Frame::Own(_) => Offered::NotShared,
        };
        match offered {
            Offered::Lent => return bytes.len(),
            Offered::NoRoom => return 0,
            Offered::Unmapped(segment) => {
                tally.awaits = Some(segment);
                return 0;
            }
            Offered::TooMuch | Offered::NotShared => {}
        }
        let sent = self.send_copy(state, channel, bytes);
        tally.copied += u64::from(offered == Offered::TooMuch && sent > 0);
        sent
    }

    /// The same message in memory that can be lent, if it lies elsewhere and is too long for the ring, and the peer may have
    /// it.
    fn lift(&self, frame: &Frame) -> Option<Frame> {
        let Frame::Own(bytes) = frame else { return None };
        if bytes.len() <= MOST_IN_RING || !self.may_lend(bytes.len()) {
            return None;
        }
        let mut slot = self.pool.take(bytes.len())?;
        slot[..bytes.len()].copy_from_slice(bytes);
        Some(Frame::Slot(slot.freeze(bytes.len())))
    }

    fn may_lend(&self, bytes: usize) -> bool {
        let state = &mut *lock(&self.state);
        self.take_back_returned(state);
        let (_, full) = self.inbox.mapped();
        // Without room for its record, it would be copied in vain.
        let has_room = state.ring.room(|| self.inbox.position()).is_ok_and(|room| room >= ONE_PIECE);
        !full && has_room && state.loans.has_room(bytes, self.pool.share())
    }

    /// Whether the peer has mapped a segment, or says that it maps no more.
    fn has_mapped(&self, segment: u32) -> bool {
        let (mapped, full) = self.inbox.mapped();
        full || u64::from(segment) < mapped
    }

    /// Sends a message in the ring; how many bytes of it.
    fn send_copy(&self, state: &mut State, channel: u32, bytes: &[u8]) -> usize {
        if bytes.len() > ONE_PIECE {
            return self.send_pieces(state, channel, bytes);
        }
        if self.push(state, (kind::MESSAGE, channel), &[&bytes[LENGTH..]]) { bytes.len() } else { 0 }
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
                if state.rung.should_ring(&self.page.words()) {
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

    /// Lends a slot to the peer, if that can be.
    fn lend(&self, state: &mut State, channel: u32, slot: &Slot) -> Offered {
        self.take_back(state);
        let segment = match self.known(state, slot.segment()) {
            Known::Mapped(number) => number,
            Known::Coming(number) if slot.len() > MOST_IN_RING => return Offered::Unmapped(number),
            Known::Coming(_) | Known::Not => return Offered::NotShared,
        };
        let Some(loan) = state.loans.lend(slot, self.pool.share()) else { return Offered::TooMuch };
        let lending = Lending { segment, loan: loan.into(), slot: slot.index(), len: slot.len() as u32 };
        let [first, second] = lending.to_words().map(u64::to_le_bytes);
        let pushed = self.push(state, (kind::SLOT, channel), &[&first, &second]);
        if !pushed {
            let _ = state.loans.give_back(loan.into());
        }
        if pushed { Offered::Lent } else { Offered::NoRoom }
    }

    /// Takes back what the peer has given back: the next message is best written where the last one was read, which is in
    /// the cache.
    pub(crate) fn take_back_slots(&self) {
        self.take_back_returned(&mut lock(&self.state));
    }

    /// Takes back the slots that the peer has given back, and has it give back segments that are no more.
    fn take_back(&self, state: &mut State) {
        self.take_back_returned(state);
        self.forget_segments(state);
    }

    fn take_back_returned(&self, state: &mut State) {
        while state.over.is_none() {
            match state.returns.next(&self.inbox.returns(), state.loans.count()) {
                Ok(None) => return,
                Ok(Some(loan)) if state.loans.give_back(loan).is_ok() => {}
                Ok(Some(_)) => self.end(state, "it gave back what was not lent to it"),
                Err(_) => self.end(state, "it told of more given back than was lent to it"),
            }
        }
    }

    /// Has the peer map memory of which it may be lent slots later; false until it has. It rings then.
    pub(crate) fn give(&self, segments: &[Arc<Segment>]) -> bool {
        let state = &mut *lock(&self.state);
        let is_mapped = |segment: &&Arc<Segment>| matches!(self.known(state, segment), Known::Mapped(_));
        let mapped = segments.iter().filter(is_mapped).count();
        let (_, full) = self.inbox.mapped();
        mapped == segments.len() || full || state.given.is_full()
    }

    /// What a segment is to the peer. The first time that this is asked, it is given to it.
    fn known(&self, state: &mut State, segment: &Arc<Segment>) -> Known {
        let (mapped, full) = self.inbox.mapped();
        if let Some(number) = state.given.number_of(segment) {
            return match u64::from(number) < mapped {
                true => Known::Mapped(number),
                false if full => Known::Not,
                false => Known::Coming(number),
            };
        }
        self.forget_segments(state);
        // When the socket is full, the next message tries again.
        if !full
            && let Some(gift) = state.given.gift(segment)
            && self.packets.send(&gift.to_bytes(), &[segment.fd()]).unwrap_or(false)
        {
            return Known::Coming(state.given.add(segment));
        }
        Known::Not
    }

    /// Has the peer give back the memory of segments that are no more, if any may have ended since this was done last.
    fn forget_segments(&self, state: &mut State) {
        if state.given.some_ended() {
            // The sessions that nothing is sent by look after theirs, too.
            self.own_bell.ring();
        }
        for number in state.given.take_gone() {
            let (mapped, full) = self.inbox.mapped();
            let is_mapped = u64::from(number) < mapped;
            // One that is still to be mapped would be mapped for good if it were forgotten before that.
            if !is_mapped && !full || is_mapped && !self.tell_gone(state, number) {
                state.given.keep(number);
            }
        }
    }

    /// Tells the peer that a segment is no more; false if there is no room now.
    fn tell_gone(&self, state: &mut State, number: u32) -> bool {
        self.push(state, (kind::FORGET, 0), &[&u64::from(number).to_le_bytes()])
    }

    /// Nothing more is sent; the driver hears of it by the end of the socket.
    fn end(&self, state: &mut State, why: &'static str) {
        state.over = Some(why);
        let _ = self.packets.shutdown();
    }

    /// Asks the peer to send what the link of this token carries here; false if there is no room now.
    pub(crate) fn ask(&self, token: u128) -> bool {
        let words = record::bytes(record::token_words(token));
        self.push(&mut lock(&self.state), (kind::ASK, 0), &[&words])
    }

    /// Opens a channel for the link of this token, of whose stream `before` bytes went by another way. `None` if there is
    /// no room now.
    pub(crate) fn open(&self, token: u128, before: u64) -> Option<u32> {
        let state = &mut *lock(&self.state);
        let [low, high] = record::token_words(token);
        self.close_closing(state);
        let channel = state.channels.take()?;
        let opened = self.push(state, (kind::OPEN, channel), &[&record::bytes([low, high, before])]);
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
    pub(crate) fn awaited(&self) -> Vec<Token> {
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

    /// Ends the session on this side: nothing more is sent, and what is lent is given up. Gives what the peer did, if that
    /// is why, and the bytes that each channel's stream had on the way when the peer stopped reading.
    pub(crate) fn finish(&self) -> (Option<&'static str>, LiteMap<u32, Vec<u8>>) {
        let state = &mut *lock(&self.state);
        self.take_back_returned(state);
        let position = self.inbox.position();
        if state.over.is_none() && state.ring.room(|| position).is_err() {
            state.over = Some(BAD_POSITION);
        }
        let why = state.over.replace("the session is over");
        let unread = if why.is_none() { self.unread(state, position) } else { LiteMap::new() };
        state.loans.end();
        (why, unread)
    }

    /// What the peer has not read of this process's ring: from a position on that can be.
    fn unread(&self, state: &mut State, position: u64) -> LiteMap<u32, Vec<u8>> {
        let mut streams = LiteMap::<u32, Vec<u8>>::new();
        let (ring, mut reader) = (self.outbox.ring(), RingReader::starting_at(RING, position));
        while reader.position() < state.ring.written()
            && let Ok(Some(record)) = reader.peek(ring)
        {
            let stream = streams.entry(record.channel).or_default();
            match record.kind {
                kind::MESSAGE => {
                    stream.extend_from_slice(&record.len.to_le_bytes());
                    reader.copy(ring, &record, stream);
                }
                kind::BYTES => reader.copy(ring, &record, stream),
                kind::SLOT => {
                    let lending = reader.words(ring, &record).map(Lending::from_words);
                    // Each once: a peer that tells a position within a record has anything taken for records.
                    let slot = lending.and_then(|lending| state.loans.give_up(lending.loan.into()));
                    slot.into_iter().for_each(|slot| stream.extend_from_slice(&slot));
                }
                // Bytes of a former link of that number.
                kind::OPEN => stream.clear(),
                _ => {}
            }
            reader.advance(&record);
        }
        streams
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
