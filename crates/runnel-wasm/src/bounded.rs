//! Lists of a checkpoint with a limit: a list of small elements takes far more memory than its bytes.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// Elements of all lists of a checkpoint, at most.
const MOST_ELEMENTS: usize = 2_000_000;

thread_local! {
    /// How many more elements the checkpoint may have that this thread reads.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Reads a checkpoint, whose lists may be in one another.
pub fn read<T>(read: impl FnOnce() -> T) -> T {
    LEFT.set(MOST_ELEMENTS);
    read()
}

/// Reads a list of at most `MOST` elements.
pub fn list<'de, const MOST: usize, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(List::<MOST, T>(PhantomData))
}

struct List<const MOST: usize, T>(PhantomData<T>);

impl<'de, const MOST: usize, T: Deserialize<'de>> Visitor<'de> for List<MOST, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MOST} elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            let left = LEFT.get().checked_sub(1).filter(|_| list.len() < MOST);
            LEFT.set(left.ok_or_else(|| Error::custom("a list is too long"))?);
            list.push(element);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Inner(#[serde(deserialize_with = "list::<100_000, _, _>")] Vec<u8>);

    #[derive(Serialize, Deserialize)]
    struct Outer(#[serde(deserialize_with = "list::<100, _, _>")] Vec<Inner>);

    fn is_read(lists: usize, of: usize) -> bool {
        let all = Outer((0..lists).map(|_| Inner(vec![0; of])).collect());
        let bytes = postcard::to_allocvec(&all).unwrap();
        read(|| postcard::from_bytes::<Outer>(&bytes)).is_ok()
    }

    #[test]
    fn lists_are_limited_each_and_together() {
        assert!(is_read(100, 1) && !is_read(101, 1));
        assert!(is_read(1, 100_000) && !is_read(1, 100_001));
        assert!(is_read(19, 100_000) && !is_read(20, 100_000), "with the elements of the outer list");
    }
}
