//! Blocking writes, direct or through the page cache, that leave few pages of the file in the page cache. The writer
//! thread calls them; [`Method`](super::Method) says when.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::num::NonZero;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, pwrite, pwritev2, retry_on_intr};

/// Limit of bytes in the page cache: older ranges are written and dropped.
const WINDOW: u64 = 8 << 20;

/// Has the kernel write a range, also what it is writing already, and waits.
const WRITE_AND_WAIT: libc::c_uint =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// `RWF_DONTCACHE` of Linux 6.14: the kernel writes the pages at once and then drops them.
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// A file, and how writes reach it.
pub(super) struct Output {
    file: Arc<OwnedFd>,
    flags: ReadWriteFlags,
    /// Ranges in the page cache; `None` for direct I/O, which has none there.
    cached: Option<Cached>,
}

/// Position and length of the ranges that may be in the page cache, the oldest first.
#[derive(Default)]
struct Cached {
    ranges: VecDeque<(u64, u64)>,
    bytes: u64,
}

impl Output {
    /// A file that is open for direct I/O.
    pub(super) fn direct(file: Arc<OwnedFd>) -> Self {
        Self { file, flags: ReadWriteFlags::empty(), cached: None }
    }

    /// A file whose pages the kernel drops after it has written them.
    pub(super) fn dont_cache(file: Arc<OwnedFd>) -> Self {
        Self { file, flags: DONTCACHE, cached: Some(Cached::default()) }
    }

    /// A file whose pages are written early and then dropped.
    pub(super) fn buffered(file: Arc<OwnedFd>) -> Self {
        Self { file, flags: ReadWriteFlags::empty(), cached: Some(Cached::default()) }
    }

    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Writes some of the bytes at a position; returns how many.
    ///
    /// # Errors
    /// Those of the system call.
    pub(super) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        Ok(retry_on_intr(|| {
            if self.flags.is_empty() {
                pwrite(&self.file, bytes, at)
            } else {
                pwritev2(&self.file, &[IoSlice::new(bytes)], at, self.flags)
            }
        })?)
    }

    /// Has the kernel write a range of the page cache soon, and drops an old range.
    ///
    /// # Errors
    /// Those of writing earlier ranges.
    pub(super) fn wrote(&mut self, at: u64, len: usize) -> io::Result<()> {
        let Some(cached) = &mut self.cached else { return Ok(()) };
        sync_range(&self.file, at, len as u64, libc::SYNC_FILE_RANGE_WRITE)?;
        cached.ranges.push_back((at, len as u64));
        cached.bytes += len as u64;
        self.shrink_to(WINDOW)
    }

    /// Waits until the ranges in the page cache are written, and drops them.
    ///
    /// # Errors
    /// Those of writing them.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        self.shrink_to(0)
    }

    fn shrink_to(&mut self, most: u64) -> io::Result<()> {
        let Some(cached) = &mut self.cached else { return Ok(()) };
        while cached.bytes > most
            && let Some((at, len)) = cached.ranges.pop_front()
        {
            cached.bytes -= len;
            sync_range(&self.file, at, len, WRITE_AND_WAIT)?;
            // The pages may stay: this is advice.
            let _ = fadvise(&self.file, at, NonZero::new(len), Advice::DontNeed);
        }
        Ok(())
    }
}

/// Writes a range of the page cache.
fn sync_range(file: &OwnedFd, at: u64, len: u64, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the call takes numbers only, and the descriptor is open.
    let sync = || match unsafe { libc::sync_file_range(file.as_raw_fd(), at as i64, len as i64, flags) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    };
    match retry_on_intr(sync) {
        // A kernel or file system without the call writes when it sees fit.
        Ok(()) | Err(Errno::NOSYS | Errno::INVAL | Errno::SPIPE | Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
