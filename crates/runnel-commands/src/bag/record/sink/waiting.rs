//! Messages that wait for the definition of their type, or for the QoS of their publishers.

use std::collections::VecDeque;

use super::arrival::OwnedContent;
use super::origin::Publisher;

/// Limits of the messages that wait.
const MOST_MESSAGES: usize = 10_000;
const MOST_BYTES: usize = 64 << 20;

/// A message that waits.
#[derive(Debug)]
pub struct Waiting {
    /// Position of the topic.
    pub topic: usize,
    /// Position of the source among those of the topic.
    pub source: usize,
    /// The publisher, if it gives its last message to late subscribers.
    pub latched_by: Option<Publisher>,
    /// The message.
    pub content: OwnedContent,
}

/// The messages that wait, in the order of their arrival.
#[derive(Debug, Default)]
pub struct WaitingMessages {
    messages: VecDeque<Waiting>,
    bytes: usize,
}

impl WaitingMessages {
    /// Keeps a message. Returns the topics of older ones that were dropped for it.
    pub fn push(&mut self, message: Waiting) -> Vec<usize> {
        self.bytes += message.content.len();
        self.messages.push_back(message);
        let mut dropped = Vec::new();
        while self.messages.len() > MOST_MESSAGES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.messages.pop_front() else { break };
            self.bytes -= oldest.content.len();
            dropped.push(oldest.topic);
        }
        dropped
    }

    /// The messages.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.messages.iter()
    }

    /// Takes all messages.
    pub fn take(&mut self) -> impl Iterator<Item = Waiting> + use<> {
        std::mem::take(self).messages.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::record::sink::arrival::Content;

    fn waiting(topic: usize, data: &[u8]) -> Waiting {
        let content = Content { log_time: 1, publish_time: 1, sequence: 0, data: data.into() };
        Waiting { topic, source: 0, latched_by: None, content: content.to_owned().expect("memory") }
    }

    #[test]
    fn waiting_messages_are_bounded() {
        let mut messages = WaitingMessages::default();
        let large = vec![0; MOST_BYTES / 2 + 1];
        assert!(messages.push(waiting(3, &large)).is_empty());
        assert_eq!(messages.push(waiting(4, &large)), [3]);
        for _ in 0..2 * MOST_MESSAGES {
            messages.push(waiting(5, b"x"));
        }
        assert!(messages.messages.len() <= MOST_MESSAGES && messages.bytes <= MOST_BYTES);
        assert_eq!(messages.take().count(), MOST_MESSAGES);
        assert_eq!(messages.bytes, 0);
    }
}
