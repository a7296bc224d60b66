//! Descriptors whose closing may wait: threads that do nothing else close them.
//!
//! Who closes the last descriptor of a TCP socket that lingers, or of a file of FUSE, waits for others; and so does who
//! closes a Unix socket in whose queue such a descriptor lies. Peers can queue descriptors in every socket by which
//! descriptors are received.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Threads that close at a time. As many closings may wait before others wait behind them.
const MOST_THREADS: usize = 8;

/// Descriptors that wait to be closed, past which no more connections are accepted by which others come.
const MANY: usize = 64;

/// Bytes of the stack of such a thread.
const STACK: usize = 64 * 1024;

static PENDING: Mutex<Pending> = Mutex::new(Pending { fds: VecDeque::new(), threads: 0 });

struct Pending {
    fds: VecDeque<OwnedFd>,
    threads: usize,
}

/// A descriptor that is closed by another thread once it is dropped.
#[derive(Debug)]
pub(crate) struct ClosedApart(ManuallyDrop<OwnedFd>);

impl From<OwnedFd> for ClosedApart {
    fn from(fd: OwnedFd) -> Self {
        Self(ManuallyDrop::new(fd))
    }
}

impl AsFd for ClosedApart {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for ClosedApart {
    fn drop(&mut self) {
        // SAFETY: nobody uses the value afterwards, which is being dropped.
        close_apart(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

/// True if so many descriptors wait to be closed that there should be no more of them.
pub(crate) fn is_behind() -> bool {
    pending().fds.len() >= MANY
}

fn close_apart(fd: OwnedFd) {
    let mut pending = pending();
    pending.fds.push_back(fd);
    if pending.threads < MOST_THREADS {
        let closing = thread::Builder::new().name("runnel-closing".into()).stack_size(STACK);
        // Without a thread the next one that is started closes it.
        pending.threads += usize::from(closing.spawn(close_all).is_ok());
    }
}

/// Closes what waits, until nothing does.
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
