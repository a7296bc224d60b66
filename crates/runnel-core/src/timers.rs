//! Queue of deadlines, at most one for each key.
//!
//! A binary heap orders the deadlines, and a sorted list of indices finds the entry of a key. Moving a deadline takes O(log n)
//! and allocates nothing. A key that comes or goes moves up to n indices as well, which is one copy of memory. A list in
//! place of a map keeps the code small that each type of key adds to a program. Equal deadlines are popped in the order of
//! their keys, whatever the order in which they were scheduled.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::time::Instant;

/// Deadlines by key, earliest first. `T` is the kind of time: [`Instant`], or [`crate::time::Time`] for a simulated clock.
///
/// A queue grows with its keys. If keys come from a peer, the owner of the queue bounds their number.
#[derive(Clone, Debug)]
pub struct Timers<K, T = Instant> {
    entries: Vec<Entry<K, T>>,
    /// The indices of `entries` in the order of their keys.
    by_key: Vec<usize>,
    /// A binary heap of indices of `entries`, earliest first.
    heap: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Entry<K, T> {
    key: K,
    at: T,
    /// Position of the entry's index in the heap.
    position: usize,
}

impl<K, T> Default for Timers<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, T> Timers<K, T> {
    /// No deadline.
    pub const fn new() -> Self {
        Self { entries: Vec::new(), by_key: Vec::new(), heap: Vec::new() }
    }

    /// The number of keys that have a deadline.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key has a deadline.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<K: Ord, T: Ord + Copy> Timers<K, T> {
    /// Sets the deadline of a key, in place of its former one.
    pub fn schedule(&mut self, key: K, at: T) {
        if let Some(position) = self.insert_or_find(key, at) {
            self.move_to(position, at);
        }
    }

    /// Sets the deadline of a key unless it has an earlier one.
    pub fn schedule_if_earlier(&mut self, key: K, at: T) {
        if let Some(position) = self.insert_or_find(key, at)
            && at < self.entry(position).at
        {
            self.move_to(position, at);
        }
    }

    /// Removes the deadline of a key. Returns it, or `None` if the key had none.
    pub fn cancel(&mut self, key: &K) -> Option<T> {
        let place = self.find(key).ok()?;
        Some(self.remove(self.by_key[place]).at)
    }

    /// Removes all deadlines of keys for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        let mut index = 0;
        while let Some(entry) = self.entries.get(index) {
            if keep(&entry.key) {
                index += 1;
            } else {
                self.remove(index);
            }
        }
    }

    /// The deadline of a key.
    pub fn deadline(&self, key: &K) -> Option<T> {
        let place = self.find(key).ok()?;
        Some(self.entries[self.by_key[place]].at)
    }

    /// The earliest deadline.
    pub fn next_deadline(&self) -> Option<T> {
        Some(self.entries[*self.heap.first()?].at)
    }

    /// The earliest deadline if it is not after `now`, and its key. For periodic deadlines: moving a deadline does not
    /// allocate.
    pub fn first_due(&self, now: T) -> Option<(T, &K)> {
        let first = &self.entries[*self.heap.first()?];
        (first.at <= now).then_some((first.at, &first.key))
    }

    /// Removes the earliest deadline if it is not after `now`, with its key; of equal ones, that of the least key.
    pub fn pop_due(&mut self, now: T) -> Option<(T, K)> {
        self.first_due(now)?;
        let Entry { key, at, .. } = self.remove(self.heap[0]);
        Some((at, key))
    }

    /// Removes all deadlines that are not after `now` and returns their keys, in order. Deadlines that the caller schedules in
    /// the past are returned by the next call, so that the loop ends.
    pub fn take_due(&mut self, now: T) -> Vec<K> {
        core::iter::from_fn(|| self.pop_due(now)).map(|(_, key)| key).collect()
    }

    /// Adds an entry and returns `None`, or returns the position in the heap of the one that the key has.
    fn insert_or_find(&mut self, key: K, at: T) -> Option<usize> {
        let place = match self.find(&key) {
            Ok(place) => return Some(self.entries[self.by_key[place]].position),
            Err(place) => place,
        };
        let index = self.entries.len();
        self.by_key.insert(place, index);
        self.entries.push(Entry { key, at, position: self.heap.len() });
        self.heap.push(index);
        self.sift_up(self.heap.len() - 1);
        None
    }

    /// The position of a key in `by_key`, or its insertion position.
    fn find(&self, key: &K) -> Result<usize, usize> {
        self.by_key.binary_search_by(|index| self.entries[*index].key.cmp(key))
    }

    fn move_to(&mut self, position: usize, at: T) {
        self.entries[self.heap[position]].at = at;
        self.sift(position);
    }

    /// Removes an entry; the last one takes its place.
    fn remove(&mut self, index: usize) -> Entry<K, T> {
        self.remove_from_heap(self.entries[index].position);
        if let Ok(place) = self.find(&self.entries[index].key) {
            self.by_key.remove(place);
        }
        let last = self.entries.len() - 1;
        if index != last
            && let Ok(place) = self.find(&self.entries[last].key)
        {
            self.by_key[place] = index;
        }
        let removed = self.entries.swap_remove(index);
        if let Some(moved) = self.entries.get(index) {
            self.heap[moved.position] = index;
        }
        removed
    }

    fn remove_from_heap(&mut self, position: usize) {
        self.heap.swap_remove(position);
        if position < self.heap.len() {
            self.entries[self.heap[position]].position = position;
            self.sift(position);
        }
    }

    /// Restores the heap order after one entry has changed.
    fn sift(&mut self, position: usize) {
        let position = self.sift_up(position);
        self.sift_down(position);
    }

    fn sift_up(&mut self, mut position: usize) -> usize {
        while let Some(parent) = position.checked_sub(1).map(|before| before / 2)
            && self.is_before(position, parent)
        {
            self.swap(position, parent);
            position = parent;
        }
        position
    }

    fn sift_down(&mut self, mut position: usize) {
        while let Some(child) = self.earlier_child(position)
            && self.is_before(child, position)
        {
            self.swap(position, child);
            position = child;
        }
    }

    fn earlier_child(&self, position: usize) -> Option<usize> {
        let (left, right) = (2 * position + 1, 2 * position + 2);
        let is_right = right < self.heap.len() && self.is_before(right, left);
        let child = if is_right { right } else { left };
        (child < self.heap.len()).then_some(child)
    }

    fn is_before(&self, one: usize, other: usize) -> bool {
        let (one, other) = (self.entry(one), self.entry(other));
        one.at.cmp(&other.at).then_with(|| one.key.cmp(&other.key)) == Ordering::Less
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for position in [one, other] {
            self.entries[self.heap[position]].position = position;
        }
    }

    fn entry(&self, position: usize) -> &Entry<K, T> {
        &self.entries[self.heap[position]]
    }
}

#[cfg(test)]
mod tests;
