//! Lending slots to the peer, and reclaiming them.

use std::sync::Arc;

use runnel_io::segment::{Segment, Slot};

use super::{MOST_IN_RING, ONE_PIECE, Sender, State};
use crate::frame::{Frame, Payload};
use crate::ipc::record::{Lending, kind};
use crate::sync::lock;

/// State of a segment at the peer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentState {
    /// It is mapped under this number.
    Mapped(u32),
    /// It was announced under this number, and the peer rings once it has mapped it.
    Announced(u32),
    /// It cannot be announced, now or at all.
    Unavailable,
}

/// The result of an attempt to lend a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LendResult {
    Lent,
    /// The ring is full.
    RingFull,
    /// The message is too long for the ring, and its segment has yet to be mapped.
    Unmapped(u32),
    /// The peer has reached its quota.
    OverQuota,
    /// The message is not in a slot, or the peer cannot read that slot.
    NotShared,
}

impl Sender {
    /// Copies a message that is too long for the ring into a slot, if it is not in one and the quota allows it.
    pub(super) fn copy_to_slot(&self, frame: &Frame) -> Option<Frame> {
        let Payload::Own(bytes) = frame.payload() else { return None };
        if bytes.len() <= MOST_IN_RING || !self.fits_quota(bytes.len()) {
            return None;
        }
        let mut slot = self.pool.take(bytes.len())?;
        slot[..bytes.len()].copy_from_slice(bytes);
        Some(frame.copied_to(slot.freeze(bytes.len())))
    }

    fn fits_quota(&self, bytes: usize) -> bool {
        let state = &mut *lock(&self.state);
        self.reclaim_released(state);
        let (_, full) = self.inbox.mapped();
        // If its record does not fit, the copy would be useless.
        let has_capacity =
            state.ring.available(|| self.inbox.position()).is_ok_and(|available| available >= ONE_PIECE);
        !full && has_capacity && state.loans.has_capacity(bytes, self.pool.share())
    }

    /// Lends a slot to the peer, if possible.
    pub(super) fn lend(&self, state: &mut State, (channel, number): (u32, u64), slot: &Slot) -> LendResult {
        self.reclaim(state);
        let segment = match self.segment_state(state, slot.segment()) {
            SegmentState::Mapped(number) => number,
            SegmentState::Announced(number) if slot.len() > MOST_IN_RING => {
                return LendResult::Unmapped(number);
            }
            SegmentState::Announced(_) | SegmentState::Unavailable => return LendResult::NotShared,
        };
        let Some(loan) = state.loans.lend(slot, self.pool.share()) else { return LendResult::OverQuota };
        let lending = Lending { segment, loan: loan.into(), slot: slot.index(), len: slot.len() as u32 };
        let [first, second] = lending.to_words().map(u64::to_le_bytes);
        let number = number.to_le_bytes();
        let pushed = self.push(state, (kind::SAMPLE_SLOT, channel), &[&number, &first, &second]);
        if !pushed {
            let _ = state.loans.release(loan.into());
        }
        if pushed { LendResult::Lent } else { LendResult::RingFull }
    }

    /// Announces segments from which slots may be lent later. True if the peer has mapped them, or can map no more; it
    /// rings the doorbell when it has mapped one.
    pub(crate) fn announce(&self, segments: &[Arc<Segment>]) -> bool {
        let state = &mut *lock(&self.state);
        let is_mapped =
            |segment: &&Arc<Segment>| matches!(self.segment_state(state, segment), SegmentState::Mapped(_));
        let mapped = segments.iter().filter(is_mapped).count();
        let (_, full) = self.inbox.mapped();
        mapped == segments.len() || full || state.announced.is_full()
    }

    /// The state of a segment at the peer. The first call announces the segment.
    fn segment_state(&self, state: &mut State, segment: &Arc<Segment>) -> SegmentState {
        let (mapped, full) = self.inbox.mapped();
        if let Some(number) = state.announced.number_of(segment) {
            return match u64::from(number) < mapped {
                true => SegmentState::Mapped(number),
                false if full => SegmentState::Unavailable,
                false => SegmentState::Announced(number),
            };
        }
        self.forget_segments(state);
        // If the socket is full, the next message tries again.
        if !full
            && let Some(announcement) = state.announced.announcement(segment)
            && self.packets.send(&announcement.to_bytes(), &[segment.fd()]).unwrap_or(false)
        {
            return SegmentState::Announced(state.announced.add(segment));
        }
        SegmentState::Unavailable
    }

    /// Whether the peer has mapped a segment, or maps no more.
    pub(super) fn has_mapped(&self, segment: u32) -> bool {
        let (mapped, full) = self.inbox.mapped();
        full || u64::from(segment) < mapped
    }

    /// Reclaims the slots that the peer has released. Called before a message is written, since the last released slot
    /// is in the cache.
    pub(crate) fn reclaim_slots(&self) {
        self.reclaim_released(&mut lock(&self.state));
    }

    /// Reclaims released slots, and has the peer unmap segments that have ended.
    pub(super) fn reclaim(&self, state: &mut State) {
        self.reclaim_released(state);
        self.forget_segments(state);
    }

    pub(super) fn reclaim_released(&self, state: &mut State) {
        while state.over.is_none() {
            match state.returns.next(&self.inbox.returns(), state.loans.count()) {
                Ok(None) => return,
                Ok(Some(loan)) if state.loans.release(loan).is_ok() => {}
                Ok(Some(_)) => self.end(state, "it released a slot that was not lent to it"),
                Err(_) => self.end(state, "it released more slots than were lent to it"),
            }
        }
    }

    /// Has the peer unmap segments that have ended, if any have since the last call.
    fn forget_segments(&self, state: &mut State) {
        if state.announced.has_ended_segments() {
            // Other IPC connections, on which nothing is sent, must do the same.
            self.own_doorbell.ring();
        }
        for number in state.announced.take_ended() {
            let (mapped, full) = self.inbox.mapped();
            let is_mapped = u64::from(number) < mapped;
            // A segment that is unmapped before it was mapped would stay mapped for good.
            if !is_mapped && !full || is_mapped && !self.announce_ended(state, number) {
                state.announced.keep(number);
            }
        }
    }

    /// Announces to the peer that a segment has ended. False if the record does not fit.
    fn announce_ended(&self, state: &mut State, number: u32) -> bool {
        self.push(state, (kind::FORGET, 0), &[&u64::from(number).to_le_bytes()])
    }
}
