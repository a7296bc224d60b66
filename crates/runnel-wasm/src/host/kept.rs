//! Messages that a publisher keeps for late subscribers, so that a restored publisher has them, too.

use std::collections::VecDeque;

use runnel::QoS;
use runnel::core::qos::{Durability, History};

/// Messages of a history without a depth: small ones have far more memory than bytes, also in a checkpoint.
const MOST: usize = 10_000;

/// The last messages of a publisher with transient-local durability, serialized.
pub struct KeptMessages {
    messages: VecDeque<Vec<u8>>,
    depth: usize,
    bytes: usize,
    most_bytes: usize,
}

impl KeptMessages {
    /// `None` if late subscribers get nothing. The oldest go if the messages have more bytes than `most_bytes`.
    pub fn of(qos: &QoS, most_bytes: usize) -> Option<Self> {
        let depth = match qos.history {
            History::KeepLast => qos.depth.max(1),
            History::KeepAll => MOST,
        };
        let kept = Self { messages: VecDeque::new(), depth, bytes: 0, most_bytes };
        (qos.durability == Durability::TransientLocal).then_some(kept)
    }

    pub fn add(&mut self, message: &[u8]) {
        let is_full = self.messages.len() >= self.depth;
        let mut place = if is_full { self.remove_first() } else { Vec::new() };
        place.clear();
        place.extend_from_slice(message);
        self.bytes += place.len();
        self.messages.push_back(place);
        while self.bytes > self.most_bytes && self.messages.len() > 1 {
            self.remove_first();
        }
    }

    pub fn messages(&self) -> impl Iterator<Item = &[u8]> {
        self.messages.iter().map(Vec::as_slice)
    }

    fn remove_first(&mut self) -> Vec<u8> {
        let first = self.messages.pop_front().unwrap_or_default();
        self.bytes -= first.len();
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_without_a_depth_is_limited() {
        let mut kept = KeptMessages::of(&QoS::keep_all().transient_local(), usize::MAX).unwrap();
        for _ in 0..=MOST {
            kept.add(&[1]);
        }
        assert_eq!(kept.messages().count(), MOST);
    }

    fn kept(depth: usize, most_bytes: usize) -> Vec<Vec<u8>> {
        let mut kept = KeptMessages::of(&QoS::keep_last(depth).transient_local(), most_bytes).unwrap();
        for number in 0..5 {
            kept.add(&[number; 10]);
        }
        kept.messages().map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn last_messages_are_kept_up_to_depth_and_bytes() {
        assert_eq!(kept(2, 1000), [vec![3; 10], vec![4; 10]]);
        assert_eq!(kept(5, 35), [vec![2; 10], vec![3; 10], vec![4; 10]]);
        assert_eq!(kept(5, 1), [vec![4; 10]]);
    }

    #[test]
    fn volatile_publisher_keeps_nothing() {
        assert!(KeptMessages::of(&QoS::keep_last(5), 1000).is_none());
    }
}
