//! End of sending, and the data that the peer has not read.

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

/// Data of each channel that the peer has not read.
#[derive(Default)]
pub(super) struct Unread {
    /// Bytes of the streams of services, or the error if there was no memory for them.
    streams: SortedMap<u32, Result<Vec<u8>, NoMemory>>,
    channels: SortedMap<u32, UnreadSamples>,
}

/// Samples and statements of one channel that the peer has not read.
#[derive(Default)]
pub(crate) struct UnreadSamples {
    /// The last one may have been sent in part. Samples without memory for them are missing.
    pub(crate) samples: Vec<UnreadSample>,
    /// Statements about the subscriptions that share a link, each with the number of the sample before it; 0 if there
    /// is none.
    pub(crate) statements: Vec<(u64, Statement)>,
}

/// A sample that the peer has not read.
pub(crate) struct UnreadSample {
    pub(crate) number: u64,
    /// Its bytes in the ring or slot.
    pub(crate) payload: Payload,
    /// Length of the complete sample.
    len: u64,
}

impl UnreadSample {
    /// True if it is complete.
    pub(crate) fn is_whole(&self) -> bool {
        self.payload.as_ref().len() as u64 == self.len
    }
}

impl Unread {
    /// Begins another link on a channel.
    fn begin(&mut self, channel: u32) {
        self.streams.remove(&channel);
        self.channels.remove(&channel);
    }

    fn sample(&mut self, channel: u32, number: u64, len: u64, payload: Payload) {
        let samples = &mut self.channels.entry(channel).or_default().samples;
        samples.push(UnreadSample { number, payload, len });
    }

    fn statement(&mut self, channel: u32, statement: Statement) {
        if PairId::from_statement(&statement).is_some() {
            let UnreadSamples { samples, statements } = self.channels.entry(channel).or_default();
            statements.push((samples.last().map_or(0, |sample| sample.number), statement));
        }
    }

    fn take_samples(&mut self, channel: u32) -> UnreadSamples {
        self.channels.remove(&channel).unwrap_or_default()
    }

    /// Appends bytes to a stream.
    fn stream(&mut self, channel: u32, more: usize, append: impl FnOnce(&mut Vec<u8>)) {
        let stream = self.streams.entry(channel).or_insert(Ok(Vec::new()));
        if let Ok(bytes) = stream {
            match try_reserve(bytes, more) {
                Ok(()) => append(bytes),
                Err(refused) => *stream = Err(refused),
            }
        }
    }

    /// Appends bytes to the sample that has begun, or else to the stream. A sample without memory for them stays too
    /// short, and is recognized by that.
    fn bytes_of(&mut self, channel: u32, more: usize, append: impl FnOnce(&mut Vec<u8>)) {
        match self.channels.get_mut(&channel).and_then(|unread| unread.samples.last_mut()) {
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
    /// Stops sending because of a fault. The driver is notified by the end of the socket.
    pub(super) fn end(&self, state: &mut State, why: &'static str) {
        state.over = Some(why);
        let _ = self.packets.shutdown();
    }

    /// Ends the IPC connection on this side: sends nothing more, and gives up all loans. Returns the peer's fault, if
    /// that is the reason. The data that the peer has not read waits for the links and pairs of the channels: any thread
    /// may end one of these next.
    pub(crate) fn finish(&self) -> Option<&'static str> {
        let state = &mut *lock(&self.state);
        self.reclaim_released(state);
        let position = self.inbox.position();
        if state.over.is_none() && state.ring.available(|| position).is_err() {
            state.over = Some(BAD_POSITION);
        }
        let why = state.over.replace("the IPC connection is over");
        if why.is_none() {
            state.unread = self.unread(state, position, give_up_slot);
        }
        state.loans.end();
        why
    }

    /// Takes the samples of a channel that the peer will not read: none while the connection continues.
    pub(crate) fn take_unread(&self, channel: u32) -> UnreadSamples {
        lock(&self.state).unread.take_samples(channel)
    }

    /// Takes the bytes of a service's stream that the peer will not read.
    ///
    /// # Errors
    /// If there was no memory for them.
    pub(crate) fn take_unread_stream(&self, channel: u32) -> Result<Vec<u8>, NoMemory> {
        lock(&self.state).unread.streams.remove(&channel).unwrap_or(Ok(Vec::new()))
    }

    /// The samples of a channel that the peer has not read. While the connection continues, it may still read them.
    pub(crate) fn peek_unread(&self, channel: u32) -> UnreadSamples {
        let state = &mut *lock(&self.state);
        if state.over.is_some() {
            return state.unread.take_samples(channel);
        }
        self.reclaim_released(state);
        let position = self.inbox.position();
        // The next record that is sent reports the fault.
        if state.over.is_some() || state.ring.available(|| position).is_err() {
            return UnreadSamples::default();
        }
        let slot =
            |state: &mut State, words| state.loans.slot(Lending::from_words(words).loan.into()).cloned();
        self.unread(state, position, slot).take_samples(channel)
    }

    /// Number of unread bytes of all channels.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn unread_bytes(&self) -> usize {
        let unread = &lock(&self.state).unread;
        let samples = unread.channels.values().flat_map(|channel| &channel.samples);
        unread.streams.values().flatten().map(Vec::len).sum::<usize>()
            + samples.map(|sample| sample.payload.as_ref().len()).sum::<usize>()
    }

    /// The data in this process's ring behind a possible position.
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
            // Padded to a complete word.
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
                    // A long-lived queue must not occupy slots of shared memory.
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
                // The data before this belongs to an earlier link of the same number.
                kind::OPEN | kind::OPEN_SAMPLES => unread.begin(channel),
                _ => {}
            }
            reader.advance(&record);
        }
        unread
    }
}

/// Gives up the slot of a record, at most once: with a falsified position within a record, anything may be read as a
/// record.
fn give_up_slot(state: &mut State, words: [u64; 2]) -> Option<Slot> {
    state.loans.give_up(Lending::from_words(words).loan.into())
}
