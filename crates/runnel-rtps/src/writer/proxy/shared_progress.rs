//! Common progress of the readers of one participant: one datagram serves all of them.

use super::flight::Last;
use super::{Pacer, ReaderProxy, ReaderSpec};
use crate::history::History;
use crate::wire::{Guid, SequenceNumber};
use core::ops::RangeInclusive;
use runnel_core::time::Instant;

/// Progress of a reader after a datagram that also serves other readers.
#[derive(Clone, Copy, Debug)]
pub(in crate::writer) struct Lead {
    next: SequenceNumber,
    fragment: u32,
    pacer: Pacer,
    last: Last,
}

impl ReaderProxy {
    /// Creates the proxy of a reader that shares the reorder buffer of another: it begins where the other one is.
    pub(in crate::writer) fn with_progress_of(spec: ReaderSpec, sibling: &Self) -> Self {
        Self {
            next: sibling.next,
            fragment: sibling.fragment,
            has_begun: sibling.has_begun,
            ..Self::new(spec, sibling.first_unacknowledged(), sibling.matched_at)
        }
    }

    /// Returns whether the readers of its participant share a reorder buffer.
    pub(in crate::writer) fn shares_reorder_buffer(&self) -> bool {
        self.spec.shares_reorder_buffer
    }

    /// Returns the readers whose samples it is sent, if samples are for one reader each.
    pub(in crate::writer) fn receives_samples_for(&self) -> RangeInclusive<Guid> {
        self.spec.receives_samples_for()
    }

    /// Returns whether it is due the same samples and announcements as another reader. If one was matched later, that
    /// holds once earlier samples are no longer held: the other would give up missing ones if it received the later
    /// reader's announcements.
    pub(in crate::writer) fn has_same_progress<B>(&self, other: &Self, history: &History<B>) -> bool {
        #[cfg(test)]
        super::tests::COMPARISONS.with(|count| count.set(count.get() + 1));
        let plain = |proxy: &Self| proxy.requested.is_empty() && proxy.requested_fragments.is_empty();
        // Some have a port for each reader, and only reliable readers delay progress.
        let route = |proxy: &Self| (proxy.spec.address, proxy.spec.reliable);
        route(self) == route(other)
            && self.spec.inline_qos == other.spec.inline_qos
            && (self.next, self.fragment, self.until) == (other.next, other.fragment, other.until)
            && (history.is_addressed() || self.has_same_losses(other, history))
            && plain(self)
            && plain(other)
            && !self.awaits_own_heartbeat
            && !other.awaits_own_heartbeat
    }

    /// Returns whether the same samples are announced as lost to it as to another reader: a hole may be, together with
    /// all earlier samples.
    fn has_same_losses<B>(&self, other: &Self, history: &History<B>) -> bool {
        self.first_announced(history) == other.first_announced(history)
            && (self.acked == other.acked || history.get(self.next).is_some() || self.next > history.last())
    }

    /// Returns its progress after a datagram that also serves other readers of its participant.
    pub(in crate::writer) fn lead(&self) -> Lead {
        Lead { next: self.next, fragment: self.fragment, pacer: self.pacer, last: self.flight.last() }
    }

    /// Records that a datagram for another reader of its participant has reached it as well: by the same socket, at the
    /// same pace.
    pub(in crate::writer) fn follow(&mut self, now: Instant, leader: Lead) {
        if !self.has_unacknowledged() {
            self.since = now;
        }
        (self.next, self.fragment, self.pacer) = (leader.next, leader.fragment, leader.pacer);
        if self.flight.follow(leader.last, now, self.next.previous()) {
            (self.heartbeat, self.since) = (false, now);
        }
    }
}
