//! What is lent to the peer, and what it gives back.

use std::sync::Arc;

use runnel_io::segment::{Segment, Slot};

use super::{MOST_IN_RING, ONE_PIECE, Sender, State};
use crate::frame::{Frame, Payload};
use crate::ipc::record::{Lending, kind};
use crate::sync::lock;

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
pub(super) enum Offered {
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

impl Sender {
    /// The same message in memory that can be lent, if it lies elsewhere and is too long for the ring, and the peer may have
    /// it.
    pub(super) fn lift(&self, frame: &Frame) -> Option<Frame> {
        let Payload::Own(bytes) = frame.payload() else { return None };
        if bytes.len() <= MOST_IN_RING || !self.may_lend(bytes.len()) {
            return None;
        }
        let mut slot = self.pool.take(bytes.len())?;
        slot[..bytes.len()].copy_from_slice(bytes);
        Some(frame.copied_to(slot.freeze(bytes.len())))
    }

    fn may_lend(&self, bytes: usize) -> bool {
        let state = &mut *lock(&self.state);
        self.take_back_returned(state);
        let (_, full) = self.inbox.mapped();
        // Without room for its record, it would be copied in vain.
        let has_room = state.ring.room(|| self.inbox.position()).is_ok_and(|room| room >= ONE_PIECE);
        !full && has_room && state.loans.has_room(bytes, self.pool.share())
    }

    /// Lends a slot to the peer, if that can be.
    pub(super) fn lend(&self, state: &mut State, (channel, number): (u32, u64), slot: &Slot) -> Offered {
        self.take_back(state);
        let segment = match self.known(state, slot.segment()) {
            Known::Mapped(number) => number,
            Known::Coming(number) if slot.len() > MOST_IN_RING => return Offered::Unmapped(number),
            Known::Coming(_) | Known::Not => return Offered::NotShared,
        };
        let Some(loan) = state.loans.lend(slot, self.pool.share()) else { return Offered::TooMuch };
        let lending = Lending { segment, loan: loan.into(), slot: slot.index(), len: slot.len() as u32 };
        let [first, second] = lending.to_words().map(u64::to_le_bytes);
        let number = number.to_le_bytes();
        let pushed = self.push(state, (kind::SAMPLE_SLOT, channel), &[&number, &first, &second]);
        if !pushed {
            let _ = state.loans.give_back(loan.into());
        }
        if pushed { Offered::Lent } else { Offered::NoRoom }
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

    /// Whether the peer has mapped a segment, or says that it maps no more.
    pub(super) fn has_mapped(&self, segment: u32) -> bool {
        let (mapped, full) = self.inbox.mapped();
        full || u64::from(segment) < mapped
    }

    /// Takes back what the peer has given back: the next message is best written where the last one was read, which is in
    /// the cache.
    pub(crate) fn take_back_slots(&self) {
        self.take_back_returned(&mut lock(&self.state));
    }

    /// Takes back the slots that the peer has given back, and has it give back segments that are no more.
    pub(super) fn take_back(&self, state: &mut State) {
        self.take_back_returned(state);
        self.forget_segments(state);
    }

    pub(super) fn take_back_returned(&self, state: &mut State) {
        while state.over.is_none() {
            match state.returns.next(&self.inbox.returns(), state.loans.count()) {
                Ok(None) => return,
                Ok(Some(loan)) if state.loans.give_back(loan).is_ok() => {}
                Ok(Some(_)) => self.end(state, "it gave back what was not lent to it"),
                Err(_) => self.end(state, "it told of more given back than was lent to it"),
            }
        }
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
}
