//! Aligned buffers of a bounded pool.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory that direct I/O can read: its start is a multiple of the alignment. Dropping it returns it to its file.
pub struct Buffer {
    memory: Memory,
    pool: Arc<Pool>,
}

/// A bounded number of buffers. Memory is allocated when it is first needed, and then used again.
pub(super) struct Pool {
    buffer_len: usize,
    alignment: usize,
    state: Mutex<State>,
}

struct State {
    spare: Vec<Memory>,
    /// Buffers that can still be allocated.
    unallocated: usize,
}

/// Bytes from `start` on, which are aligned: a vector that is neither grown nor moved to other memory.
#[derive(Default)]
struct Memory {
    bytes: Vec<u8>,
    start: usize,
}

impl Pool {
    /// A pool of at most `buffers` buffers of `buffer_len` bytes.
    pub(super) fn new(buffers: usize, buffer_len: usize, alignment: usize) -> Arc<Self> {
        let state = State { spare: Vec::with_capacity(buffers), unallocated: buffers };
        Arc::new(Self { buffer_len, alignment, state: Mutex::new(state) })
    }

    /// A buffer, with its old content; `None` if all are in use.
    ///
    /// # Errors
    /// If there is no memory.
    pub(super) fn take(self: &Arc<Self>) -> io::Result<Option<Buffer>> {
        let mut state = self.state();
        let memory = match state.spare.pop() {
            Some(memory) => memory,
            None if state.unallocated == 0 => return Ok(None),
            None => {
                let memory = Memory::new(self.buffer_len, self.alignment)?;
                state.unallocated -= 1;
                memory
            }
        };
        Ok(Some(Buffer { memory, pool: Arc::clone(self) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn new(len: usize, alignment: usize) -> io::Result<Self> {
        let mut bytes: Vec<u8> = Vec::new();
        bytes.try_reserve_exact(len + alignment)?;
        let start = bytes.as_ptr().align_offset(alignment);
        bytes.resize(start + len, 0);
        Ok(Self { bytes, start })
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory.bytes[self.memory.start..]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory.bytes[self.memory.start..]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.state().spare.push(std::mem::take(&mut self.memory));
    }
}
