//! How sending ends, and what of it the peer has not read.

use litemap::LiteMap;

use super::{BAD_POSITION, Sender, State};
use crate::ipc::outbox::RING;
use crate::ipc::record::{Lending, kind};
use crate::ipc::ring::RingReader;
use crate::sync::lock;

impl Sender {
    /// Nothing more is sent; the driver hears of it by the end of the socket.
    pub(super) fn end(&self, state: &mut State, why: &'static str) {
        state.over = Some(why);
        let _ = self.packets.shutdown();
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
