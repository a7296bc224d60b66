//! Where two streams of one ROS 1 publisher meet. Both hosts receive its messages, over connections that began at different
//! times, and messages carry no numbers: only their contents, and silence, show which are the same.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use runnel::core::time::Instant;

/// Messages of each stream that are compared, at most.
const WINDOW: usize = 1024;

/// Different contents that an overlap must have: a topic that repeats its messages shows nothing.
const DIFFERENT: usize = 3;

/// The least offset: the target has the latched message, which the source has received before it began to count.
const EARLIEST: i64 = -1;

/// After this time without a message, both hosts have received all.
const SILENCE: Duration = Duration::from_secs(1);

/// The digests of the last messages of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tail {
    /// Messages of the stream until now.
    count: u64,
    digests: VecDeque<u64>,
}

impl Tail {
    pub fn add(&mut self, digest: u64) {
        if self.digests.len() >= WINDOW {
            self.digests.pop_front();
        }
        self.digests.push_back(digest);
        self.count += 1;
    }

    fn first(&self) -> i64 {
        (self.count - self.digests.len() as u64) as i64
    }

    fn end(&self) -> i64 {
        self.count as i64
    }

    fn get(&self, index: i64) -> Option<u64> {
        self.digests.get(usize::try_from(index - self.first()).ok()?).copied()
    }

    /// Whether the counts agree with the digests, in a tail from another host.
    pub fn is_sound(&self) -> bool {
        self.digests.len() <= WINDOW && self.count >= self.digests.len() as u64 && self.count < 1 << 60
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Meeting {
    /// The stream of the other host, which the guest has received.
    source: Tail,
    own: Tail,
    /// The largest offset: this host's connection stood before.
    most: i64,
    changed: Instant,
}

impl Meeting {
    /// With what the other host has received until now.
    pub fn new(source: Tail, now: Instant) -> Self {
        Self { most: source.end(), source, own: Tail::default(), changed: now }
    }

    /// This host has received a message.
    pub fn add_own(&mut self, digest: u64, now: Instant) {
        self.own.add(digest);
        self.changed = now;
    }

    /// The other host has received a message.
    pub fn add_of_source(&mut self, digest: u64, now: Instant) {
        self.source.add(digest);
        self.changed = now;
    }

    /// Messages that the guest has received from the other host.
    pub fn received(&self) -> u64 {
        self.source.count
    }

    /// How many messages the other host had received before the first one of this host. `None` if that is not known.
    pub fn offset(&self, now: Instant) -> Option<i64> {
        let offset = if now.since(self.changed) >= SILENCE { self.offset_in_silence() } else { None };
        offset.or_else(|| self.offset_by_contents())
    }

    /// When [`offset`](Self::offset) may be known without a further message.
    pub fn due(&self) -> Instant {
        self.changed + SILENCE
    }

    /// Both streams end with the same message.
    pub fn offset_in_silence(&self) -> Option<i64> {
        let offset = self.source.end() - self.own.end();
        self.overlap(offset).all(|(own, source)| own == source).then_some(offset)
    }

    /// The only offset with which all messages that both hosts have are the same. That there are none yet is possible, too.
    fn offset_by_contents(&self) -> Option<i64> {
        if !has_different(self.own.digests.iter().copied()) {
            return None;
        }
        let least = (self.source.first() - self.own.end() + 1).max(EARLIEST);
        // The other host is not behind by more messages than are compared.
        let most =
            if self.own.first() == 0 { self.source.end() } else { self.source.end() - self.own.first() - 1 };
        let mut agreeing = (least..=self.most.min(most))
            .filter(|offset| self.overlap(*offset).all(|(own, source)| own == source));
        let offset = agreeing.next()?;
        let is_only = agreeing.next().is_none();
        (is_only && has_different(self.overlap(offset).map(|(own, _)| own))).then_some(offset)
    }

    /// The pairs of digests at the same places, if the streams have this offset.
    fn overlap(&self, offset: i64) -> impl Iterator<Item = (u64, u64)> {
        let first = self.own.first().max(self.source.first() - offset);
        let end = self.own.end().min(self.source.end() - offset);
        (first..end).filter_map(move |at| Some((self.own.get(at)?, self.source.get(at + offset)?)))
    }
}

fn has_different(digests: impl Iterator<Item = u64>) -> bool {
    let mut different = BTreeSet::new();
    digests.into_iter().any(|digest| different.insert(digest) && different.len() >= DIFFERENT)
}

/// A digest of a message. Two messages that a program publishes have different ones, though not those of one that wants to
/// mislead: it would mislead its own subscribers.
pub fn digest(message: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let (words, rest) = message.as_chunks::<8>();
    let sum = words.iter().fold(message.len() as u64, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte))).wrapping_mul(FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_000_000_000);
    const LATER: Instant = Instant(2_500_000_000);

