//! Lending slots to the peer, and reclaiming them.

use std::sync::Arc;

use runnel_io::segment::{Segment, Slot};

use super::{MOST_IN_RING, ONE_PIECE, Sender, State};
use crate::frame::{Frame, Payload};
use crate::ipc::record::{Lending, kind};
use crate::sync::lock;

/// State of a segment at the peer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It is mapped under this number.
    Mapped(u32),
    /// It was announced under this number, and the peer rings once it has mapped it.
    Coming(u32),
    /// It cannot be announced, now or at all.
    Not,
}

/// The result of an attempt to lend a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Offered {
    Lent,
    /// The ring is full.
    NoRoom,
    /// The message is too long for the ring, and its segment has yet to be mapped.
    Unmapped(u32),
    /// The peer has reached its quota.
    TooMuch,
    /// The message is not in a slot, or the peer cannot read that slot.
    NotShared,
}

impl Sender {
    /// Copies a message that is too long for the ring into a slot, if it is not in one and the quota allows it.
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
        // If its record does not fit, the copy would be useless.
        let has_room = state.ring.room(|| self.inbox.position()).is_ok_and(|room| room >= ONE_PIECE);
        !full && has_room && state.loans.has_room(bytes, self.pool.share())
    }

    /// Lends a slot to the peer, if possible.
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

    /// Announces segments from which slots may be lent later. False until the peer has mapped them; it rings then.
    pub(crate) fn give(&self, segments: &[Arc<Segment>]) -> bool {
        let state = &mut *lock(&self.state);
        let is_mapped = |segment: &&Arc<Segment>| matches!(self.known(state, segment), Known::Mapped(_));
        let mapped = segments.iter().filter(is_mapped).count();
        let (_, full) = self.inbox.mapped();
        mapped == segments.len() || full || state.given.is_full()
    }

    /// The state of a segment at the peer. The first call announces the segment.
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
        // If the socket is full, the next message tries again.
        if !full
            && let Some(gift) = state.given.gift(segment)
            && self.packets.send(&gift.to_bytes(), &[segment.fd()]).unwrap_or(false)
        {
            return Known::Coming(state.given.add(segment));
        }
        Known::Not
    }

    /// Whether the peer has mapped a segment, or maps no more.
    pub(super) fn has_mapped(&self, segment: u32) -> bool {
        let (mapped, full) = self.inbox.mapped();
        full || u64::from(segment) < mapped
    }

    /// Reclaims the slots that the peer has released. Called before a message is written, since the last released slot
    /// is in the cache.
    pub(crate) fn take_back_slots(&self) {
        self.take_back_returned(&mut lock(&self.state));
    }

    /// Reclaims released slots, and has the peer unmap segments that have ended.
    pub(super) fn take_back(&self, state: &mut State) {
        self.take_back_returned(state);
        self.forget_segments(state);
    }

    pub(super) fn take_back_returned(&self, state: &mut State) {
        while state.over.is_none() {
            match state.returns.next(&self.inbox.returns(), state.loans.count()) {
                Ok(None) => return,
                Ok(Some(loan)) if state.loans.give_back(loan).is_ok() => {}
                Ok(Some(_)) => self.end(state, "it released a slot that was not lent to it"),
                Err(_) => self.end(state, "it released more slots than were lent to it"),
            }
        }
    }

    /// Has the peer unmap segments that have ended, if any have since the last call.
    fn forget_segments(&self, state: &mut State) {
        if state.given.some_ended() {
            // Other IPC connections, on which nothing is sent, must do the same.
            self.own_bell.ring();
        }
        for number in state.given.take_gone() {
            let (mapped, full) = self.inbox.mapped();
            let is_mapped = u64::from(number) < mapped;
            // A segment that is unmapped before it was mapped would stay mapped for good.
            if !is_mapped && !full || is_mapped && !self.tell_gone(state, number) {
                state.given.keep(number);
            }
        }
    }

    /// Tells the peer that a segment has ended. False if the record does not fit.
    fn tell_gone(&self, state: &mut State, number: u32) -> bool {
        self.push(state, (kind::FORGET, 0), &[&u64::from(number).to_le_bytes()])
    }
}
