//! Sorted set.

use super::IntoIter;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt::{self, Debug, Formatter};
use core::ops::{Bound, RangeBounds};
use core::slice;

/// Set in one vector, in order.
///
/// Every method behaves as that of the same name of [`BTreeSet`](alloc::collections::BTreeSet).
#[derive(Clone, PartialEq, Eq)]
pub struct SortedSet<T> {
    pub(super) members: Vec<T>,
}

impl<T> SortedSet<T> {
    /// An empty set.
    pub const fn new() -> Self {
        Self { members: Vec::new() }
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the set has no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.members.clear();
        super::shrink(&mut self.members);
    }

    /// The members, in order.
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.members.iter()
    }

    /// The least member.
    pub fn first(&self) -> Option<&T> {
        self.members.first()
    }

    /// Removes the least member.
    pub fn pop_first(&mut self) -> Option<T> {
        if self.members.is_empty() { None } else { Some(self.remove_at(0)) }
    }

    /// Removes the members for which `keep` is false.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.members.retain(keep);
        super::shrink(&mut self.members);
    }

    fn remove_at(&mut self, index: usize) -> T {
        let removed = self.members.remove(index);
        super::shrink(&mut self.members);
        removed
    }
}

impl<T: Ord> SortedSet<T> {
    /// Whether a value is a member.
    pub fn contains<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.find(value).is_ok()
    }

    /// Adds a member. Returns false if it was one.
    pub fn insert(&mut self, value: T) -> bool {
        let index = match self.members.last() {
            // Members often arrive in order.
            Some(last) if *last < value => Err(self.members.len()),
            _ => self.find(&value),
        };
        match index {
            Ok(_) => false,
            Err(index) => {
                self.members.insert(index, value);
                true
            }
        }
    }

    /// Merges sorted values, and keeps the `most` smallest members.
    pub fn merge_least(&mut self, values: impl IntoIterator<Item = T>, most: usize) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_none() {
            return;
        }
        let mut members = core::mem::take(&mut self.members).into_iter().peekable();
        while self.members.len() < most {
            let order = match (members.peek(), values.peek()) {
                (Some(member), Some(value)) => member.cmp(value),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            // Of two equal ones, the member stays.
            let value = if order == Ordering::Less { None } else { values.next() };
            let member = if order == Ordering::Greater { None } else { members.next() };
            self.members.extend(member.or(value));
        }
    }

    /// Removes a member. Returns false if it was none.
    pub fn remove<Q: Ord + ?Sized>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        match self.find(value) {
            Ok(index) => {
                self.remove_at(index);
                true
            }
            Err(_) => false,
        }
    }

    /// The members in a range.
    pub fn range<R: RangeBounds<T>>(&self, range: R) -> slice::Iter<'_, T> {
        let start = match range.start_bound() {
            Bound::Included(value) => self.index(value, Ordering::Equal),
            Bound::Excluded(value) => self.index(value, Ordering::Greater),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(value) => self.index(value, Ordering::Greater),
            Bound::Excluded(value) => self.index(value, Ordering::Equal),
            Bound::Unbounded => self.members.len(),
        };
        self.members[start..end.max(start)].iter()
    }

    /// The index of the first member from a value on, or after it (`Ordering::Greater`).
    fn index(&self, value: &T, from: Ordering) -> usize {
        match self.find(value) {
            Ok(index) => index + usize::from(from == Ordering::Greater),
            Err(index) => index,
        }
    }

    /// The index of a member, or its insertion index.
    fn find<Q: Ord + ?Sized>(&self, value: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        let members = self.members.as_slice();
        let (mut begin, mut end) = (0, members.len());
        while begin < end {
            let middle = (begin + end) / 2;
            match members[middle].borrow().cmp(value) {
                Ordering::Less => begin = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => end = middle,
            }
        }
        Err(begin)
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Debug> Debug for SortedSet<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = Self::new();
        set.extend(values);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        self.members.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.members.iter()
    }
}
