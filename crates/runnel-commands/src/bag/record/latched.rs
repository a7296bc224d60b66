//! The last messages of publishers that give them to late subscribers.

use std::collections::BTreeMap;

use runnel::Gid;

use super::arrival::{Arrival, OwnedArrival};

/// Limits of what is kept: peers can be any number.
const MOST_PUBLISHERS: usize = 4096;
const MOST_BYTES: usize = 64 << 20;

/// A publisher: one node may have several of a topic in ROS 2, but not in ROS 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Publisher {
    Node(String),
    Endpoint(Gid),
}

/// The last message of each such publisher, by topic.
#[derive(Debug, Default)]
pub struct Latched {
    kept: BTreeMap<(usize, Publisher), OwnedArrival>,
    bytes: usize,
}

impl Latched {
    /// Keeps a message in place of the publisher's last one. If too much is kept, the publisher has none from then on.
    pub fn keep(&mut self, topic: usize, message: &Arrival<'_>) {
        let publisher = match message.number {
            Some((gid, _)) => Publisher::Endpoint(gid),
            None => Publisher::Node(message.source.publisher.to_owned()),
        };
        let key = (topic, publisher);
        if let Some(replaced) = self.kept.remove(&key) {
            self.bytes -= replaced.len();
        }
        if self.kept.len() >= MOST_PUBLISHERS || self.bytes.saturating_add(message.len()) > MOST_BYTES {
            return;
        }
        if let Ok(message) = (*message).to_owned() {
            self.bytes += message.len();
            self.kept.insert(key, message);
        }
    }

    /// The messages, each with its topic.
    pub fn messages(&self) -> impl Iterator<Item = (usize, Arrival<'_>)> {
        self.kept.iter().map(|((topic, _), message)| (*topic, message.view()))
    }
}

#[cfg(test)]
mod tests {
    use runnel::core::schema::Generation;

    use super::*;
    use crate::bag::record::arrival::{Content, Source};

    fn arrival(number: Option<(Gid, u64)>, data: &[u8]) -> Arrival<'_> {
        let source = Source {
            generation: Generation::Ros2,
            type_name: "a/msg/B",
            sum: "",
            definition: "",
            publisher: "/node",
            is_latching: true,
        };
        Arrival {
            source,
            number,
            content: Content { log_time: 1, publish_time: 1, sequence: 0, data: data.into() },
        }
    }

    fn kept(latched: &Latched) -> Vec<(usize, usize)> {
        latched.messages().map(|(topic, message)| (topic, message.content.data.len())).collect()
    }

    #[test]
    fn each_publisher_of_a_node_has_its_last_message() {
        let mut latched = Latched::default();
        let [one, two] = [1, 2].map(|byte| Gid([byte; 16]));
        latched.keep(0, &arrival(Some((one, 1)), b"x"));
        latched.keep(0, &arrival(Some((two, 1)), b"xx"));
        latched.keep(0, &arrival(Some((one, 2)), b"xxx"));
        latched.keep(1, &arrival(None, b"xxxx"));
        latched.keep(1, &arrival(None, b"xxxxx"));
        assert_eq!(kept(&latched), [(0, 3), (0, 2), (1, 5)]);
    }

    #[test]
    fn kept_messages_are_bounded() {
        let mut latched = Latched::default();
        let gid = |number: usize| Gid((number as u128).to_le_bytes());
        for number in 0..2 * MOST_PUBLISHERS {
            latched.keep(0, &arrival(Some((gid(number), 1)), b"x"));
        }
        assert_eq!(kept(&latched).len(), MOST_PUBLISHERS);
        let large = vec![0; MOST_BYTES];
        latched.keep(0, &arrival(Some((gid(0), 2)), &large));
        assert_eq!(kept(&latched).len(), MOST_PUBLISHERS - 1, "its older message would be a wrong one");
        assert_eq!(latched.bytes, MOST_PUBLISHERS - 1);
    }
}
