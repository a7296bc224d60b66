//! Link counters of remote ROS 2 endpoints, requested from the process that has the endpoint.
//!
//! ```text
//!  which endpoint                     ─► RTPS ─►
//!                                     ◄─ RTPS ◄─ its counters; of a subscription, its publishers by shared memory
//! ```
//! Each is a vendor message from one Runnel participant to another. It may be lost, so the request is repeated.

use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};

use super::Ros2;
use crate::driver::effect::Effects;
use crate::ros2_graph::{EndpointLinks, Gid};

/// First bytes of request and reply: the encapsulation header and the kind.
const REQUEST: [u8; 8] = [0, 1, 0, 0, 2, 0, 0, 0];
const REPLY: [u8; 8] = [0, 1, 0, 0, 4, 0, 0, 0];

/// Maximum number of publishers in a reply whose messages come by shared memory: more do not fit into one message.
const MAX_IN_MEMORY: usize = 13;

/// The endpoint of a request, and the reply.
pub(super) type RequestedLinks = (Guid, Option<EndpointLinks>);

/// A vendor message about links.
#[derive(Debug, PartialEq)]
enum LinkMessage {
    Request(EntityId),
    Reply(EntityId, EndpointLinks),
}

impl LinkMessage {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Request(of) => [&REQUEST[..], &of.0].concat(),
            Self::Reply(of, links) => {
                let counters =
                    [links.messages, links.dropped, links.corrections].map(u64::to_le_bytes).concat();
                let in_memory = links.in_memory.iter().take(MAX_IN_MEMORY).flat_map(|gid| gid.0);
                [&REPLY[..], &of.0, &counters, &in_memory.collect::<Vec<u8>>()].concat()
            }
        }
    }

    /// `None` for any other message.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if let Some(rest) = bytes.strip_prefix(&REQUEST) {
            return Some(Self::Request(EntityId(rest.try_into().ok()?)));
        }
        let (of, rest) = bytes.strip_prefix(&REPLY)?.split_first_chunk()?;
        let (messages, rest) = rest.split_first_chunk()?;
        let (dropped, rest) = rest.split_first_chunk()?;
        let (corrections, rest) = rest.split_first_chunk()?;
        let (gids, []) = rest.as_chunks() else { return None };
        let links = EndpointLinks {
            messages: u64::from_le_bytes(*messages),
            dropped: u64::from_le_bytes(*dropped),
            corrections: u64::from_le_bytes(*corrections),
            in_memory: gids.iter().take(MAX_IN_MEMORY).map(|gid| Gid(*gid)).collect(),
        };
        Some(Self::Reply(EntityId(*of), links))
    }
}

impl Ros2 {
    /// Requests the links of an endpoint from its process.
    pub(crate) fn ask_links(&mut self, of: Guid) {
        if self.requested_links.as_ref().is_none_or(|(guid, _)| *guid != of) {
            self.requested_links = Some((of, None));
        }
        self.send_link_message(of.prefix, &LinkMessage::Request(of.entity));
    }

    /// Takes the reply about an endpoint.
    pub(crate) fn take_links(&mut self, of: Guid) -> Option<EndpointLinks> {
        let (_, links) = self.requested_links.take_if(|(guid, links)| *guid == of && links.is_some())?;
        links
    }

    /// Handles a vendor message, which a participant sent to this one only.
    pub(super) fn on_vendor_message(&mut self, from: GuidPrefix, bytes: &[u8], effects: &mut Effects) {
        match LinkMessage::from_bytes(bytes) {
            Some(LinkMessage::Request(of)) => {
                if let Some(links) = self.links_of(of) {
                    self.send_link_message(from, &LinkMessage::Reply(of, links));
                }
            }
            Some(LinkMessage::Reply(of, links)) => {
                if let Some((_, reply)) =
                    self.requested_links.as_mut().filter(|(guid, _)| *guid == from.with(of))
                {
                    *reply = Some(links);
                }
            }
            None => self.on_peer_announcement(from, bytes, effects),
        }
    }

    fn send_link_message(&self, to: GuidPrefix, message: &LinkMessage) {
        if let Some(rtps) = &self.rtps {
            rtps.send_vendor_message(to, &message.to_bytes());
        }
    }

    /// Links of an endpoint of this process.
    fn links_of(&self, of: EntityId) -> Option<EndpointLinks> {
        let corrections = self.rtps.as_ref().map_or(0, |rtps| rtps.corrections_of(of));
        if let Some(end) = self.writers.get(&of) {
            let publication = end.group.upgrade()?.publication()?;
            let (messages, dropped) = (publication.published(), publication.dropped());
            return Some(EndpointLinks { messages, dropped, corrections, in_memory: Vec::new() });
        }
        let end = self.readers.get(&of)?;
        let core = end.core.upgrade()?;
        let in_memory = end.links.iter().filter(|(_, from)| from.stats.is_by_memory());
        Some(EndpointLinks {
            messages: core.received(),
            dropped: core.dropped(),
            corrections,
            in_memory: in_memory.map(|(writer, _)| Gid(writer.to_bytes())).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip_and_others_are_refused() {
        let of = EntityId::user_reader(7);
        let links = |count: u8| EndpointLinks {
            messages: u64::MAX - 1,
            dropped: 3,
            corrections: 2,
            in_memory: (0..count).map(|number| Gid([number; 16])).collect(),
        };
        for message in
            [LinkMessage::Request(of), LinkMessage::Reply(of, links(0)), LinkMessage::Reply(of, links(13))]
        {
            let bytes = message.to_bytes();
            assert!(bytes.len() <= 256 && bytes.len() % 4 == 0);
            assert_eq!(LinkMessage::from_bytes(&bytes[..bytes.len() - 1]), None);
            assert_eq!(LinkMessage::from_bytes(&bytes), Some(message));
        }
        assert_eq!(
            LinkMessage::from_bytes(&LinkMessage::Reply(of, links(15)).to_bytes()),
            Some(LinkMessage::Reply(of, links(13)))
        );
        let mut other = LinkMessage::Request(of).to_bytes();
        other[4] = 9;
        assert_eq!(LinkMessage::from_bytes(&other), None);
    }
}
