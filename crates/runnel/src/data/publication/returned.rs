//! Messages that RTPS, or memory in its place, is not known to have delivered to a reader that a link of ROS 1 serves from here on:
//! the link brings them first, for that reader alone.
//!
//! They are held as ROS 2 has them, and are translated for the link. What was sent again is never dropped for what waits on the
//! link already: while it waits there, the link holds so much more.

use runnel_core::sorted::SortedMap;
use runnel_core::wire::GrowingSink;
use runnel_delivery::{PairId, Statement};
use runnel_io::Reactor;
use runnel_rtps::wire::{EntityId, Guid};

use super::leaving::Leaving;
use super::link::Link;
use super::{RtpsWriter, State};
use crate::error::Unfit;
use crate::frame::{Frame, QueueBound};
use crate::rtps::pair_id;

/// So many times what it may hold a link holds at most of what is sent again. A subscriber may have it sent again and again
/// without reading.
const MOST_WIDENED: usize = 8;

/// Appends what a message in the encoding of ROS 2 is in that of ROS 1.
pub(crate) type ToRos1 = Box<dyn Fn(&[u8], &mut GrowingSink) -> Result<(), Unfit> + Send + Sync>;

/// Messages by their numbers in RTPS.
pub(super) type Returned = SortedMap<u64, Frame>;

impl State {
    /// What a reader is not known to have of what RTPS or memory carries for it, of which that is the end. `unacknowledged` has
    /// what the writer gave of it.
    pub(super) fn take_returned(
        &mut self,
        pair: (EntityId, Guid),
        unacknowledged: impl IntoIterator<Item = (u64, Frame)>,
    ) -> Returned {
        let mut returned: Returned = unacknowledged.into_iter().collect();
        returned.extend(self.take_memory_link(pair));
        let is_it = |leaving: &mut Leaving| leaving.is_of(pair.0, pair.1);
        for leaving in self.leaving.extract_if(.., is_it) {
            returned.extend(leaving.into_waiting());
        }
        returned
    }

    /// The links to the node of this origin serve a reader of it from the message `from` on, and bring before what it is not
    /// known to have. How many messages are lost.
    pub(super) fn serve_by_links(
        &mut self,
        reactor: &Reactor,
        origin: u64,
        (writer, reader): (&RtpsWriter, Guid),
        (from, returned): (u64, Returned),
    ) -> u64 {
        let pair = pair_id(writer.id(), reader.entity);
        let is_meant = |link: &Link| writer.is_meant(reader, origin, link);
        let takes = |link: &Link| is_meant(link) && link.has_statements();
        let (mut translated, mut lost) = (Vec::new(), 0);
        if self.links.iter().any(takes) {
            for (number, frame) in returned {
                match self.in_ros1_form(&frame) {
                    Some(frame) => translated.push((number, frame)),
                    None => lost += 1,
                }
            }
        }
        for link in self.links.iter_mut().filter(|link| is_meant(link)) {
            lost += link.resend(reactor, pair, &translated);
            link.share(reactor, |shared| shared.return_to_link(pair, from));
        }
        translated.into_iter().for_each(|(_, frame)| self.give_back(frame));
        lost
    }

    fn in_ros1_form(&mut self, frame: &Frame) -> Option<Frame> {
        let to_ros1 = self.to_ros1.take()?;
        let framed = self.framed(false, |out| to_ros1(frame.as_ref(), out)).ok();
        self.to_ros1 = Some(to_ros1);
        framed
    }
}

impl Link {
    /// Sends messages that are for one pair alone. How many were dropped for them.
    fn resend(&mut self, reactor: &Reactor, pair: PairId, messages: &[(u64, Frame)]) -> u64 {
        if messages.is_empty() || !self.has_statements() {
            return 0;
        }
        self.widen(messages);
        self.resends = true;
        let (mut next, mut dropped) = (None, 0);
        for (number, frame) in messages {
            if next != Some(*number) {
                let at = self.next_number() as u32;
                self.state(reactor, Statement::Resent { id: pair.id(), at, number: *number });
            }
            next = Some(*number + 1);
            dropped += self.offer(reactor, frame);
        }
        self.resends = false;
        self.flush_if_waiting(reactor);
        dropped
    }

    /// Has it hold these messages beside what waits.
    fn widen(&mut self, messages: &[(u64, Frame)]) {
        let bound = self.bound();
        // With a length before each, and a statement.
        let bytes: usize = messages.iter().map(|(_, frame)| frame.as_ref().len() + 64).sum();
        let most = |usual: usize, wanted: usize| wanted.min(usual.saturating_mul(MOST_WIDENED)).max(usual);
        let waiting = self.waiting_bound();
        self.widen_to(QueueBound {
            messages: most(bound.messages, bound.messages.saturating_add(waiting.messages + messages.len())),
            bytes: most(bound.bytes, bound.bytes.saturating_add(waiting.bytes + bytes)),
        });
    }
}
