//! Size of values, in storage and on the wire.

use std::ops::{AddAssign, SubAssign};

use crate::xmlrpc::Value;

/// Overhead of each value, in bytes: about that of its tags on the wire.
const OVERHEAD: usize = 32;

/// Size of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Bytes: the text of names and values, and a fixed overhead per value.
    pub(super) bytes: usize,
    /// Number of values; each array, struct and element counts.
    pub(super) values: usize,
}

impl Size {
    /// The size with a name.
    pub(super) fn named(self, name: &str) -> Self {
        Self { bytes: self.bytes + name.len(), ..self }
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.values += other.values;
    }
}

impl SubAssign for Size {
    fn sub_assign(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_sub(other.bytes);
        self.values = self.values.saturating_sub(other.values);
    }
}

/// The size of a value without a name. The decoder has bounded its nesting.
pub(super) fn size(value: &Value) -> Size {
    let mut sum = Size { bytes: OVERHEAD + own_text(value), values: 1 };
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| sum += size(element)),
        Value::Struct(members) => members.iter().for_each(|(name, member)| sum += named(name, member)),
        _ => {}
    }
    sum
}

/// The size of a value with its name.
pub(super) fn named(name: &str, value: &Value) -> Size {
    size(value).named(name)
}

/// The size of an empty namespace with its name.
pub(super) fn namespace(name: &str) -> Size {
    Size { bytes: OVERHEAD + name.len(), values: 1 }
}

/// Nesting depth of a value; 1 for a value without elements.
pub(super) fn depth(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(elements) => elements.iter().map(depth).max(),
        Value::Struct(members) => members.values().map(depth).max(),
        _ => None,
    };
    1 + deepest.unwrap_or(0)
}

fn own_text(value: &Value) -> usize {
    match value {
        Value::String(text) | Value::DateTime(text) => text.len(),
        Value::Binary(bytes) => bytes.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_value_and_text_counts() {
        let inner = Value::Struct(BTreeMap::from([("ab".to_owned(), Value::from("cde"))]));
        let value = Value::Array(vec![Value::Int(1), inner, Value::Binary(vec![0; 10])]);
        assert_eq!(size(&value), Size { bytes: 5 * OVERHEAD + 15, values: 5 });
        assert_eq!(depth(&value), 3);
        assert_eq!(depth(&Value::Bool(true)), 1);
        assert_eq!(namespace("ab"), named("ab", &Value::Struct(BTreeMap::new())));
    }
}