    fn meeting(source: &[u64], own: &[u64]) -> Meeting {
        let mut tail = Tail::default();
        source.iter().for_each(|digest| tail.add(*digest));
        let mut meeting = Meeting::new(tail, NOW);
        own.iter().for_each(|digest| meeting.add_own(*digest, NOW));
        meeting
    }

    /// The offset once the other host has received these messages, too.
    fn offset_after(mut meeting: Meeting, later: &[u64]) -> Option<i64> {
        assert_eq!(meeting.offset(NOW), None, "those of this host may all be new");
        later.iter().for_each(|digest| meeting.add_of_source(*digest, NOW));
        meeting.offset(NOW)
    }

    #[test]
    fn different_messages_show_where_the_streams_meet() {
        assert_eq!(offset_after(meeting(&[1, 2, 3, 4, 5], &[3, 4, 5]), &[6]), Some(2));
        assert_eq!(
            offset_after(meeting(&[1, 2, 3], &[3, 4, 5, 6, 7]), &[4, 5]),
            Some(2),
            "this host is ahead"
        );
        assert_eq!(
            offset_after(meeting(&[1, 2, 3, 4, 5, 6], &[2, 3, 4]), &[7]),
            Some(1),
            "this host is behind"
        );
        assert_eq!(offset_after(meeting(&[1, 2, 3], &[4, 5, 6]), &[4, 5, 6]), Some(3), "the first is new");
        assert_eq!(offset_after(meeting(&[1, 2], &[9, 1, 2, 3]), &[3]), Some(-1), "the first was latched");
        assert_eq!(offset_after(meeting(&[1, 2, 3], &[2, 3, 4]), &[]), None);
    }

    #[test]
    fn repeated_messages_show_nothing() {
        assert_eq!(meeting(&[7; 20], &[7; 10]).offset(NOW), None);
        assert_eq!(meeting(&[1, 2, 3, 1, 2, 3, 1, 2, 3], &[1, 2, 3]).offset(NOW), None);
        let mut repeated = meeting(&[1, 2, 3, 1, 2, 3, 1, 2, 3], &[1, 2, 3]);
        for digest in [9, 1, 2] {
            repeated.add_own(digest, NOW);
            repeated.add_of_source(digest, NOW);
        }
        assert_eq!(repeated.offset(NOW), Some(6), "a message that is not repeated ends the doubt");
    }

    #[test]
    fn silence_shows_that_both_have_all() {
        assert_eq!(meeting(&[7, 7, 7], &[7]).offset(LATER), Some(2), "a latched message");
        assert_eq!(meeting(&[1, 2, 3], &[]).offset(LATER), Some(3));
        assert_eq!(meeting(&[1, 2, 3], &[4]).offset(LATER), None, "not the same last message");
    }

    #[test]
    fn long_streams_are_compared_by_their_ends() {
        let source: Vec<u64> = (0..5000).collect();
        let own: Vec<u64> = (1000..5000).collect();
        assert_eq!(meeting(&source, &own).offset(NOW), Some(1000));
    }

    #[test]
    fn digests_differ() {
        let messages: Vec<Vec<u8>> = (0..2000_u32).map(|number| number.to_le_bytes().repeat(3)).collect();
        let digests: BTreeSet<u64> = messages.iter().map(|message| digest(message)).collect();
        assert_eq!(digests.len(), messages.len());
        assert_ne!(digest(&[0; 8]), digest(&[0; 9]));
    }
}
