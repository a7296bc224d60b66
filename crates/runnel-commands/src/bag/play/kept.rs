//! The messages from before the start that late subscribers would have got.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use runnel_bag::Channel;

use super::played_type;
use super::prefetch::Next;
use super::source::Source;
use crate::bag::inputs::{Found, Wanted};

/// Most bytes of these messages.
const MOST_BYTES: usize = 64 << 20;

/// How often `goes_on` is asked.
const STEP: Duration = Duration::from_millis(20);

/// The last messages of each of these channels before a time, as many as its publishers kept. Empty if the playing ends
/// before.
pub fn before(
    source: &Source,
    channels: &[Channel],
    played: &[usize],
    start: u64,
    goes_on: impl Fn() -> bool,
) -> Vec<Found> {
    let depths = played.iter().map(|position| (*position, played_type::kept(&channels[*position])));
    let depths: BTreeMap<usize, usize> = depths.filter(|(_, depth)| *depth > 0).collect();
    if depths.is_empty() || start == 0 {
        return Vec::new();
    }
    let channels = Some(depths.keys().copied().collect());
    let reading = source.read(Wanted { channels, start: None, end: Some(start - 1) });
    let mut kept = Kept::new(depths, MOST_BYTES);
    while goes_on() {
        match reading.next(STEP) {
            Next::Read(read) => {
                // Damaged parts are reported when the bag is played.
                if let Ok(found) = *read {
                    // What is kept of a short message counts as well.
                    kept.push(found.channel, found.message.data.len() + 4 * size_of::<Found>(), found);
                }
            }
            Next::Wait => {}
            Next::End => return kept.into_messages().collect(),
        }
    }
    Vec::new()
}

/// The last messages of channels, within a limit of all.
struct Kept<T> {
    /// Most messages, by channel.
    depths: BTreeMap<usize, usize>,
    most_bytes: usize,
    /// By the order in which they came: channel, length and message.
    messages: BTreeMap<u64, (usize, usize, T)>,
    /// Their numbers in that order, by channel.
    numbers: BTreeMap<usize, VecDeque<u64>>,
    next: u64,
    bytes: usize,
}

impl<T> Kept<T> {
    fn new(depths: BTreeMap<usize, usize>, most_bytes: usize) -> Self {
        let (messages, numbers) = (BTreeMap::new(), BTreeMap::new());
        Self { depths, most_bytes, messages, numbers, next: 0, bytes: 0 }
    }

    /// Adds a message. The channel's oldest one goes for it, or the oldest of all if there are too many bytes.
    fn push(&mut self, channel: usize, len: usize, message: T) {
        let depth = self.depths.get(&channel).copied().unwrap_or_default();
        let numbers = self.numbers.entry(channel).or_default();
        numbers.push_back(self.next);
        let replaced = if numbers.len() > depth { numbers.pop_front() } else { None };
        self.bytes += len;
        self.messages.insert(self.next, (channel, len, message));
        self.next += 1;
        if let Some((_, len, _)) = replaced.and_then(|number| self.messages.remove(&number)) {
            self.bytes -= len;
        }
        while self.bytes > self.most_bytes {
            let Some((_, (channel, len, _))) = self.messages.pop_first() else { break };
            self.bytes -= len;
            // It is the oldest of its channel, too.
            self.numbers.entry(channel).or_default().pop_front();
        }
    }

    /// The messages in the order in which they came.
    fn into_messages(self) -> impl Iterator<Item = T> {
        self.messages.into_values().map(|(_, _, message)| message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of messages of these channels and lengths. Channel 0 keeps two, channel 1 keeps one.
    fn kept(messages: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let mut kept = Kept::new([(0, 2), (1, 1)].into(), 10);
        messages.iter().for_each(|(channel, len)| kept.push(*channel, *len, (*channel, *len)));
        kept.into_messages().collect()
    }

    #[test]
    fn each_channel_keeps_its_last_messages() {
        assert_eq!(kept(&[(0, 1), (1, 2), (0, 3), (1, 4), (0, 2)]), [(0, 3), (1, 4), (0, 2)]);
    }

    #[test]
    fn oldest_of_all_goes_first() {
        assert_eq!(kept(&[(0, 6), (1, 3), (0, 2)]), [(1, 3), (0, 2)]);
        assert_eq!(kept(&[(0, 6), (1, 3), (0, 2), (0, 1)]), [(1, 3), (0, 2), (0, 1)]);
        assert_eq!(kept(&[(0, 6), (1, 11)]), []);
    }
}
