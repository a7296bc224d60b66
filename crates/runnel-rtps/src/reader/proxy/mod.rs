//! Writer proxy: the progress of a reader with one matched writer.

mod acknack;
mod arrival;
mod first_position;
mod gaps;
mod heartbeat;
mod held;
mod jump;
mod pause;
mod position;
mod recent;
#[cfg(test)]
mod tests;
mod timing;

pub(crate) use arrival::{Arrival, copy_sample};

use super::budget::Budgets;
use super::fragments::Fragments;
use crate::count::LatestCount;
use crate::wire::{Guid, SequenceNumber, VendorId};
use acknack::Retry;
use core::net::SocketAddr;
use core::time::Duration;
use held::HeldSamples;
use jump::Jump;
use pause::Pause;
use position::Position;
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;

/// Longest pause between fragments of a needed sample: they are requested again before.
const STALL_TIMEOUT: Duration = Duration::from_secs(3);

/// Parameters of a writer to be matched.
#[derive(Clone, Debug)]
pub(crate) struct WriterSpec {
    pub guid: Guid,
    /// Destination of acknowledgements.
    pub address: SocketAddr,
    pub reliable: bool,
    /// Maximum bytes of a sample, and of the samples that wait for it.
    pub max_bytes: usize,
    /// Shared budgets of all writers.
    pub budgets: Budgets,
}

/// Matched writer of a reader.
#[derive(Debug)]
pub(crate) struct WriterProxy {
    spec: WriterSpec,
    /// The next sample to deliver.
    next: SequenceNumber,
    /// The former position, if the writer is matched again.
    resume_at: Option<SequenceNumber>,
    /// A HEARTBEAT has confirmed that `next` is the next sample.
    has_first_heartbeat: bool,
    /// When the first datagram arrived that states no position for this reader.
    unaddressed_since: Option<Instant>,
    /// The last sample that the writer is known to have.
    last: SequenceNumber,
    held: HeldSamples,
    /// An early sample exceeded the capacity, and there is none yet.
    is_full: bool,
    pause: Pause,
    /// An alternate path has delivered samples: the position is ahead of RTPS.
    has_alternate_path: bool,
    /// The user has received or missed all samples before this one, whatever best-effort samples arrive.
    received_before: SequenceNumber,
    /// No sample up to here is missing: each is held or irrelevant.
    complete_up_to: SequenceNumber,
    /// Irrelevant ranges ahead, from the first to before the last number.
    gaps: SortedMap<SequenceNumber, SequenceNumber>,
    fragments: Fragments,
    heartbeats: LatestCount,
    fragment_heartbeats: LatestCount,
    acknowledgements: u32,
    /// All samples before this one were acknowledged since the match: the writer need not repeat them.
    acknowledged_before: SequenceNumber,
    /// Acknowledged samples that were read again did not arrive: some before this one.
    skipped_before: Option<SequenceNumber>,
    lost: u64,
    /// Losses before this number have been counted.
    lost_before: SequenceNumber,
    /// An ACKNACK is due.
    is_acknack_due: bool,
    retry: Retry,
    position: Position,
    /// It is queued for an ACKNACK.
    pub queued: bool,
}

/// State of an unmatched writer: it may return with the same numbers, and may not have noticed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnmatchedWriter {
    pub writer: Guid,
    /// The next sample to deliver. Discovery is forgotten, and read again.
    next: Option<SequenceNumber>,
    /// No sample before this one is delivered.
    received_before: SequenceNumber,
    /// The jump to that position, if it is in doubt.
    jump: Option<Jump>,
    /// Its last HEARTBEAT count.
    heartbeats: LatestCount,
    /// Its last acknowledgement count: it ignores repeated counts.
    pub acknowledgements: u32,
}

impl UnmatchedWriter {
    /// Records that an alternate path has delivered samples from `from` to before `to`.
    pub fn note_received(&mut self, from: SequenceNumber, to: SequenceNumber) {
        if self.next.is_some_and(|next| from <= next) {
            self.next = self.next.map(|next| next.max(to));
            self.received_before = self.received_before.max(to);
            self.jump = None;
        }
    }
}

impl WriterProxy {
    pub fn new(spec: WriterSpec) -> Self {
        let reliable = spec.reliable;
        let nothing = SequenceNumber::ZERO;
        Self {
            spec,
            next: SequenceNumber::FIRST,
            resume_at: None,
            has_first_heartbeat: !reliable,
            unaddressed_since: None,
            last: nothing,
            held: HeldSamples::default(),
            is_full: false,
            pause: Pause::Running,
            has_alternate_path: false,
            received_before: SequenceNumber::FIRST,
            complete_up_to: nothing,
            gaps: SortedMap::new(),
            fragments: Fragments::default(),
            heartbeats: LatestCount::default(),
            fragment_heartbeats: LatestCount::default(),
            acknowledgements: 0,
            acknowledged_before: nothing,
            skipped_before: None,
            lost: 0,
            lost_before: nothing,
            is_acknack_due: reliable,
            retry: Retry::new(),
            position: Position::default(),
            queued: false,
        }
    }

