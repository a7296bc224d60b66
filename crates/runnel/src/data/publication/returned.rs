//! Messages that RTPS, or shared memory in its place, is not known to have delivered to a reader that a ROS 1 link
//! serves next. The link delivers them first, to that reader only.
//!
//! They are held in the ROS 2 encoding and converted for the link. The link's queue limit is raised for them, so that
//! resent messages and queued messages do not drop each other.

use runnel_core::sorted::SortedMap;
use runnel_core::wire::GrowingSink;
use runnel_delivery::{PairId, Statement};
use runnel_io::Reactor;
use runnel_rtps::wire::{EntityId, Guid};

use super::leaving::LeavingReader;
use super::link::Link;
use super::{RtpsWriter, State};
use crate::error::ConversionError;
use crate::frame::{Frame, QueueBound};
use crate::rtps::pair_id;

/// How many times its queue limit a link holds at most for resent messages. A subscriber may request them repeatedly
/// without reading.
const MOST_WIDENED: usize = 8;

/// Appends the conversion of a message from the ROS 2 encoding to the ROS 1 encoding.
pub(crate) type ToRos1 = Box<dyn Fn(&[u8], &mut GrowingSink) -> Result<(), ConversionError> + Send + Sync>;

/// Messages by their RTPS sequence numbers.
pub(super) type Returned = SortedMap<u64, Frame>;

impl State {
    /// The messages that a reader is not known to have received over RTPS or shared memory, whose service ends here.
    /// `unacknowledged` has those of the RTPS writer.
    pub(super) fn take_returned(
        &mut self,
        pair: (EntityId, Guid),
        unacknowledged: impl IntoIterator<Item = (u64, Frame)>,
    ) -> Returned {
        let mut returned: Returned = unacknowledged.into_iter().collect();
        returned.extend(self.take_memory_link(pair));
        let is_it = |leaving: &mut LeavingReader| leaving.is_of(pair.0, pair.1);
        for leaving in self.leaving.extract_if(.., is_it) {
            returned.extend(leaving.into_waiting());
        }
        returned
    }

    /// The links to the dual node `dual_node_id` serve one of its readers, beginning with the message `from`. Before that
    /// they resend the messages that it may lack. Returns the number of lost messages.
    pub(super) fn serve_by_links(
        &mut self,
        reactor: &Reactor,
        dual_node_id: u64,
        (writer, reader): (&RtpsWriter, Guid),
        (from, returned): (u64, Returned),
    ) -> u64 {
        let pair = pair_id(writer.id(), reader.entity);
        let is_meant = |link: &Link| writer.is_meant(reader, dual_node_id, link);
        let takes = |link: &Link| is_meant(link) && link.has_statements();
        let (mut converted, mut lost) = (Vec::new(), 0);
        if self.links.iter().any(takes) {
            for (number, frame) in returned {
                match self.in_ros1_encoding(&frame) {
                    Some(frame) => converted.push((number, frame)),
                    None => lost += 1,
                }
            }
        }
        for link in self.links.iter_mut().filter(|link| is_meant(link)) {
            lost += link.resend(reactor, pair, &converted);
            link.share(reactor, |shared| shared.return_to_link(pair, from));
        }
        converted.into_iter().for_each(|(_, frame)| self.recycle(frame));
        lost
    }

    fn in_ros1_encoding(&mut self, frame: &Frame) -> Option<Frame> {
        let to_ros1 = self.to_ros1.take()?;
        let framed = self.framed(false, |out| to_ros1(frame.as_ref(), out)).ok();
        self.to_ros1 = Some(to_ros1);
        framed
    }
}

impl Link {
    /// Sends messages that are for one pair only. Returns the number of dropped messages.
    fn resend(&mut self, reactor: &Reactor, pair: PairId, messages: &[(u64, Frame)]) -> u64 {
        if messages.is_empty() || !self.has_statements() {
            return 0;
        }
        self.raise_limit(messages);
        self.resends = true;
        let (mut next, mut dropped) = (None, 0);
        for (number, frame) in messages {
            if next != Some(*number) {
                let at = self.next_number() as u32;
                self.state(reactor, Statement::Resent { id: pair.id(), at, number: *number });
            }
            next = Some(*number + 1);
            dropped += self.send_or_queue(reactor, frame);
        }
        self.resends = false;
        self.flush_if_waiting(reactor);
        dropped
    }

    /// Raises the queue limit for these messages.
    fn raise_limit(&mut self, messages: &[(u64, Frame)]) {
        let bound = self.bound();
        // Includes a length prefix and a statement for each message.
        let bytes: usize = messages.iter().map(|(_, frame)| frame.as_ref().len() + 64).sum();
        let most = |usual: usize, wanted: usize| wanted.min(usual.saturating_mul(MOST_WIDENED)).max(usual);
        let waiting = self.waiting_bound();
        self.raise_limit_to(QueueBound {
            messages: most(bound.messages, bound.messages.saturating_add(waiting.messages + messages.len())),
            bytes: most(bound.bytes, bound.bytes.saturating_add(waiting.bytes + bytes)),
        });
    }
}
