//! Place of a key in a sorted map.

use super::SortedMap;

/// Place of a key, with its entry or without one.
#[derive(Debug)]
pub enum Entry<'a, K, V> {
    /// The key has an entry.
    Occupied(OccupiedEntry<'a, K, V>),
    /// The key has no entry.
    Vacant(VacantEntry<'a, K, V>),
}

/// Entry of a key.
#[derive(Debug)]
pub struct OccupiedEntry<'a, K, V> {
    pub(super) map: &'a mut SortedMap<K, V>,
    pub(super) index: usize,
}

/// Place of a key without an entry.
#[derive(Debug)]
pub struct VacantEntry<'a, K, V> {
    pub(super) map: &'a mut SortedMap<K, V>,
    pub(super) index: usize,
    pub(super) key: K,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value; inserts `value` if vacant.
    pub fn or_insert(self, value: V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(value),
        }
    }

    /// The value; inserts the result of `make` if vacant.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(make()),
        }
    }

    /// The value; inserts the default if vacant.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<'a, K, V> OccupiedEntry<'a, K, V> {
    /// The key.
    pub fn key(&self) -> &K {
        &self.map.entries[self.index].0
    }

    /// The value.
    pub fn get(&self) -> &V {
        &self.map.entries[self.index].1
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.map.entries[self.index].1
    }

    /// The value, for as long as the map is borrowed.
    pub fn into_mut(self) -> &'a mut V {
        &mut self.map.entries[self.index].1
    }

    /// Removes the entry. Returns its value.
    pub fn remove(self) -> V {
        self.map.remove_at(self.index).1
    }
}

impl<'a, K, V> VacantEntry<'a, K, V> {
    /// Sets the value.
    pub fn insert(self, value: V) -> &'a mut V {
        self.map.entries.insert(self.index, (self.key, value));
        &mut self.map.entries[self.index].1
    }
}
