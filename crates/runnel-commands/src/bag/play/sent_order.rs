//! Messages in the order of the times at which they were sent, as far as a window of them allows.

use std::collections::BTreeMap;

use runnel_bag::Message;

use crate::bag::inputs::{Found, Read};

/// Most bytes of the window.
const MOST_BYTES: usize = 64 << 20;

/// The order in which messages are played, and the times at which they are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MessageOrder {
    /// By the times at which they were received
    #[default]
    Received,
    /// By the times at which they were sent
    Sent,
}

/// Messages by the times at which they were sent, which stand in the place of those at which they were received. A message
/// is only in its place if fewer messages than the window has were received between it and those that were sent later.
pub struct SentOrder<I> {
    messages: I,
    /// Most messages of the window.
    most: usize,
    /// Messages are not due outside of these times: the player would wait for ever.
    range: (u64, u64),
    /// By time, and then by their numbers in the order of the bag.
    window: BTreeMap<(u64, u64), Found>,
    next_number: u64,
    bytes: usize,
}

impl<I: Iterator<Item = Read>> SentOrder<I> {
    /// Orders messages whose times are in a range, with a window of this many.
    pub fn new(messages: I, most: usize, range: (u64, u64)) -> Self {
        let (window, next_number, bytes) = (BTreeMap::new(), 0, 0);
        Self { messages, most, range, window, next_number, bytes }
    }

    fn push(&mut self, Found { channel, message }: Found) {
        let (start, end) = self.range;
        let sent = message.publish_time;
        self.bytes += message.data.len();
        let found = Found { channel, message: Message { log_time: sent.min(end).max(start), ..message } };
        self.window.insert((sent, self.next_number), found);
        self.next_number += 1;
    }

    fn pop(&mut self) -> Option<Found> {
        let (_, found) = self.window.pop_first()?;
        self.bytes -= found.message.data.len();
        Some(found)
    }
}

impl<I: Iterator<Item = Read>> Iterator for SentOrder<I> {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        while self.window.len() < self.most && self.bytes < MOST_BYTES {
            match self.messages.next() {
                Some(Ok(found)) => self.push(found),
                // Damage has no time.
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            }
        }
        self.pop().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use runnel_bag::{ChannelId, Error};

    use super::*;

    fn read(log_time: u64, publish_time: u64) -> Read {
        let data = Vec::new().into();
        let message = Message { channel: ChannelId::new(0), log_time, publish_time, sequence: 0, data };
        Ok(Found { channel: 0, message })
    }

    /// The times of these messages, which are the receiving and the sending ones.
    fn ordered(most: usize, messages: &[(u64, u64)]) -> Vec<u64> {
        let reads = messages.iter().map(|(received, sent)| read(*received, *sent));
        let ordered = SentOrder::new(reads, most, (10, 90));
        ordered.map(|read| read.expect("sound").message.log_time).collect()
    }

    #[test]
    fn messages_are_ordered_within_the_window() {
        let messages = [(20, 20), (21, 15), (22, 17), (23, 16)];
        assert_eq!(ordered(10, &messages), [15, 16, 17, 20]);
        assert_eq!(ordered(2, &messages), [15, 17, 16, 20], "16 was read too late");
        assert_eq!(ordered(1, &messages), [20, 15, 17, 16]);
    }

    #[test]
    fn times_stay_within_the_range() {
        assert_eq!(ordered(10, &[(20, u64::MAX), (30, 0), (40, 35)]), [10, 35, 90]);
        let reads = [read(20, 5), read(21, 4)].into_iter();
        let sent = SentOrder::new(reads, 10, (10, 90)).map(|read| read.expect("sound").message.publish_time);
        assert_eq!(sent.collect::<Vec<_>>(), [4, 5], "those from before keep their order");
    }

    #[test]
    fn damage_is_passed_on_at_once() {
        let error = || Err(("x".into(), Error::Truncated { at: 0 }));
        let reads = [read(20, 20), error(), read(21, 12)];
        let order: Vec<bool> =
            SentOrder::new(reads.into_iter(), 10, (10, 90)).map(|read| read.is_ok()).collect();
        assert_eq!(order, [false, true, true]);
    }
}
