//! Window: messages that cannot be delivered yet, and numbers that an RTPS GAP declared irrelevant.

use alloc::collections::VecDeque;

use crate::path::{Order, PathId};

/// Message in the window.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held<M> {
    number: u64,
    bytes: usize,
    /// Path of arrival, and whether that path is unordered.
    path: PathId,
    is_unordered: bool,
    message: M,
}

impl<M> Held<M> {
    pub(super) fn new(number: u64, message: M, bytes: usize, (path, order): (PathId, Order)) -> Self {
        Self { number, bytes, path, is_unordered: order != Order::Fifo, message }
    }

    pub(super) fn path(&self) -> PathId {
        self.path
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn order(&self) -> Order {
        if self.is_unordered { Order::Resent } else { Order::Fifo }
    }

    pub(super) fn into_parts(self) -> (u64, M) {
        (self.number, self.message)
    }
}

/// State of one number at or after the next one due.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Slot<M> {
    Empty,
    /// An RTPS GAP declared it irrelevant on this path.
    Gap(PathId),
    Held(Held<M>),
}

/// Window of numbers from the next one due. A slot's index is its distance from that number; there are no more slots
/// than the credit has messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Window<M> {
    slots: VecDeque<Slot<M>>,
    held: usize,
    ordered_bytes: usize,
    unordered_bytes: usize,
}

impl<M> Default for Window<M> {
    fn default() -> Self {
        Self { slots: VecDeque::new(), held: 0, ordered_bytes: 0, unordered_bytes: 0 }
    }
}

impl<M> Window<M> {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn bytes(&self) -> usize {
        self.ordered_bytes.saturating_add(self.unordered_bytes)
    }

    pub(super) fn holds(&self, ahead: Option<u64>) -> bool {
        matches!(ahead.and_then(|ahead| self.slots.get(index(ahead))), Some(Slot::Held(_)))
    }

    /// Returns the distance of the first held message.
    pub(super) fn first_held(&self) -> Option<u64> {
        if self.held == 0 {
            return None;
        }
        self.slots.iter().position(|slot| matches!(slot, Slot::Held(_))).map(|index| index as u64)
    }

    /// Returns the held messages, in order.
    pub(super) fn into_held(self) -> impl Iterator<Item = Held<M>> {
        self.slots.into_iter().filter_map(|slot| match slot {
            Slot::Held(held) => Some(held),
            Slot::Empty | Slot::Gap(_) => None,
        })
    }

    /// Returns whether this path has a GAP at the next message due.
    pub(super) fn is_gap(&self, path: PathId) -> bool {
        matches!(self.slots.front(), Some(Slot::Gap(of)) if *of == path)
    }

    fn bytes_of(&mut self, held: &Held<M>) -> &mut usize {
        if held.is_unordered { &mut self.unordered_bytes } else { &mut self.ordered_bytes }
    }

    pub(super) fn has_capacity(&self, order: Order, bytes: usize, limit: usize) -> bool {
        let used = if order == Order::Fifo { self.ordered_bytes } else { self.unordered_bytes };
        used.saturating_add(bytes) <= limit
    }

    pub(super) fn insert(&mut self, ahead: u64, held: Held<M>) {
        self.extend_to(ahead + 1);
        let bytes = self.bytes_of(&held);
        *bytes = bytes.saturating_add(held.bytes);
        self.held += 1;
        if let Some(slot) = self.slots.get_mut(index(ahead)) {
            *slot = Slot::Held(held);
        }
    }

    fn extend_to(&mut self, len: u64) {
        while (self.slots.len() as u64) < len {
            self.slots.push_back(Slot::Empty);
        }
    }

    /// Records the part of a GAP within the credit. Held messages stay.
    pub(super) fn mark_gap(&mut self, path: PathId, from: u64, to: u64, credit: u64) {
        let to = to.min(credit);
        if from >= to {
            return;
        }
        self.extend_to(to);
        let range = index(from)..index(to);
        for slot in self.slots.range_mut(range).filter(|slot| !matches!(slot, Slot::Held(_))) {
            *slot = Slot::Gap(path);
        }
    }

    /// Removes the next message due, if it is held.
    pub(super) fn pop_first(&mut self) -> Option<Held<M>> {
        match self.slots.pop_front_if(|slot| matches!(slot, Slot::Held(_)))? {
            Slot::Held(held) => {
                self.held -= 1;
                let bytes = self.bytes_of(&held);
                *bytes = bytes.saturating_sub(held.bytes);
                Some(held)
            }
            Slot::Empty | Slot::Gap(_) => None,
        }
    }

    /// Removes the first `count` numbers, which are lost; none of them is held.
    pub(super) fn skip(&mut self, count: u64) {
        let gone = index(count).min(self.slots.len());
        self.slots.drain(..gone);
    }

    /// Frees memory that only a change of path needed.
    pub(super) fn release_memory(&mut self) {
        if self.slots.is_empty() {
            self.slots = VecDeque::new();
        }
    }
}

fn index(ahead: u64) -> usize {
    usize::try_from(ahead).unwrap_or(usize::MAX)
}
