//! Random operations against the tables of the standard library.

use super::{Entry, SortedMap, SortedSet};
use alloc::collections::BTreeSet;
use alloc::collections::btree_map::{self, BTreeMap};
use alloc::vec::Vec;
use core::ops::Bound;

const ROUNDS: u64 = 40;
const OPERATIONS: usize = 500;

/// Random numbers (SplitMix64), the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % most
    }

    fn bound(&mut self, key: u64) -> Bound<u64> {
        match self.below(3) {
            0 => Bound::Included(key),
            1 => Bound::Excluded(key),
            _ => Bound::Unbounded,
        }
    }

    /// Bounds that a tree accepts: the start is before the end.
    fn bounds(&mut self, keys: u64) -> (Bound<u64>, Bound<u64>) {
        let start = self.below(keys);
        let end = start + 1 + self.below(keys);
        (self.bound(start), self.bound(end))
    }
}

/// Both kinds of map, which get the same operations.
#[derive(Default)]
struct Maps {
    sorted: SortedMap<u64, u64>,
    tree: BTreeMap<u64, u64>,
}

impl Maps {
    fn alter(&mut self, random: &mut Random, keys: u64) {
        let (key, value) = (random.below(keys), random.below(1000));
        let (sorted, tree) = (&mut self.sorted, &mut self.tree);
        match random.below(16) {
            0..5 => assert_eq!(sorted.insert(key, value), tree.insert(key, value)),
            5..8 => assert_eq!(sorted.remove(&key), tree.remove(&key)),
            8 => {
                let (ours, theirs) = (sorted.entry(key).or_insert(value), tree.entry(key).or_insert(value));
                (*ours, *theirs) = (*ours + 1, *theirs + 1);
                assert_eq!(ours, theirs);
            }
            9 => *sorted.entry(key).or_default() = *tree.entry(key).or_default(),
            10 => self.alter_by_entry(key, value),
            11 => assert_eq!(sorted.pop_first(), tree.pop_first()),
            12 => assert_eq!(sorted.pop_last(), tree.pop_last()),
            13 => {
                let bounds = random.bounds(keys);
                sorted.range_mut(bounds).for_each(|(key, value)| *value += key);
                tree.range_mut(bounds).for_each(|(key, value)| *value += key);
                assert_eq!(sorted.get_mut(&key), tree.get_mut(&key));
            }
            14 => {
                let keep = |key: &u64, value: &mut u64| !(*key + *value).is_multiple_of(7);
                sorted.retain(keep);
                tree.retain(keep);
            }
            _ => self.remove_range(random, keys),
        }
    }

    fn alter_by_entry(&mut self, key: u64, value: u64) {
        match (self.sorted.entry(key), self.tree.entry(key)) {
            (Entry::Occupied(ours), btree_map::Entry::Occupied(theirs)) => {
                assert_eq!((ours.key(), ours.get()), (theirs.key(), theirs.get()));
                assert_eq!(ours.remove(), theirs.remove());
            }
            (Entry::Vacant(ours), btree_map::Entry::Vacant(theirs)) => {
                assert_eq!(ours.insert(value), theirs.insert(value));
            }
            (ours, theirs) => panic!("{ours:?} is not {theirs:?}"),
        }
    }

    fn remove_range(&mut self, random: &mut Random, keys: u64) {
        let (sorted, tree) = (&mut self.sorted, &mut self.tree);
        let bounds = random.bounds(keys);
        let theirs: Vec<_> = tree.extract_if(bounds, |_, _| true).collect();
        assert_eq!(sorted.drain(bounds).collect::<Vec<_>>(), theirs);
    }

