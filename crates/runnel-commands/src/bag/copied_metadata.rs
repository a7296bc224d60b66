//! Metadata of bags that are copied into another one.

use std::collections::BTreeMap;

use runnel_bag::Metadata;
use runnel_bag::rosbag2::CUSTOM_DATA;
use serde_json::{Map, Value as Json};

use super::record::LOSS;

/// Where `ros2 bag` keeps what it knows of a file. It would describe the storage and the counts of the old one.
const ROSBAG2: &str = "rosbag2";

/// The metadata of the new bag: those of the old ones that are still true, with one record of losses and one of the
/// user's texts.
pub fn copied(metadata: Vec<Metadata>) -> Vec<Metadata> {
    let (losses, others): (Vec<_>, Vec<_>) = metadata.into_iter().partition(|one| one.name == LOSS);
    let (texts, mut others): (Vec<_>, Vec<_>) = others.into_iter().partition(|one| one.name == CUSTOM_DATA);
    others.retain(|one| one.name != ROSBAG2);
    others.extend(texts.into_iter().reduce(with_new_texts));
    others.extend(losses.into_iter().reduce(with_losses));
    others
}

/// The texts of both records. Each file of a bag has the same ones; of different bags, the first one has its text.
fn with_new_texts(mut one: Metadata, other: Metadata) -> Metadata {
    for (key, text) in other.values {
        one.values.entry(key).or_insert(text);
    }
    one
}

/// Both records of losses in one.
fn with_losses(mut one: Metadata, other: Metadata) -> Metadata {
    for (topic, counts) in other.values {
        let sum = match one.values.get(&topic) {
            Some(known) => sum(known, &counts),
            None => counts,
        };
        one.values.insert(topic, sum);
    }
    one
}

/// The sums of both objects of numbers. Text that is no such object counts as one without numbers.
fn sum(one: &str, other: &str) -> String {
    let counts = |text: &str| serde_json::from_str::<BTreeMap<String, u64>>(text).unwrap_or_default();
    let mut sums = counts(one);
    for (name, count) in counts(other) {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(count);
    }
    let sums: Map<String, Json> = sums.into_iter().map(|(name, count)| (name, count.into())).collect();
    Json::Object(sums).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(name: &str, values: &[(&str, &str)]) -> Metadata {
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Metadata { name: name.to_owned(), values: values.collect() }
    }

    #[test]
    fn records_of_several_bags_become_one() {
        let old = vec![
            metadata(LOSS, &[("/a", r#"{"lost":1,"dropped":2}"#), ("/b", r#"{"lost":7}"#)]),
            metadata(ROSBAG2, &[("serialized_metadata", "x")]),
            metadata("site", &[("name", "yard")]),
            metadata(CUSTOM_DATA, &[("robot", "r1")]),
            metadata(CUSTOM_DATA, &[("place", "hall"), ("robot", "r2")]),
            metadata(LOSS, &[("/a", r#"{"lost":18446744073709551615,"dropped":3}"#), ("/c", "bad")]),
        ];
        let losses =
            [("/a", r#"{"dropped":5,"lost":18446744073709551615}"#), ("/b", r#"{"lost":7}"#), ("/c", "bad")];
        let texts = metadata(CUSTOM_DATA, &[("place", "hall"), ("robot", "r1")]);
        assert_eq!(copied(old), [metadata("site", &[("name", "yard")]), texts, metadata(LOSS, &losses)]);
    }
}
