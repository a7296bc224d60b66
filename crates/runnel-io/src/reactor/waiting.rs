//! Waits of a reactor, with the precision of nanoseconds.

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::AsRawFd;
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Events, Reactor};

/// Maximum number of events per call of epoll_wait.
const BATCH: usize = 64;

/// Waits up to this length are taken as the pauses of a loop: they end by time-out, and should not be split in two.
const PACE: Duration = Duration::from_millis(20);

/// Whether the kernel has epoll_pwait2 (since Linux 5.11) as far as is known.
static HAS_PWAIT2: AtomicBool = AtomicBool::new(true);

impl Reactor {
    /// Waits until a descriptor is ready, the waker wakes or `timeout` has passed; `None` has no time-out.
    ///
    /// # Errors
    /// None in practice: a signal counts as a wake-up.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let Some(timeout) = timeout else { return self.wait_milliseconds(events, None).map(drop) };
        if timeout.subsec_nanos() % 1_000_000 == 0 {
            return self.wait_milliseconds(events, Some(timeout)).map(drop);
        }
        if HAS_PWAIT2.load(Ordering::Relaxed) {
            match self.wait_nanoseconds(events, timeout) {
                Err(error) if is_unknown(&error) => HAS_PWAIT2.store(false, Ordering::Relaxed),
                waited => return waited,
            }
        }
        self.wait_in_parts(events, timeout)
    }

    /// Waits for whole milliseconds; true if there was an event.
    fn wait_milliseconds(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<bool> {
        let mut buffer = [const { MaybeUninit::<epoll::Event>::uninit() }; BATCH];
        let found = match epoll::wait(&self.epoll, &mut buffer, timeout.map(timespec).as_ref()) {
            Ok((found, _)) => found,
            Err(Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        self.note_all(found, events);
        Ok(!found.is_empty())
    }

    /// Waits by epoll_pwait2, which counts nanoseconds. rustix calls it only where no older kernel is supported.
    pub(super) fn wait_nanoseconds(&self, events: &mut Events, timeout: Duration) -> io::Result<()> {
        let mut buffer = [const { MaybeUninit::<epoll::Event>::uninit() }; BATCH];
        let timeout = timespec(timeout);
        // SAFETY: the kernel writes at most BATCH events to the buffer, whose type has the layout of the kernel's, and
        // reads the time-out, whose type is the kernel's on all targets. No signal mask is given.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                buffer.as_mut_ptr(),
                BATCH as libc::c_int,
                &raw const timeout,
                ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        match usize::try_from(found) {
            Ok(found) => {
                // SAFETY: the kernel has written this many events.
                let found = unsafe { slice::from_raw_parts(buffer.as_ptr().cast::<epoll::Event>(), found) };
                self.note_all(found, events);
                Ok(())
            }
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                error => Err(error),
            },
        }
    }

    /// Waits where there is no epoll_pwait2: whole milliseconds by epoll, the rest by ppoll on the epoll descriptor.
    pub(super) fn wait_in_parts(&self, events: &mut Events, timeout: Duration) -> io::Result<()> {
        let rest = Duration::from_nanos(u64::from(timeout.subsec_nanos() % 1_000_000));
        let milliseconds = if timeout > PACE { timeout - rest } else { Duration::ZERO };
        if !milliseconds.is_zero() && self.wait_milliseconds(events, Some(milliseconds))? {
            return Ok(());
        }
        match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(timeout - milliseconds))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.wait_milliseconds(events, Some(Duration::ZERO)).map(drop)
    }

    fn note_all(&self, found: &[epoll::Event], events: &mut Events) {
        events.complete = found.len() < BATCH;
        for event in found {
            self.note(*event, events);
        }
    }
}

/// Whether the kernel or a sandbox does not know a system call.
fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
