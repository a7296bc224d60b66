//! Words that processes of one host share and both may write, and waiting until one changes.

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::futex::{self, Flags};

/// How many words there are: a cache line's worth for each of two writers.
pub(crate) const WORDS: usize = 32;

/// Bytes of the mapping.
const BYTES: usize = WORDS * size_of::<AtomicU32>();

/// Words in memory of no file, which begin as 0. Others of the same user find them by [`SharedWords::path`] as long as
/// this process lives.
#[derive(Debug)]
pub(crate) struct SharedWords {
    words: NonNull<AtomicU32>,
    file: rustix::fd::OwnedFd,
}

// SAFETY: what it points to is atomic and stays mapped until it is dropped.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// New words.
    ///
    /// # Errors
    /// When memory or descriptors ran out.
    pub(crate) fn new() -> io::Result<Self> {
        let file = rustix::fs::memfd_create("runnel-words", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, BYTES as u64)?;
        Self::map(file)
    }

    /// Those of another process.
    ///
    /// # Errors
    /// When there are none at this path, or fewer, or the process is another user's.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        if rustix::fs::fstat(&file)?.st_size != BYTES as i64 {
            let what = format!("{} does not hold {WORDS} shared words", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Self::map(file)
    }

    fn map(file: rustix::fd::OwnedFd) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses takes nothing away from anybody.
        let place = unsafe {
            rustix::mm::mmap(ptr::null_mut(), BYTES, ProtFlags::READ | ProtFlags::WRITE, flags, &file, 0)
        }?;
        let words = NonNull::new(place.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { words, file })
    }

    /// Where another process finds them.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// All of them.
    pub(crate) fn words(&self) -> &[AtomicU32; WORDS] {
        // SAFETY: the mapping begins at a page, has this many words, and stays until `self` is dropped. Others alter it
        // as this process does: a word at a time.
        unsafe { self.words.cast().as_ref() }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map`, is not given away, and nobody borrows from it any more. It can only fail
        // for a range that is no mapping.
        let _ = unsafe { rustix::mm::munmap(self.words.as_ptr().cast(), BYTES) };
    }
}

/// Waits while a word, shared or not, has this value, at most for a time. It may return early.
///
/// # Errors
/// `TimedOut` when the time is over.
pub(crate) fn wait(word: &AtomicU32, value: u32, timeout: Duration) -> io::Result<()> {
    let timeout = rustix::time::Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    match futex::wait(word, Flags::empty(), value, Some(&timeout)) {
        // Another value already, or a signal.
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Wakes one that waits for a word to change.
///
/// # Errors
/// None for a word that is mapped.
pub(crate) fn wake(word: &AtomicU32) -> io::Result<()> {
    futex::wake(word, Flags::empty(), 1)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;
    use std::thread;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn words_are_the_same_wherever_they_are_mapped() {
        let here = SharedWords::new().unwrap();
        let there = SharedWords::open(&here.path()).unwrap();
        assert!(here.words().iter().all(|word| word.load(Ordering::SeqCst) == 0));
        here.words()[WORDS - 1].store(7, Ordering::SeqCst);
        drop(here);
        assert_eq!(there.words()[WORDS - 1].load(Ordering::SeqCst), 7);
    }

    #[test]
    fn who_waits_is_woken_in_another_mapping() {
        let here = SharedWords::new().unwrap();
        let there = SharedWords::open(&here.path()).unwrap();
        let waiter = thread::spawn(move || {
            let word = &there.words()[0];
            while word.load(Ordering::SeqCst) == 0 {
                wait(word, 0, LONG).unwrap();
            }
            word.load(Ordering::SeqCst)
        });
        here.words()[0].store(3, Ordering::SeqCst);
        wake(&here.words()[0]).unwrap();
        assert_eq!(waiter.join().unwrap(), 3);
    }

    #[test]
    fn a_wait_ends_at_once_or_in_time() {
        let word = AtomicU32::new(5);
        wait(&word, 4, LONG).unwrap();
        let late = wait(&word, 5, Duration::from_millis(1)).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn what_holds_no_words_is_refused() {
        let path = std::env::temp_dir().join(format!("runnel-floor-futex-{}", std::process::id()));
        std::fs::write(&path, [0; BYTES - 1]).unwrap();
        let refused = SharedWords::open(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(SharedWords::open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
