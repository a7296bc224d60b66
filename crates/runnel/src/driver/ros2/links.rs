//! What links an endpoint of the ROS 2 graph has and what they carried, asked of the process that has it: nobody else knows.
//!
//! ```text
//!  which of your endpoints            ─► RTPS ─►
//!                                     ◄─ RTPS ◄─ its counters; of a subscription, whose messages come in memory
//! ```
//! Each is for one participant of Runnel alone, in a datagram that may be lost: whoever asks asks again.

use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};

use super::Ros2;
use crate::driver::effect::Effects;
use crate::ros2_graph::{EndpointLinks, Gid};

/// What question and answer begin with: the encapsulation of their bytes, and which of them it is.
const QUESTION: [u8; 8] = [0, 1, 0, 0, 2, 0, 0, 0];
const ANSWER: [u8; 8] = [0, 1, 0, 0, 4, 0, 0, 0];

/// How many publishers are told of whose messages come in memory: as many as have room in what is told at once.
const MOST_TOLD: usize = 13;

/// An endpoint of another process that is asked for, and what has been told of it.
pub(super) type Asked = (Guid, Option<EndpointLinks>);

/// What one participant tells another.
#[derive(Debug, PartialEq)]
enum Word {
    Question(EntityId),
    Answer(EntityId, EndpointLinks),
}

impl Word {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Question(of) => [&QUESTION[..], &of.0].concat(),
            Self::Answer(of, links) => {
                let counters =
                    [links.messages, links.dropped, links.corrections].map(u64::to_le_bytes).concat();
                let in_memory = links.in_memory.iter().take(MOST_TOLD).flat_map(|gid| gid.0);
                [&ANSWER[..], &of.0, &counters, &in_memory.collect::<Vec<u8>>()].concat()
            }
        }
    }

    /// `None` for what is neither.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if let Some(rest) = bytes.strip_prefix(&QUESTION) {
            return Some(Self::Question(EntityId(rest.try_into().ok()?)));
        }
        let (of, rest) = bytes.strip_prefix(&ANSWER)?.split_first_chunk()?;
        let (messages, rest) = rest.split_first_chunk()?;
        let (dropped, rest) = rest.split_first_chunk()?;
        let (corrections, rest) = rest.split_first_chunk()?;
        let (gids, []) = rest.as_chunks() else { return None };
        let links = EndpointLinks {
            messages: u64::from_le_bytes(*messages),
            dropped: u64::from_le_bytes(*dropped),
            corrections: u64::from_le_bytes(*corrections),
            in_memory: gids.iter().take(MOST_TOLD).map(|gid| Gid(*gid)).collect(),
        };
        Some(Self::Answer(EntityId(*of), links))
    }
}

impl Ros2 {
    /// Asks the process of an endpoint for its links.
    pub(crate) fn ask_links(&mut self, of: Guid) {
        if self.asked.as_ref().is_none_or(|(asked, _)| *asked != of) {
            self.asked = Some((of, None));
        }
        self.tell_word(of.prefix, &Word::Question(of.entity));
    }

    /// What has been told of an endpoint that was asked for.
    pub(crate) fn take_links(&mut self, of: Guid) -> Option<EndpointLinks> {
        let (_, links) = self.asked.take_if(|(asked, links)| *asked == of && links.is_some())?;
        links
    }

    /// A participant has told us alone something.
    pub(super) fn word_came(&mut self, from: GuidPrefix, bytes: &[u8], effects: &mut Effects) {
        match Word::from_bytes(bytes) {
            Some(Word::Question(of)) => {
                if let Some(links) = self.links_of(of) {
                    self.tell_word(from, &Word::Answer(of, links));
                }
            }
            Some(Word::Answer(of, links)) => {
                if let Some((_, told)) = self.asked.as_mut().filter(|(asked, _)| *asked == from.with(of)) {
                    *told = Some(links);
                }
            }
            None => self.neighbour_told(from, bytes, effects),
        }
    }

    fn tell_word(&self, to: GuidPrefix, word: &Word) {
        if let Some(rtps) = &self.rtps {
            rtps.send_vendor_message(to, &word.to_bytes());
        }
    }

    /// Those of an endpoint of this process.
    fn links_of(&self, of: EntityId) -> Option<EndpointLinks> {
        let corrections = self.rtps.as_ref().map_or(0, |rtps| rtps.corrections_of(of));
        if let Some(end) = self.writers.get(&of) {
            let publication = end.offer.upgrade()?.publication()?;
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
    fn what_is_told_is_understood_and_nothing_else() {
        let of = EntityId::user_reader(7);
        let links = |count: u8| EndpointLinks {
            messages: u64::MAX - 1,
            dropped: 3,
            corrections: 2,
            in_memory: (0..count).map(|number| Gid([number; 16])).collect(),
        };
        for word in [Word::Question(of), Word::Answer(of, links(0)), Word::Answer(of, links(13))] {
            let bytes = word.to_bytes();
            assert!(bytes.len() <= 256 && bytes.len() % 4 == 0);
            assert_eq!(Word::from_bytes(&bytes[..bytes.len() - 1]), None);
            assert_eq!(Word::from_bytes(&bytes), Some(word));
        }
        assert_eq!(
            Word::from_bytes(&Word::Answer(of, links(15)).to_bytes()),
            Some(Word::Answer(of, links(13)))
        );
        let mut other = Word::Question(of).to_bytes();
        other[4] = 9;
        assert_eq!(Word::from_bytes(&other), None);
    }
}
