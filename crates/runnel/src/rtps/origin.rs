//! Nodes that are in both graphs tell in each who they are, so that a message goes to one of them by one graph only.

use std::io;

use runnel_io::host;
use runnel_rtps::Participant;
use runnel_rtps::wire::{EntityId, Guid};

use super::{CdrFrame, Rtps, Unsent, stamp};
use crate::frame::Frame;

/// Of letters alone: the originals take all of the user data, with the hash of the type, for garbled if any key has another
/// character than letters and digits.
const KEY: &str = "runnelorigin=";

/// A number for a node by which it is known in both graphs.
///
/// # Errors
/// When the operating system gives no random bytes.
pub(crate) fn random() -> io::Result<u64> {
    host::random()
}

/// The word of an endpoint's user data that tells of its node's origin.
pub(super) fn word(origin: u64) -> String {
    format!("{KEY}{origin:016x}")
}

/// The origin that an endpoint's user data tells of.
fn origin_in(user_data: &[u8]) -> Option<u64> {
    let mut words = user_data.split(|byte| *byte == b';');
    let digits = words.find_map(|word| word.strip_prefix(KEY.as_bytes()))?;
    let digits = str::from_utf8(digits).ok().filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// The origins of the readers that a writer has met.
fn origins(participant: &Participant<CdrFrame>, writer: EntityId) -> Vec<u64> {
    let readers = participant.matched(writer).into_iter();
    readers.filter_map(|reader| origin_in(&participant.endpoint(reader)?.user_data)).collect()
}

/// What came of writing a message.
pub(crate) struct Written<'a> {
    /// A frame that is not held any more.
    pub(crate) displaced: Option<Frame>,
    /// The readers are others than they were: how often they have changed by now, and the origins of those who are in both
    /// graphs.
    pub(crate) readers: Option<(u32, Vec<u64>)>,
    /// The message is sent when this is dropped, unless another thread has sent it.
    pub(crate) unsent: Unsent<'a>,
}

impl Rtps {
    /// Publishes a message, to readers that had changed `known` times.
    pub(crate) fn write(&self, writer: EntityId, frame: Frame, known: Option<u32>) -> Written<'_> {
        let ((displaced, readers), unsent) = self.publish(writer, |participant, now| {
            let displaced = participant.write(now, stamp(), writer, CdrFrame(frame));
            let changes = participant.reader_changes(writer);
            let readers = (known != Some(changes)).then(|| (changes, origins(participant, writer)));
            (displaced.ok().flatten().map(|frame| frame.0), readers)
        });
        Written { displaced, readers, unsent }
    }

    /// The node of this origin hears a writer by ROS 1, too. Whether it hears the writer by RTPS.
    pub(crate) fn heard_elsewhere(&self, writer: EntityId, origin: u64) -> bool {
        self.work(|participant, _| {
            participant.heard_elsewhere(writer, word(origin).as_bytes());
            origins(participant, writer).contains(&origin)
        })
    }

    /// All that the node of this origin was sent by ROS 1 has arrived: whether a writer's messages reach it by RTPS from now on.
    pub(crate) fn let_over(&self, writer: EntityId, origin: u64) -> bool {
        self.work(|participant, now| participant.let_over(now, writer, word(origin).as_bytes()))
    }

    /// It does so no longer.
    pub(crate) fn not_heard_elsewhere(&self, writer: EntityId, origin: u64) {
        self.work(|participant, now| {
            participant.not_heard_elsewhere(now, writer, word(origin).as_bytes());
        });
    }

    /// The origin of the node that an endpoint is of, if that is in both graphs.
    pub(crate) fn origin_of(&self, endpoint: Guid) -> Option<u64> {
        let participant = crate::sync::lock(&self.participant);
        origin_in(&participant.endpoint(endpoint)?.user_data)
    }

    /// The topic of an endpoint of this process, as DDS knows it.
    pub(crate) fn topic_of(&self, endpoint: EntityId) -> Option<String> {
        let participant = crate::sync::lock(&self.participant);
        let guid = participant.prefix().with(endpoint);
        participant.endpoint(guid).map(|endpoint| endpoint.topic.clone())
    }

    /// How often state of others was corrected that an endpoint of this process had been led to.
    pub(crate) fn corrections_of(&self, endpoint: EntityId) -> u64 {
        crate::sync::lock(&self.participant).corrections(endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_among_other_words_and_nothing_else_is_taken_for_one() {
        let origin = 0x0123_4567_89ab_cdef;
        for (user_data, expected) in [
            (format!("typehash=RIHS01_0;{};", word(origin)), Some(origin)),
            (word(origin), Some(origin)),
            (format!("x{}", word(origin)), None),
            ("runnelorigin=123;".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(origin_in(user_data.as_bytes()), expected, "{user_data}");
        }
        assert_eq!(origin_in(&[0xff; 40]), None);
    }
}
