//! Sorted map.

use super::{Entry, IntoIter, Iter, IterMut, OccupiedEntry, VacantEntry};
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt::{self, Debug, Formatter};
use core::ops::{Bound, Range, RangeBounds};

/// Map in one vector, in the order of the keys.
///
/// Every method behaves as that of the same name of [`BTreeMap`](alloc::collections::BTreeMap).
#[derive(Clone, PartialEq, Eq)]
pub struct SortedMap<K, V> {
    pub(super) entries: Vec<(K, V)>,
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the map has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
        super::shrink(&mut self.entries);
    }

    /// The entries, in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.entries.iter())
    }

    /// The entries, in order, with values that can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut(self.entries.iter_mut())
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The values, in the order of their keys.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The values, in the order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.entries.into_iter().map(|(_, value)| value)
    }

    /// The entry with the least key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.entries.first().map(|(key, value)| (key, value))
    }

    /// Removes the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        if self.entries.is_empty() { None } else { Some(self.remove_at(0)) }
    }

    /// Removes the entry with the greatest key.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let last = self.entries.len().checked_sub(1)?;
        Some(self.remove_at(last))
    }

    /// Removes the entries for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
        super::shrink(&mut self.entries);
    }

    pub(super) fn remove_at(&mut self, index: usize) -> (K, V) {
        let removed = self.entries.remove(index);
        super::shrink(&mut self.entries);
        removed
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Whether a key has an entry.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match self.find(key) {
            Ok(index) => Some(&self.entries[index].1),
            Err(_) => None,
        }
    }

    /// The value of a key.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        match self.find(key) {
            Ok(index) => Some(&mut self.entries[index].1),
            Err(_) => None,
        }
    }

    /// Sets the value of a key. Returns the former value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find_for_insertion(&key) {
            Ok(index) => Some(core::mem::replace(&mut self.entries[index].1, value)),
            Err(index) => {
                self.entries.insert(index, (key, value));
                None
            }
        }
    }

    /// Removes the entry of a key. Returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match self.find(key) {
            Ok(index) => Some(self.remove_at(index).1),
            Err(_) => None,
        }
    }

    /// The place of a key, with its entry or without one.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.find_for_insertion(&key) {
            Ok(index) => Entry::Occupied(OccupiedEntry { map: self, index }),
            Err(index) => Entry::Vacant(VacantEntry { map: self, index, key }),
        }
    }

    /// The entry with the greatest key, to be removed or changed.
    pub fn last_entry(&mut self) -> Option<OccupiedEntry<'_, K, V>> {
        let index = self.entries.len().checked_sub(1)?;
        Some(OccupiedEntry { map: self, index })
    }

    /// The entries with keys in a range.
    pub fn range<R: RangeBounds<K>>(&self, range: R) -> Iter<'_, K, V> {
        Iter(self.entries[self.indices(range.start_bound(), range.end_bound())].iter())
    }

    /// The entries with keys in a range.
    pub fn range_mut<R: RangeBounds<K>>(&mut self, range: R) -> IterMut<'_, K, V> {
        let indices = self.indices(range.start_bound(), range.end_bound());
        IterMut(self.entries[indices].iter_mut())
    }

    /// Removes the entries with keys in a range.
    pub fn drain<R: RangeBounds<K>>(&mut self, range: R) -> impl Iterator<Item = (K, V)> {
        let indices = self.indices(range.start_bound(), range.end_bound());
        let removed: Vec<_> = self.entries.drain(indices).collect();
        super::shrink(&mut self.entries);
        removed.into_iter()
    }

    /// The index of a key, or its insertion index.
    pub(super) fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        let entries = self.entries.as_slice();
        let (mut begin, mut end) = (0, entries.len());
        while begin < end {
            let middle = (begin + end) / 2;
            match entries[middle].0.borrow().cmp(key) {
                Ordering::Less => begin = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => end = middle,
            }
        }
        Err(begin)
    }

    /// As [`SortedMap::find`], and in one comparison if the key is the new greatest one: keys often arrive in order.
    fn find_for_insertion(&self, key: &K) -> Result<usize, usize> {
        match self.entries.last() {
            Some((last, _)) if last < key => Err(self.entries.len()),
            _ => self.find(key),
        }
    }

    fn indices(&self, start: Bound<&K>, end: Bound<&K>) -> Range<usize> {
        let start = match start {
            Bound::Included(key) => self.index(key, Ordering::Equal),
            Bound::Excluded(key) => self.index(key, Ordering::Greater),
            Bound::Unbounded => 0,
        };
        let end = match end {
            Bound::Included(key) => self.index(key, Ordering::Greater),
            Bound::Excluded(key) => self.index(key, Ordering::Equal),
            Bound::Unbounded => self.entries.len(),
        };
        start..end.max(start)
    }

    /// The index of the first entry from a key on, or after it (`Ordering::Greater`).
    fn index(&self, key: &K, from: Ordering) -> usize {
        match self.find(key) {
            Ok(index) => index + usize::from(from == Ordering::Greater),
            Err(index) => index,
        }
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Debug, V: Debug> Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<(K, V)>;

    fn into_iter(self) -> IntoIter<(K, V)> {
        self.entries.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> IterMut<'a, K, V> {
        self.iter_mut()
    }
}
