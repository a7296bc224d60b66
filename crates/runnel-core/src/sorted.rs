//! Sorted tables: a map and a set over one vector, with the methods of [`BTreeMap`](alloc::collections::BTreeMap) that
//! Runnel uses.
//!
//! The tables of a node are small. There a vector is smaller and faster than a tree. Each pair of types also adds a tenth of
//! the code that it adds for a tree, which counts in an unoptimized program, where nothing is inlined or merged.
//!
//! A lookup takes O(log n). An insertion or a removal moves up to n entries, so large values of a table that a peer can grow
//! are boxed. Memory is given back when most entries are gone. A table that a peer can grow beyond some thousands of entries
//! is a `BTreeMap`.

mod entry;
mod iter;
mod map;
mod set;
#[cfg(test)]
mod tests;

pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use iter::{IntoIter, Iter, IterMut};
pub use map::SortedMap;
pub use set::SortedSet;

use alloc::vec::Vec;

/// Tables up to this capacity keep it, so that insertions and removals in the steady state do not allocate.
const KEPT_CAPACITY: usize = 64;

/// Frees memory if only a quarter of it is used, so that memory shrinks after a flood.
fn shrink<T>(entries: &mut Vec<T>) {
    if entries.capacity() > KEPT_CAPACITY && entries.len() < entries.capacity() / 4 {
        entries.shrink_to(entries.len() * 2);
    }
}
