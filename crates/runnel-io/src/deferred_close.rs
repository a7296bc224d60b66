//! Deferred close: dedicated threads close descriptors whose closing may block.
//!
//! Closing the last descriptor of a TCP socket that lingers, or of a FUSE file, blocks. So does closing a Unix socket
//! with such a descriptor in its queue. Peers can queue descriptors in every socket that receives descriptors.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Threads that close at a time. This many closings may block before others wait.
const MOST_THREADS: usize = 8;

/// Pending closings past which no connection that can carry descriptors is accepted.
const MANY: usize = 64;

/// Stack size of such a thread, in bytes.
const STACK: usize = 64 * 1024;

static PENDING: Mutex<Pending> = Mutex::new(Pending { fds: VecDeque::new(), threads: 0 });

struct Pending {
    fds: VecDeque<OwnedFd>,
    threads: usize,
}

/// A descriptor that another thread closes after it is dropped.
#[derive(Debug)]
pub(crate) struct DeferredClose(ManuallyDrop<OwnedFd>);

impl From<OwnedFd> for DeferredClose {
    fn from(fd: OwnedFd) -> Self {
        Self(ManuallyDrop::new(fd))
    }
}

impl AsFd for DeferredClose {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for DeferredClose {
    fn drop(&mut self) {
        // SAFETY: the value is being dropped, and no code uses it afterwards.
        close_deferred(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

/// Whether too many closings are pending to accept more descriptors.
pub(crate) fn is_behind() -> bool {
    pending().fds.len() >= MANY
}

fn close_deferred(fd: OwnedFd) {
    let mut pending = pending();
    pending.fds.push_back(fd);
    if pending.threads < MOST_THREADS {
        let closing = thread::Builder::new().name("runnel-closing".into()).stack_size(STACK);
        // Without a thread, the next thread that starts closes it.
        pending.threads += usize::from(closing.spawn(close_all).is_ok());
    }
}

/// Closes pending descriptors until none is left.
fn close_all() {
    loop {
        let mut pending = pending();
        let Some(fd) = pending.fds.pop_front() else {
            pending.threads -= 1;
            return;
        };
        drop(pending);
        drop(fd);
    }
}

fn pending() -> MutexGuard<'static, Pending> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}