    fn compare(&mut self, random: &mut Random, keys: u64) {
        let (sorted, tree) = (&mut self.sorted, &mut self.tree);
        let (key, bounds) = (random.below(keys), random.bounds(keys));
        assert_eq!((sorted.len(), sorted.is_empty()), (tree.len(), tree.is_empty()));
        assert_eq!((sorted.get(&key), sorted.contains_key(&key)), (tree.get(&key), tree.contains_key(&key)));
        assert!(sorted.iter().eq(tree.iter()) && sorted.iter().rev().eq(tree.iter().rev()));
        assert!(sorted.keys().eq(tree.keys()) && sorted.values().eq(tree.values()));
        assert!(sorted.range(bounds).eq(tree.range(bounds)));
        assert!(sorted.range(bounds).rev().eq(tree.range(bounds).rev()));
        assert_eq!(sorted.first_key_value(), tree.first_key_value());
        let last = sorted.last_entry().map(|entry| *entry.key());
        assert_eq!(last, tree.last_key_value().map(|(key, _)| *key));
    }
}

#[test]
fn map_behaves_as_a_tree() {
    for seed in 0..ROUNDS {
        let (mut random, mut maps) = (Random(seed), Maps::default());
        let keys = [1, 4, 30, 1000][seed as usize % 4];
        for _ in 0..OPERATIONS {
            maps.alter(&mut random, keys);
            maps.compare(&mut random, keys);
        }
    }
}

#[test]
fn set_behaves_as_a_tree() {
    for seed in 0..ROUNDS {
        let mut random = Random(seed);
        let (mut sorted, mut tree) = (SortedSet::new(), BTreeSet::new());
        let keys = [1, 4, 30, 1000][seed as usize % 4];
        for _ in 0..OPERATIONS {
            let (key, bounds) = (random.below(keys), random.bounds(keys));
            match random.below(10) {
                0..5 => assert_eq!(sorted.insert(key), tree.insert(key)),
                5..7 => assert_eq!(sorted.remove(&key), tree.remove(&key)),
                7 => assert_eq!(sorted.pop_first(), tree.pop_first()),
                8 => merge_least(&mut random, &mut sorted, &mut tree, keys),
                _ => {
                    sorted.retain(|member| member % 5 != key % 5);
                    tree.retain(|member| member % 5 != key % 5);
                }
            }
            assert!(sorted.iter().eq(&tree) && sorted.range(bounds).eq(tree.range(bounds)));
            assert_eq!((sorted.len(), sorted.contains(&key)), (tree.len(), tree.contains(&key)));
            assert_eq!(sorted.first(), tree.first());
        }
    }
}

fn merge_least(random: &mut Random, sorted: &mut SortedSet<u64>, tree: &mut BTreeSet<u64>, keys: u64) {
    let values: BTreeSet<u64> = (0..random.below(20)).map(|_| random.below(keys)).collect();
    let most = sorted.len() + random.below(10) as usize;
    sorted.merge_least(values.iter().copied(), most);
    tree.extend(values);
    while tree.len() > most {
        tree.pop_last();
    }
}

#[test]
fn later_entry_of_a_key_replaces_the_earlier_one() {
    let map = SortedMap::from_iter([("b", 1), ("a", 2), ("b", 3)]);
    assert!(map.iter().eq([(&"a", &2), (&"b", &3)]));
    assert_eq!(SortedSet::from([3, 1, 3]).into_iter().collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn memory_of_removed_entries_is_given_back() {
    let (mut map, mut set) = (SortedMap::new(), SortedSet::new());
    map.extend((0..10_000).map(|key| (key, key)));
    set.extend(0..10_000);
    for key in 10..10_000 {
        map.remove(&key);
        set.remove(&key);
    }
    assert!(map.entries.capacity() <= super::KEPT_CAPACITY && set.members.capacity() <= super::KEPT_CAPACITY);
}

#[test]
fn memory_is_given_back_after_a_range_or_all_was_removed() {
    let is_small = |map: &SortedMap<i32, i32>| map.entries.capacity() <= super::KEPT_CAPACITY;
    let map = SortedMap::from_iter((0..10_000).map(|key| (key, key)));
    let (mut drained, mut cleared) = (map.clone(), map);
    assert_eq!(drained.drain(10..).count(), 9990);
    cleared.clear();
    assert!(is_small(&drained) && is_small(&cleared));
    let mut set = SortedSet::from_iter(0..10_000);
    set.clear();
    assert!(set.members.capacity() <= super::KEPT_CAPACITY);
}
