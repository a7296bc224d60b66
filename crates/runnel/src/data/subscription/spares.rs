//! Buffers that messages are received into, again and again.

use std::cell::Cell;

/// Most buffers that a subscription keeps for use again.
const KEPT: usize = 4;

/// Most short ones: as many as messages may come before the first callback runs.
const SHORT_KEPT: usize = 256;

/// Bytes of a short one.
const SHORT: usize = 512;

thread_local! {
    /// A short one for the messages of all topics, if it is one: it is in the cache, however many topics there are.
    static AT_HAND: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The buffers that a subscription keeps.
#[derive(Default)]
pub(crate) struct Spares(Vec<Vec<u8>>);

impl Spares {
    /// A buffer for use again, or an empty one.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// The same for a message of so many bytes: for a short one, what this thread has at hand.
    pub(super) fn take_for(&mut self, len: usize) -> Vec<u8> {
        let at_hand = if len <= SHORT { swap_at_hand(Vec::new()) } else { Vec::new() };
        if at_hand.capacity() == 0 { self.take() } else { at_hand }
    }

    /// Keeps a buffer for use again, unless it is none.
    pub(super) fn keep(&mut self, spare: Vec<u8>) {
        let short = spare.capacity() <= SHORT;
        let spare = if short { swap_at_hand(spare) } else { spare };
        let most = if short { SHORT_KEPT } else { KEPT };
        if spare.capacity() > 0 && self.0.len() < most {
            self.0.push(spare);
        }
    }
}

/// Puts a buffer in the place of the one that this thread has at hand.
fn swap_at_hand(buffer: Vec<u8>) -> Vec<u8> {
    // At the end of a thread there is none any more.
    AT_HAND.try_with(|place| place.replace(buffer)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_buffer_is_the_same_for_all_subscriptions_of_a_thread() {
        let (mut one, mut other) = (Spares::default(), Spares::default());
        let buffer = Vec::with_capacity(SHORT);
        let place = buffer.as_ptr();
        one.keep(buffer);
        assert_eq!(one.0.len(), 0);
        let taken = other.take_for(SHORT);
        assert_eq!(taken.as_ptr(), place);
        assert_eq!(other.take_for(SHORT).capacity(), 0, "it is in use");
    }

    #[test]
    fn a_long_message_takes_no_short_buffer() {
        let mut spares = Spares::default();
        spares.keep(Vec::with_capacity(SHORT));
        assert_eq!(spares.take_for(SHORT + 1).capacity(), 0);
        let long = Vec::with_capacity(SHORT + 1);
        let place = long.as_ptr();
        spares.keep(long);
        let taken = spares.take_for(SHORT + 1);
        assert_eq!(taken.as_ptr(), place);
    }

    #[test]
    fn no_more_is_kept_than_so_many_buffers() {
        let mut spares = Spares::default();
        (0..2 * KEPT).for_each(|_| spares.keep(Vec::with_capacity(SHORT + 1)));
        assert_eq!(spares.0.len(), KEPT);
        let mut spares = Spares::default();
        (0..2 * SHORT_KEPT).for_each(|_| spares.keep(Vec::with_capacity(SHORT)));
        assert_eq!(spares.0.len(), SHORT_KEPT);
        spares.keep(Vec::new());
        assert_eq!(spares.0.len(), SHORT_KEPT);
    }
}
