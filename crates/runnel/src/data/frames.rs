//! Frames whose memory is used again, shared by all links that have not sent them yet.

use std::cell::Cell;
use std::sync::Arc;

/// Most frames that are kept for use again.
const KEPT: usize = 8;

/// A frame longer than this is not kept once the messages have become shorter.
const LONG: usize = 1 << 20;

/// A message up to so many bytes is written into the frame that its thread has at hand.
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
    /// A frame that `write` has filled. In the steady state its memory was used before. With `short` it may be the one
    /// that this thread has at hand, which nobody is to hold for long.
    pub(super) fn filled(&mut self, short: bool, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        let at_hand = if short { take_at_hand() } else { None };
        let is_at_hand = at_hand.is_some();
        let frame = self.written(at_hand, |bytes| {
            bytes.clear();
            write(bytes);
        });
        if is_at_hand {
            put_at_hand(Arc::clone(&frame));
        } else {
            self.keep(&frame);
        }
        frame
    }

    /// A frame that nobody else holds. `write` finds in it whatever was there; it is used again if it is kept.
    pub(super) fn taken(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        self.written(None, write)
    }

    fn written(&mut self, frame: Option<Arc<Vec<u8>>>, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        let mut frame = frame.or_else(|| self.free()).unwrap_or_default();
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

    /// Has a frame used again once nobody else holds it.
    pub(super) fn keep(&mut self, frame: &Arc<Vec<u8>>) {
        if self.frames.len() < KEPT {
            self.frames.push(Arc::clone(frame));
        }
    }
}

/// The frame that this thread has at hand, unless it is in use.
fn take_at_hand() -> Option<Arc<Vec<u8>>> {
    // At the end of a thread there is none any more.
    let frame = AT_HAND.try_with(Cell::take).ok()?.unwrap_or_default();
    if Arc::strong_count(&frame) == 1 {
        return Some(frame);
    }
    put_at_hand(frame);
    None
}

fn put_at_hand(frame: Arc<Vec<u8>>) {
    let _ = AT_HAND.try_with(|place| place.set(Some(frame)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_frame_is_the_same_for_all_pools_of_a_thread_while_nobody_holds_it() {
        let (mut one, mut other) = (FramePool::default(), FramePool::default());
        let first = one.filled(true, |bytes| bytes.push(1));
        let place = first.as_ptr();
        drop(first);
        let held = other.filled(true, |bytes| bytes.push(2));
        assert_eq!((held.as_ptr(), held.as_slice()), (place, &[2][..]));
        let second = one.filled(true, |bytes| bytes.push(3));
        let own = second.as_ptr();
        assert_ne!(own, place, "it is in use");
        drop((second, held));
        assert_eq!(one.filled(true, |bytes| bytes.push(4)).as_ptr(), place);
        assert_eq!(one.filled(false, |bytes| bytes.push(5)).as_ptr(), own);
    }

    #[test]
    fn a_frame_that_nobody_holds_is_used_again() {
        let mut pool = FramePool::default();
        let first = pool.filled(false, |bytes| bytes.extend_from_slice(b"one"));
        let place = first.as_ptr();
        drop(first);
        let second = pool.filled(false, |bytes| bytes.extend_from_slice(b"two"));
        assert_eq!((second.as_ptr(), second.as_slice()), (place, &b"two"[..]));
    }

    #[test]
    fn a_frame_that_was_taken_is_used_again_once_it_is_kept() {
        let mut pool = FramePool::default();
        let first = pool.taken(|bytes| bytes.extend_from_slice(b"one"));
        let place = first.as_ptr();
        pool.keep(&first);
        assert_ne!(pool.taken(|_| {}).as_ptr(), place, "it is in use");
        drop(first);
        let mut again = pool.taken(|bytes| bytes.truncate(2));
        assert_eq!((again.as_ptr(), again.as_slice()), (place, &b"on"[..]));
        assert!(Arc::get_mut(&mut again).is_some());
    }

    #[test]
    fn a_frame_that_waits_is_left_alone() {
        let mut pool = FramePool::default();
        let first = pool.filled(false, |bytes| bytes.push(1));
        let second = pool.filled(false, |bytes| bytes.push(2));
        assert_eq!((first.as_slice(), second.as_slice()), (&[1][..], &[2][..]));
    }
}
