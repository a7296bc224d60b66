//! Shared words between processes of one host, and waiting for a change (futex).

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

/// Number of words: a cache line for each of two writers.
pub(crate) const WORDS: usize = 32;

/// Bytes of the mapping.
const BYTES: usize = WORDS * size_of::<AtomicU32>();

/// Words in an anonymous memory file, initially 0. Other processes of the same user open them by
/// [`SharedWords::path`] while this process lives.
#[derive(Debug)]
pub(crate) struct SharedWords {
    words: NonNull<AtomicU32>,
    file: rustix::fd::OwnedFd,
}

// SAFETY: the pointee is atomic and stays mapped until this is dropped.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// New words.
    ///
    /// # Errors
    /// If memory or descriptors are exhausted.
    pub(crate) fn new() -> io::Result<Self> {
        let file = rustix::fs::memfd_create("runnel-words", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, BYTES as u64)?;
        Self::map(file)
    }

    /// Opens the words of another process.
    ///
    /// # Errors
    /// If this path has none, or too few, or the process belongs to another user.
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
        // SAFETY: a new mapping at an address that the kernel chooses invalidates nothing.
        let place = unsafe {
            rustix::mm::mmap(ptr::null_mut(), BYTES, ProtFlags::READ | ProtFlags::WRITE, flags, &file, 0)
        }?;
        let words = NonNull::new(place.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { words, file })
    }

    /// The path by which another process opens them.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// All of them.
    pub(crate) fn words(&self) -> &[AtomicU32; WORDS] {
        // SAFETY: the mapping is page-aligned, has this many words, and stays until `self` is dropped. Other
        // processes access it atomically, too.
        unsafe { self.words.cast().as_ref() }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map`, is owned by `self`, and is no longer borrowed. It can only fail for
        // a range that is not mapped.
        let _ = unsafe { rustix::mm::munmap(self.words.as_ptr().cast(), BYTES) };
    }
}

/// Waits while a word, shared or not, has this value, at most for `timeout`. May return early.
///
/// # Errors
/// `TimedOut` when the time has passed.
pub(crate) fn wait(word: &AtomicU32, value: u32, timeout: Duration) -> io::Result<()> {
    let timeout = rustix::time::Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    match futex::wait(word, Flags::empty(), value, Some(&timeout)) {
        // The value differs already, or a signal arrived.
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Wakes one waiter of a word.
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
    fn mappings_share_the_same_words() {
        let here = SharedWords::new().unwrap();
        let there = SharedWords::open(&here.path()).unwrap();
        assert!(here.words().iter().all(|word| word.load(Ordering::SeqCst) == 0));
        here.words()[WORDS - 1].store(7, Ordering::SeqCst);
        drop(here);
        assert_eq!(there.words()[WORDS - 1].load(Ordering::SeqCst), 7);
    }

    #[test]
    fn waiter_in_another_mapping_is_woken() {
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
    fn wait_returns_immediately_or_times_out() {
        let word = AtomicU32::new(5);
        wait(&word, 4, LONG).unwrap();
        let late = wait(&word, 5, Duration::from_millis(1)).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn file_without_words_is_refused() {
        let path = std::env::temp_dir().join(format!("runnel-floor-futex-{}", std::process::id()));
        std::fs::write(&path, [0; BYTES - 1]).unwrap();
        let refused = SharedWords::open(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(SharedWords::open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
