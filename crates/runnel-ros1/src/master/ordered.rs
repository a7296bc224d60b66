//! Map that keeps its keys in order of insertion.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// A map whose keys are listed in order of first insertion, which is the order of every list that the master returns.
/// Operations on one key take logarithmic time.
#[derive(Clone, Debug)]
pub(super) struct Ordered<K, V> {
    slots: BTreeMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
    next: u64,
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self { slots: BTreeMap::new(), order: BTreeMap::new(), next: 0 }
    }
}

impl<K: Ord + Clone, V> Ordered<K, V> {
    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the map is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether a key is in the map.
    pub(super) fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.slots.contains_key(key)
    }

    /// The value of a key.
    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.slots.get(key).map(|(_, value)| value)
    }

    /// The mutable value of a key; its position stays.
    pub(super) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.slots.get_mut(key).map(|(_, value)| value)
    }

    /// The stored key, so that its text can be shared.
    pub(super) fn stored_key<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&K>
    where
        K: Borrow<Q>,
    {
        self.slots.get_key_value(key).map(|(key, _)| key)
    }

    /// The value of a key, inserted at the end if it is missing.
    pub(super) fn entry(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        let Self { slots, order, next } = self;
        let slot = slots.entry(key.clone()).or_insert_with(|| {
            let place = *next;
            *next += 1;
            order.insert(place, key.clone());
            (place, make())
        });
        &mut slot.1
    }

    /// Sets the value of a key. An existing key keeps its position; a new one is inserted at the end.
    pub(super) fn insert(&mut self, key: &K, value: V) -> Option<V> {
        if let Some(old) = self.get_mut(key) {
            return Some(std::mem::replace(old, value));
        }
        self.entry(key, || value);
        None
    }

    /// Removes a key.
    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (place, value) = self.slots.remove(key)?;
        self.order.remove(&place);
        Some(value)
    }

    /// Removes the first key.
    pub(super) fn pop_first(&mut self) -> Option<(K, V)> {
        let (_, key) = self.order.pop_first()?;
        let (_, value) = self.slots.remove(&key)?;
        Some((key, value))
    }

    /// The keys in order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.order.values()
    }

    /// Keys and values in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.order.values().filter_map(|key| Some((key, self.get(key)?)))
    }

    /// Keeps only the keys that pass.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        let Self { slots, order, .. } = self;
        order.retain(|_, key| {
            let kept = keep(key);
            if !kept {
                slots.remove(key);
            }
            kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(map: &Ordered<String, u32>) -> Vec<&str> {
        map.keys().map(String::as_str).collect()
    }

    #[test]
    fn keys_keep_insertion_order() {
        let mut map = Ordered::default();
        for (key, value) in [("z", 1), ("a", 2), ("m", 3), ("z", 4)] {
            map.insert(&key.to_owned(), value);
        }
        assert_eq!(keys(&map), ["z", "a", "m"]);
        assert_eq!(map.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [4, 2, 3]);
    }

    #[test]
    fn reinserted_key_is_last() {
        let mut map = Ordered::default();
        for key in ["z", "a"] {
            map.insert(&key.to_owned(), 0);
        }
        assert_eq!(map.remove("z"), Some(0));
        map.insert(&"z".to_owned(), 1);
        assert_eq!(keys(&map), ["a", "z"]);
        assert_eq!(map.pop_first(), Some(("a".to_owned(), 0)));
        assert_eq!(map.len(), 1);
    }

    #[test]
    fn dropped_key_is_removed_from_both_indexes() {
        let mut map = Ordered::default();
        for key in ["c", "b", "a"] {
            map.insert(&key.to_owned(), 0);
        }
        map.retain(|key| key != "b");
        assert_eq!(keys(&map), ["c", "a"]);
        assert!(!map.contains("b") && map.contains("a"));
        assert_eq!(map.stored_key("c").map(String::as_str), Some("c"));
        assert!(!map.is_empty());
    }
}
