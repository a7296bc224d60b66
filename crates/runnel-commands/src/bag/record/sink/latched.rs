//! The last messages of publishers that give them to late subscribers.

use std::collections::BTreeMap;

use runnel::core::wire::NoMemory;

use super::origin::Publisher;

/// Limits of what is kept: peers can be any number.
const MOST_PUBLISHERS: usize = 4096;
const MOST_BYTES: usize = 64 << 20;

/// The last message of each such publisher, by topic, as a `T`.
#[derive(Debug)]
pub struct Latched<T> {
    kept: BTreeMap<(usize, Publisher), Kept<T>>,
    bytes: usize,
    /// Messages that were kept.
    count: u64,
}

#[derive(Debug)]
struct Kept<T> {
    message: T,
    len: usize,
    /// Its number in the order of arrival.
    number: u64,
}

impl<T> Default for Latched<T> {
    fn default() -> Self {
        Self { kept: BTreeMap::new(), bytes: 0, count: 0 }
    }
}

impl<T> Latched<T> {
    /// Keeps a message of `len` bytes in place of the publisher's last one. If too much is kept, the oldest ones go: their
    /// publishers may have left.
    pub fn keep(
        &mut self,
        (topic, publisher): (usize, Publisher),
        len: usize,
        own: impl FnOnce() -> Result<T, NoMemory>,
    ) {
        let key = (topic, publisher);
        if let Some(replaced) = self.kept.remove(&key) {
            self.bytes -= replaced.len;
        }
        if len > MOST_BYTES {
            return;
        }
        while self.kept.len() >= MOST_PUBLISHERS || self.bytes + len > MOST_BYTES {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.number).map(|(key, _)| key.clone());
            let Some(gone) = oldest.and_then(|key| self.kept.remove(&key)) else { break };
            self.bytes -= gone.len;
        }
        if let Ok(message) = own() {
            self.bytes += len;
            self.count += 1;
            self.kept.insert(key, Kept { message, len, number: self.count });
        }
    }

    /// The messages, each with its topic.
    pub fn messages(&self) -> impl Iterator<Item = (usize, &T)> {
        self.kept.iter().map(|((topic, _), kept)| (*topic, &kept.message))
    }
}

#[cfg(test)]
mod tests {
    use runnel::Gid;

    use super::*;

    fn keep(latched: &mut Latched<usize>, topic: usize, publisher: Publisher, len: usize) {
        latched.keep((topic, publisher), len, || Ok(len));
    }

    fn endpoint(number: usize) -> Publisher {
        Publisher::Endpoint(Gid((number as u128).to_le_bytes()))
    }

    #[test]
    fn each_publisher_of_a_node_has_its_last_message() {
        let mut latched = Latched::default();
        let node = || Publisher::Node("/node".to_owned());
        for (topic, publisher, len) in
            [(0, endpoint(1), 1), (0, endpoint(2), 2), (0, endpoint(1), 3), (1, node(), 4), (1, node(), 5)]
        {
            keep(&mut latched, topic, publisher, len);
        }
        let kept: Vec<_> = latched.messages().map(|(topic, len)| (topic, *len)).collect();
        assert_eq!(kept, [(0, 3), (0, 2), (1, 5)]);
    }

    #[test]
    fn kept_messages_are_bounded() {
        let mut latched = Latched::default();
        for number in 0..2 * MOST_PUBLISHERS {
            keep(&mut latched, 0, endpoint(number), 1);
        }
        assert_eq!(latched.messages().count(), MOST_PUBLISHERS);
        keep(&mut latched, 0, endpoint(2 * MOST_PUBLISHERS - 1), MOST_BYTES + 1);
        assert_eq!(latched.messages().count(), MOST_PUBLISHERS - 1, "its older message would be a wrong one");
        assert_eq!(latched.bytes, MOST_PUBLISHERS - 1);
        keep(&mut latched, 0, endpoint(0), MOST_BYTES - 1);
        let kept: Vec<_> = latched.messages().map(|(_, len)| *len).collect();
        assert_eq!(kept, [MOST_BYTES - 1, 1], "the newest ones");
    }
}