    /// Creates the proxy of a writer that is matched again, and may not know that it was unmatched.
    pub fn rematched(spec: WriterSpec, unmatched: UnmatchedWriter) -> Self {
        let UnmatchedWriter { next, received_before, jump, heartbeats, acknowledgements, .. } = unmatched;
        let mut proxy =
            Self { resume_at: next, received_before, heartbeats, acknowledgements, ..Self::new(spec) };
        proxy.position.resume(jump);
        if proxy.has_unique_guid() && !proxy.spec.reliable {
            proxy.next = proxy.resume_at.unwrap_or(proxy.next);
        }
        proxy
    }

    /// Returns whether the GUID is never reused, as Runnel's: its prefixes are random. Those of other vendors may be
    /// the same after a restart.
    fn has_unique_guid(&self) -> bool {
        self.spec.guid.prefix.is_of(VendorId::RUNNEL)
    }

    /// Returns the last sample that the writer has announced or sent.
    pub fn last_announced(&self) -> SequenceNumber {
        self.last
    }

    /// Creates the proxy of a writer that may have been unmatched and forgotten without knowing: its acknowledgement
    /// counts begin after this one.
    pub fn with_count_after(spec: WriterSpec, acknowledgements: u32) -> Self {
        Self { acknowledgements, ..Self::new(spec) }
    }

    /// Returns whether the writer has sent anything, now or before it was unmatched.
    pub fn is_worth_remembering(&self) -> bool {
        self.has_first_heartbeat && self.spec.reliable
            || self.resume_at.is_some()
            || self.last > SequenceNumber::ZERO
    }

    /// Returns the state to remember when the writer is unmatched.
    pub fn unmatched_state(&self) -> UnmatchedWriter {
        let is_user = !self.spec.guid.entity.is_builtin();
        UnmatchedWriter {
            writer: self.spec.guid,
            // A writer that was silent since it was matched again keeps its former position.
            next: if self.has_first_heartbeat { is_user.then_some(self.next) } else { self.resume_at },
            received_before: self.received_before,
            jump: self.position.jump_to_resume().filter(|_| is_user),
            heartbeats: self.heartbeats,
            acknowledgements: self.acknowledgements,
        }
    }

    pub fn guid(&self) -> Guid {
        self.spec.guid
    }

    pub fn address(&self) -> SocketAddr {
        self.spec.address
    }

    pub fn move_to(&mut self, address: SocketAddr) {
        self.spec.address = address;
    }

    /// Returns and clears the number of samples that were lost.
    pub fn take_lost(&mut self) -> u64 {
        core::mem::take(&mut self.lost) + self.position.take_lost()
    }

    /// Returns whether an ACKNACK is due.
    pub fn is_acknack_due(&self) -> bool {
        self.is_acknack_due
    }

    /// Returns whether a HEARTBEAT was received, and all announced samples have arrived.
    pub fn has_all(&self) -> bool {
        self.has_first_heartbeat && !self.is_missing_something()
    }

    /// Returns whether fragments begin a new sample that the shared budget has no capacity for.
    pub fn is_over_budget(&self, number: SequenceNumber, len: usize) -> bool {
        !self.spec.budgets.incomplete.has(len)
            && !self.fragments.has_begun(number)
            && len <= self.spec.max_bytes
    }

    /// Returns the bytes of its incomplete samples.
    pub fn incomplete_bytes(&self) -> usize {
        self.fragments.bytes()
    }

    /// Returns whether its incomplete samples have not progressed for a while.
    pub fn has_stalled(&self, now: Instant) -> bool {
        self.fragments.latest_arrival().is_some_and(|arrived| arrived + STALL_TIMEOUT <= now)
    }

    /// Drops incomplete samples to free memory for other writers; they are requested again.
    pub fn forget_incomplete(&mut self) {
        self.fragments.forget_all();
    }

    /// Returns when its timer is due.
    pub fn timeout(&self) -> Option<Instant> {
        self.retry.at.into_iter().chain(self.position.probe_at).min()
    }

    /// Returns whether an alternate path carries the pair.
    pub fn is_paused(&self) -> bool {
        self.pause.is_paused()
    }

    /// Pauses or resumes the pair. While it is paused, reliable samples are held and not acknowledged, as without
    /// capacity.
    pub fn set_paused(&mut self, is_paused: bool) {
        self.pause = Pause::new(is_paused);
    }

    /// Returns whether submessages to all readers are only for readers of other pairs, unless all are paused: the
    /// writer has not shown since the pause that it counts this reader among those. Best-effort samples need no order.
    pub fn needs_own_submessages(&self) -> bool {
        self.pause == Pause::Paused && self.spec.reliable
    }

    /// Returns whether the pair is reliable.
    pub fn is_reliable(&self) -> bool {
        self.spec.reliable
    }

    /// Returns the next sample to deliver, if known.
    pub fn due(&self) -> Option<SequenceNumber> {
        self.has_first_heartbeat.then_some(self.next)
    }

    /// Returns the number before which no sample is delivered any more.
    pub fn passed_before(&self) -> Option<SequenceNumber> {
        self.has_first_heartbeat.then(|| self.acknowledgeable())
    }

    /// Schedules an acknowledgement of the reader's progress, which the writer waits for.
    pub fn acknowledge_progress(&mut self) {
        self.is_acknack_due |= self.spec.reliable;
    }
}
