//! Pool of frames, which all links that have not sent a frame share.

use std::cell::Cell;
use std::sync::Arc;

/// Limit of frames in a pool.
const KEPT: usize = 8;

/// A frame longer than this shrinks once the messages have become shorter.
const LONG: usize = 1 << 20;

/// Frames of up to this length can be their thread's frame.
pub(super) const SHORT: usize = 1024;

thread_local! {
    /// A frame for short messages of all topics. It stays in the cache, however many topics there are.
    static THREAD_FRAME: Cell<Option<Arc<Vec<u8>>>> = const { Cell::new(None) };
}

/// Frames into which messages are written.
#[derive(Debug, Default)]
pub(super) struct FramePool {
    frames: Vec<Arc<Vec<u8>>>,
}

impl FramePool {
    /// A frame that `write` fills; with `short` it may be this thread's frame. In the steady state its memory is
    /// reused.
    pub(super) fn filled(&mut self, short: bool, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        self.taken(short, |bytes| {
            bytes.clear();
            write(bytes);
        })
    }

    /// Like [`filled`](Self::filled), but `write` gets unspecified content.
    pub(super) fn taken(&mut self, short: bool, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        let thread_frame = if short { take_thread_frame() } else { None };
        let mut frame = thread_frame.or_else(|| self.free()).unwrap_or_default();
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

    /// Puts a frame back. Its memory is reused once it has no other owner.
    pub(super) fn recycle(&mut self, frame: Arc<Vec<u8>>) {
        let thread_frame = frame.capacity() <= SHORT && Arc::strong_count(&frame) == 1;
        let rest = if thread_frame { set_thread_frame(frame) } else { Some(frame) };
        if self.frames.len() < KEPT {
            self.frames.extend(rest);
        }
    }
}

/// This thread's frame, which has no other owner.
fn take_thread_frame() -> Option<Arc<Vec<u8>>> {
    // Thread-local storage is gone while a thread ends.
    THREAD_FRAME.try_with(Cell::take).ok()?
}

/// Makes this the thread's frame, and returns the previous one.
fn set_thread_frame(frame: Arc<Vec<u8>>) -> Option<Arc<Vec<u8>>> {
    THREAD_FRAME.try_with(|place| place.replace(Some(frame))).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_frame_is_shared_by_pools_of_thread() {
        let (mut one, mut other) = (FramePool::default(), FramePool::default());
        let first = one.filled(true, |bytes| bytes.push(1));
        let place = first.as_ptr();
        one.recycle(first);
        let held = other.filled(true, |bytes| bytes.push(2));
        assert_eq!((held.as_ptr(), held.as_slice()), (place, &[2][..]));
        other.recycle(Arc::clone(&held));
        assert_ne!(one.filled(true, |bytes| bytes.push(3)).as_ptr(), place, "it is in use");
        drop(held);
        assert_eq!(other.filled(false, |bytes| bytes.push(4)).as_ptr(), place, "it is not any more");
    }

    #[test]
    fn frame_without_owner_is_reused() {
        let mut pool = FramePool::default();
        let first = pool.taken(false, |bytes| bytes.extend_from_slice(&[1; 2 * SHORT]));
        let place = first.as_ptr();
        pool.recycle(Arc::clone(&first));
        assert_ne!(pool.taken(false, |_| {}).as_ptr(), place, "it is in use");
        drop(first);
        let mut again = pool.taken(false, |bytes| bytes.truncate(2));
        assert_eq!((again.as_ptr(), again.as_slice()), (place, &[1, 1][..]));
        assert!(Arc::get_mut(&mut again).is_some());
    }

    #[test]
    fn waiting_frame_is_not_overwritten() {
        let mut pool = FramePool::default();
        let first = pool.filled(false, |bytes| bytes.push(1));
        pool.recycle(Arc::clone(&first));
        let second = pool.filled(false, |bytes| bytes.push(2));
        assert_eq!((first.as_slice(), second.as_slice()), (&[1][..], &[2][..]));
    }
}
