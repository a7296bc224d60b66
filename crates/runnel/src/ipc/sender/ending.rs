//! How sending ends, and what of it the peer has not read.

use std::sync::Arc;

use runnel_core::sorted::SortedMap;
use runnel_core::wire::{NoMemory, try_reserve};
use runnel_delivery::{PairId, Statement};
use runnel_io::segment::Slot;

use super::{BAD_POSITION, Sender, State};
use crate::frame::Payload;
use crate::ipc::outbox::RING;
use crate::ipc::record::{self, Lending, STATEMENT_WORDS, kind};
use crate::ipc::ring::RingReader;
use crate::sync::lock;

/// What each channel had on the way when the peer stopped reading.
#[derive(Default)]
pub(crate) struct Unread {
    /// Bytes of the streams of services. A stream that there is no memory for has a hole.
    pub(crate) streams: SortedMap<u32, Result<Vec<u8>, NoMemory>>,
    /// Samples. The last one may have been sent in part. One that there is no memory for is left out.
    pub(crate) samples: SortedMap<u32, Vec<UnreadSample>>,
    /// What was stated of subscriptions that share a link, and the number of the sample before it; 0 if there is none.
    pub(crate) statements: SortedMap<u32, Vec<(u64, Statement)>>,
}

/// A sample that the peer has not read.
pub(crate) struct UnreadSample {
    pub(crate) number: u64,
    /// What there is of it.
    pub(crate) payload: Payload,
    /// Bytes of the whole.
    len: u64,
}

impl UnreadSample {
    /// True if all of it is there.
    pub(crate) fn is_whole(&self) -> bool {
        self.payload.as_ref().len() as u64 == self.len
    }
}

impl Unread {
    /// Another link begins on a channel.
    fn begin(&mut self, channel: u32) {
        self.streams.remove(&channel);
        self.samples.remove(&channel);
        self.statements.remove(&channel);
    }

    fn sample(&mut self, channel: u32, number: u64, len: u64, payload: Payload) {
        self.samples.entry(channel).or_default().push(UnreadSample { number, payload, len });
    }

    fn statement(&mut self, channel: u32, statement: Statement) {
        let after =
            self.samples.get(&channel).and_then(|samples| samples.last()).map_or(0, |sample| sample.number);
        if PairId::from_statement(&statement).is_some() {
            self.statements.entry(channel).or_default().push((after, statement));
        }
    }

    /// The bytes of a stream, which are then no longer here.
    ///
    /// # Errors
    /// When there was no memory for them.
    pub(crate) fn take_stream(&mut self, channel: u32) -> Result<Vec<u8>, NoMemory> {
        self.streams.remove(&channel).unwrap_or(Ok(Vec::new()))
    }

    /// Has `append` append so many bytes to a stream.
    fn stream(&mut self, channel: u32, more: usize, append: impl FnOnce(&mut Vec<u8>)) {
        let stream = self.streams.entry(channel).or_insert(Ok(Vec::new()));
        if let Ok(bytes) = stream {
            match try_reserve(bytes, more) {
                Ok(()) => append(bytes),
                Err(refused) => *stream = Err(refused),
            }
        }
    }

    /// The same to the sample that has begun, or else to the stream. A sample that there is no memory for stays as it is, too
    /// short, and is known by that.
    fn bytes_of(&mut self, channel: u32, more: usize, append: impl FnOnce(&mut Vec<u8>)) {
        match self.samples.get_mut(&channel).and_then(|samples| samples.last_mut()) {
            Some(UnreadSample { payload: Payload::Own(bytes), .. }) => {
                if let Some(bytes) = Arc::get_mut(bytes)
                    && try_reserve(bytes, more).is_ok()
                {
                    append(bytes);
                }
            }
            _ => self.stream(channel, more, append),
        }
    }
}

impl Sender {
    /// Nothing more is sent; the driver hears of it by the end of the socket.
    pub(super) fn end(&self, state: &mut State, why: &'static str) {
        state.over = Some(why);
        let _ = self.packets.shutdown();
    }

    /// Ends the session on this side: nothing more is sent, and what is lent is given up. Gives what the peer did, if that
    /// is why, and what each channel had on the way when the peer stopped reading.
    pub(crate) fn finish(&self) -> (Option<&'static str>, Unread) {
        let state = &mut *lock(&self.state);
        self.take_back_returned(state);
        let position = self.inbox.position();
        if state.over.is_none() && state.ring.room(|| position).is_err() {
            state.over = Some(BAD_POSITION);
        }
        let why = state.over.replace("the session is over");
        let unread = if why.is_none() { self.unread(state, position, given_up) } else { Unread::default() };
        state.loans.end();
        (why, unread)
    }

    /// What the peer has not read, which it may read all the same: the session goes on.
    pub(crate) fn peek_unread(&self) -> Unread {
        let state = &mut *lock(&self.state);
        self.take_back_returned(state);
        let position = self.inbox.position();
        // What it did is known by the next that is sent.
        if state.over.is_some() || state.ring.room(|| position).is_err() {
            return Unread::default();
        }
        self.unread(state, position, |state, words| {
            state.loans.slot(Lending::from_words(words).loan.into()).cloned()
        })
    }

    /// What the peer has not read of this process's ring: from a position on that can be.
    fn unread(
        &self,
        state: &mut State,
        position: u64,
        slot: impl Fn(&mut State, [u64; 2]) -> Option<Slot>,
    ) -> Unread {
        let mut unread = Unread::default();
        let (ring, mut reader) = (self.outbox.ring(), RingReader::starting_at(RING, position));
        while reader.position() < state.ring.written()
            && let Ok(Some(record)) = reader.peek(ring)
        {
            let channel = record.channel;
            // Up to a whole word.
            let most = (record.len as usize).next_multiple_of(8);
            match record.kind {
                kind::BYTES => unread.bytes_of(channel, most, |bytes| reader.copy(ring, &record, bytes)),
                kind::SAMPLE if let Some([number]) = reader.first_words(ring, &record) => {
                    let mut bytes = Vec::new();
                    reader.copy_from(ring, &record, 1, &mut bytes);
                    unread.sample(channel, number, bytes.len() as u64, bytes.into());
                }
                kind::SAMPLE_BEGIN if let Some([number, len]) = reader.first_words(ring, &record) => {
                    let mut bytes = Vec::new();
                    reader.copy_from(ring, &record, 2, &mut bytes);
                    unread.sample(channel, number, len, bytes.into());
                }
                kind::SAMPLE_SLOT if let Some([number, first, second]) = reader.words(ring, &record) => {
                    // Whoever holds it longer is not to hold memory that is shared.
                    let payload = slot(state, [first, second]).map(|slot| Payload::Slot(slot).to_own());
                    if let Some(payload) = payload {
                        unread.sample(channel, number, payload.as_ref().len() as u64, payload);
                    }
                }
                kind::SKIP => {
                    let words = reader.words::<STATEMENT_WORDS>(ring, &record);
                    let statement = words.and_then(|words| record::statement(words).ok());
                    statement.into_iter().for_each(|statement| unread.statement(channel, statement));
                }
                // What was left of a former link of that number.
                kind::OPEN | kind::OPEN_SAMPLES => unread.begin(channel),
                _ => {}
            }
            reader.advance(&record);
        }
        unread
    }
}

/// The slot that a record tells of. Each once: a peer that tells a position within a record has anything taken for records.
fn given_up(state: &mut State, words: [u64; 2]) -> Option<Slot> {
    state.loans.give_up(Lending::from_words(words).loan.into())
}
