//! Iterators of the sorted map. Own types, not closures: a `for` over a reference needs their names.

use core::slice;

/// Entries of a map or members of a set that is consumed.
pub type IntoIter<T> = alloc::vec::IntoIter<T>;

/// Entries of a map, in order.
#[derive(Debug)]
pub struct Iter<'a, K, V>(pub(super) slice::Iter<'a, (K, V)>);

/// Entries of a map, in order, with values that can be changed.
#[derive(Debug)]
pub struct IterMut<'a, K, V>(pub(super) slice::IterMut<'a, (K, V)>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(borrow)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(borrow)
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(borrow_mut)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for IterMut<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(borrow_mut)
    }
}

impl<K, V> ExactSizeIterator for IterMut<'_, K, V> {}

fn borrow<K, V>((key, value): &(K, V)) -> (&K, &V) {
    (key, value)
}

fn borrow_mut<K, V>((key, value): &mut (K, V)) -> (&K, &mut V) {
    (key, value)
}
