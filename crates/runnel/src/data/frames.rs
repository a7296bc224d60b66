//! Frames whose memory is used again, shared by all links that have not sent them yet.

use std::cell::Cell;
use std::sync::Arc;

/// Most frames that are kept for use again.
const KEPT: usize = 8;

/// A frame longer than this is not kept once the messages have become shorter.
const LONG: usize = 1 << 20;

/// A frame up to so many bytes is one that its thread has at hand.
pub(super) const SHORT: usize = 1024;

thread_local! {
    /// For short messages of all topics: its memory is in the cache, however many topics there are.
    static AT_HAND: Cell<Option<Arc<Vec<u8>>>> = const { Cell::new(None) };
}

/// Frames to write messages into.
#[derive(Debug, Default)]
pub(super) struct FramePool {
    frames: Vec<Arc<Vec<u8>>>,
}

impl FramePool {
    /// A frame that `write` has filled; with `short` it may be the one that this thread has at hand. In the steady state
    /// its memory was used before.
    pub(super) fn filled(&mut self, short: bool, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        self.taken(short, |bytes| {
            bytes.clear();
            write(bytes);
        })
    }

    /// The same, where `write` finds whatever was there.
    pub(super) fn taken(&mut self, short: bool, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        let at_hand = if short { take_at_hand() } else { None };
        let mut frame = at_hand.or_else(|| self.free()).unwrap_or_default();
        if let Some(bytes) = Arc::get_mut(&mut frame) {
            write(bytes);
            if bytes.capacity() > LONG && bytes.len() < bytes.capacity() / 4 {
                bytes.shrink_to_fit();
            }
        }
        frame
    }

    fn free(&mut self) -> Option<Arc<Vec<u8>>> {
        let free = self.frames.iter().position(|frame| Arc::strong_count(frame) == 1);
        free.map(|index| self.frames.swap_remove(index))
    }

    /// Has a frame used again: at once if nobody else holds it, or then.
    pub(super) fn give_back(&mut self, frame: Arc<Vec<u8>>) {
        let at_hand = frame.capacity() <= SHORT && Arc::strong_count(&frame) == 1;
        let over = if at_hand { put_at_hand(frame) } else { Some(frame) };
        if self.frames.len() < KEPT {
            self.frames.extend(over);
        }
    }
}

/// The frame that this thread has at hand, which nobody else holds.
fn take_at_hand() -> Option<Arc<Vec<u8>>> {
    // At the end of a thread there is none any more.
    AT_HAND.try_with(Cell::take).ok()?
}

/// Gives the one that was there.
fn put_at_hand(frame: Arc<Vec<u8>>) -> Option<Arc<Vec<u8>>> {
    AT_HAND.try_with(|place| place.replace(Some(frame))).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_frame_is_the_same_for_all_pools_of_a_thread() {
        let (mut one, mut other) = (FramePool::default(), FramePool::default());
        let first = one.filled(true, |bytes| bytes.push(1));
        let place = first.as_ptr();
        one.give_back(first);
        let held = other.filled(true, |bytes| bytes.push(2));
        assert_eq!((held.as_ptr(), held.as_slice()), (place, &[2][..]));
        other.give_back(Arc::clone(&held));
        assert_ne!(one.filled(true, |bytes| bytes.push(3)).as_ptr(), place, "it is in use");
        drop(held);
        assert_eq!(other.filled(false, |bytes| bytes.push(4)).as_ptr(), place, "it is not any more");
    }

    #[test]
    fn a_frame_that_nobody_holds_is_used_again() {
        let mut pool = FramePool::default();
        let first = pool.taken(false, |bytes| bytes.extend_from_slice(&[1; 2 * SHORT]));
        let place = first.as_ptr();
        pool.give_back(Arc::clone(&first));
        assert_ne!(pool.taken(false, |_| {}).as_ptr(), place, "it is in use");
        drop(first);
        let mut again = pool.taken(false, |bytes| bytes.truncate(2));
        assert_eq!((again.as_ptr(), again.as_slice()), (place, &[1, 1][..]));
        assert!(Arc::get_mut(&mut again).is_some());
    }

    #[test]
    fn a_frame_that_waits_is_left_alone() {
        let mut pool = FramePool::default();
        let first = pool.filled(false, |bytes| bytes.push(1));
        pool.give_back(Arc::clone(&first));
        let second = pool.filled(false, |bytes| bytes.push(2));
        assert_eq!((first.as_slice(), second.as_slice()), (&[1][..], &[2][..]));
    }
}
