//! Frames whose memory is used again, shared by all links that have not sent them yet.

use std::sync::Arc;

/// Most frames that are kept for use again.
const KEPT: usize = 8;

/// A frame longer than this is not kept once the messages have become shorter.
const LONG: usize = 1 << 20;

/// Frames to write messages into.
#[derive(Debug, Default)]
pub(super) struct FramePool {
    frames: Vec<Arc<Vec<u8>>>,
}

impl FramePool {
    /// A frame that `write` has filled. In the steady state its memory was used before.
    pub(super) fn filled(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        let frame = self.taken(|bytes| {
            bytes.clear();
            write(bytes);
        });
        self.keep(&frame);
        frame
    }

    /// A frame that nobody else holds. `write` finds in it whatever was there; it is used again if it is kept.
    pub(super) fn taken(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        let free = self.frames.iter().position(|frame| Arc::strong_count(frame) == 1);
        let mut frame = free.map(|index| self.frames.swap_remove(index)).unwrap_or_default();
        if let Some(bytes) = Arc::get_mut(&mut frame) {
            write(bytes);
            if bytes.capacity() > LONG && bytes.len() < bytes.capacity() / 4 {
                bytes.shrink_to_fit();
            }
        }
        frame
    }

    /// Has a frame used again once nobody else holds it.
    pub(super) fn keep(&mut self, frame: &Arc<Vec<u8>>) {
        if self.frames.len() < KEPT {
            self.frames.push(Arc::clone(frame));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_nobody_holds_is_used_again() {
        let mut pool = FramePool::default();
        let first = pool.filled(|bytes| bytes.extend_from_slice(b"one"));
        let place = first.as_ptr();
        drop(first);
        let second = pool.filled(|bytes| bytes.extend_from_slice(b"two"));
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
        let first = pool.filled(|bytes| bytes.push(1));
        let second = pool.filled(|bytes| bytes.push(2));
        assert_eq!((first.as_slice(), second.as_slice()), (&[1][..], &[2][..]));
    }
}
