//! The last messages of several publishers, within a limit of all.

use std::collections::{BTreeMap, VecDeque};

use runnel::core::wire::NoMemory;

/// The last messages, as a `T`, of each publisher or channel `K`.
#[derive(Debug)]
pub struct LastMessages<K, T> {
    limits: Limits,
    /// By their numbers in the order of arrival.
    messages: BTreeMap<u64, Kept<K, T>>,
    /// Their numbers, by publisher.
    numbers: BTreeMap<K, VecDeque<u64>>,
    next: u64,
    bytes: usize,
}

/// Limits of all messages: peers can be any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of messages.
    pub messages: usize,
    /// Their bytes.
    pub bytes: usize,
}

#[derive(Debug)]
struct Kept<K, T> {
    key: K,
    len: usize,
    message: T,
}

impl<K: Ord + Clone, T> LastMessages<K, T> {
    /// Without messages.
    pub fn new(limits: Limits) -> Self {
        Self { limits, messages: BTreeMap::new(), numbers: BTreeMap::new(), next: 0, bytes: 0 }
    }

    /// Keeps a message of `len` bytes as one of the last `depth` of its publisher. If too much is kept, the oldest messages
    /// go: their publishers may have left.
    pub fn keep(&mut self, key: K, depth: usize, len: usize, own: impl FnOnce() -> Result<T, NoMemory>) {
        while self.numbers.get(&key).is_some_and(|numbers| numbers.len() >= depth.max(1)) {
            let oldest = self.numbers.get(&key).and_then(VecDeque::front).copied();
            oldest.into_iter().for_each(|number| self.remove(number));
        }
        if len > self.limits.bytes {
            return;
        }
        while self.messages.len() >= self.limits.messages || self.bytes + len > self.limits.bytes {
            let Some(oldest) = self.messages.keys().next().copied() else { break };
            self.remove(oldest);
        }
        if let Ok(message) = own() {
            self.bytes += len;
            self.numbers.entry(key.clone()).or_default().push_back(self.next);
            self.messages.insert(self.next, Kept { key, len, message });
            self.next += 1;
        }
    }

    /// The messages in the order of their arrival.
    pub fn messages(&self) -> impl Iterator<Item = (&K, &T)> {
        self.messages.values().map(|kept| (&kept.key, &kept.message))
    }

    /// The same, without their publishers.
    pub fn into_messages(self) -> impl Iterator<Item = T> {
        self.messages.into_values().map(|kept| kept.message)
    }

    /// Removes a message, which is the oldest of its publisher.
    fn remove(&mut self, number: u64) {
        let Some(Kept { key, len, .. }) = self.messages.remove(&number) else { return };
        self.bytes -= len;
        if let Some(numbers) = self.numbers.get_mut(&key) {
            numbers.pop_front();
            if numbers.is_empty() {
                self.numbers.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of messages of these publishers and lengths. Publisher 0 keeps two, the others one.
    fn kept(messages: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let mut kept = LastMessages::new(Limits { messages: 3, bytes: 10 });
        for &(key, len) in messages {
            kept.keep(key, if key == 0 { 2 } else { 1 }, len, || Ok(len));
        }
        let of_all: usize = kept.messages().map(|(_, len)| *len).sum();
        assert_eq!((kept.bytes, kept.numbers.values().flatten().count()), (of_all, kept.messages.len()));
        assert!(
            kept.numbers.values().all(|numbers| !numbers.is_empty()),
            "publishers that left are forgotten"
        );
        kept.messages().map(|(key, len)| (*key, *len)).collect()
    }

    #[test]
    fn each_publisher_keeps_its_last_messages() {
        assert_eq!(kept(&[(0, 1), (1, 2), (0, 3), (1, 4), (0, 2)]), [(0, 3), (1, 4), (0, 2)]);
    }

    #[test]
    fn oldest_of_all_goes_first() {
        assert_eq!(kept(&[(0, 6), (1, 3), (0, 2)]), [(1, 3), (0, 2)]);
        assert_eq!(kept(&[(0, 6), (1, 3), (0, 2), (0, 1)]), [(1, 3), (0, 2), (0, 1)]);
        assert_eq!(kept(&[(1, 0), (2, 0), (3, 0), (4, 0)]), [(2, 0), (3, 0), (4, 0)]);
    }

    #[test]
    fn message_that_is_too_long_replaces_the_last_one() {
        assert_eq!(kept(&[(1, 3), (2, 1), (1, 11)]), [(2, 1)], "the older one would be wrong");
    }

    #[test]
    fn without_memory_nothing_is_kept() {
        let mut kept = LastMessages::<usize, ()>::new(Limits { messages: 3, bytes: 10 });
        kept.keep(0, 1, 5, || Err(NoMemory { bytes: 5 }));
        assert_eq!((kept.messages().count(), kept.bytes), (0, 0));
    }
}
