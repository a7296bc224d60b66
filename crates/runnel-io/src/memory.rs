//! Shared memory with a single writer: the process that created it.
//!
//! It is a memfd whose pages are all allocated before another process reads it, so that no access can fail. It is
//! sealed once its owner has mapped it: no process can then map it writable, resize it or remove pages.

mod available;

pub use available::check_available;
use runnel_core::wire::Bytes;
use rustix::fs::{self, MemfdFlags, SealFlags, SeekFrom};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// Seals required of a peer's memory: its size is fixed, and only its owner can write it.
const SEALS: SealFlags = SealFlags::FUTURE_WRITE.union(SealFlags::SHRINK).union(SealFlags::GROW);

/// Size of a block in `stat`, in bytes.
const BLOCK: u64 = 512;

/// Size of a word, in bytes.
const WORD: usize = size_of::<AtomicU64>();

/// Bytes allocated per system call: a signal repeats at most this much work.
const STEP: usize = 4 << 20;

/// Whether processes can share memory. If not, [`ForeignWords::map`] and [`ForeignBytes::map`] refuse it.
///
/// A peer's memory is mapped read-only and read by atomic loads of 64 bits. The standard library guarantees such
/// loads on read-only memory where a pointer has 64 bits (see "Atomic accesses to read-only memory" in
/// [`std::sync::atomic`]). 32-bit processors may need a write for them, which would kill the process.
pub const IS_SHAREABLE: bool = cfg!(target_pointer_width = "64");

/// Words that this process writes at any time and other processes read.
#[derive(Debug)]
pub struct SharedWords(Owned);

impl SharedWords {
    /// Creates `bytes` bytes, rounded up to whole pages, all zero. `name` appears in `/proc/PID/maps`.
    ///
    /// # Errors
    /// If `bytes` is 0, memory or descriptors run out, `ulimit -f` is lower, or the kernel is older than 5.1 and
    /// lacks the seal.
    pub fn new(name: &str, bytes: usize) -> io::Result<Self> {
        Owned::new(name, bytes).map(Self)
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        self.0.mapping.words()
    }

    /// The descriptor that a peer maps.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }

    /// Its size in bytes, in whole pages.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.mapping.bytes
    }
}

/// Bytes that this process writes and other processes read. It returns its address and never a reference, so that its
/// owner decides which bytes are borrowed when.
#[derive(Debug)]
pub(crate) struct SharedBytes(Owned);

impl SharedBytes {
    /// Creates `bytes` bytes, rounded up to whole pages, all zero. `name` appears in `/proc/PID/maps`.
    ///
    /// # Errors
    /// As [`SharedWords::new`].
    pub(crate) fn new(name: &str, bytes: usize) -> io::Result<Self> {
        Owned::new(name, bytes).map(Self)
    }

    /// Its first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.0.mapping.start
    }

    /// The descriptor that a peer maps.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }

    /// Its size in bytes, in whole pages.
    pub(crate) fn len(&self) -> usize {
        self.0.mapping.bytes
    }
}

/// A sealed memfd of this process, and its only writable mapping.
#[derive(Debug)]
struct Owned {
    fd: OwnedFd,
    mapping: Mapping,
}

impl Owned {
    fn new(name: &str, bytes: usize) -> io::Result<Self> {
        let bytes = bytes
            .checked_next_multiple_of(rustix::param::page_size())
            .ok_or_else(|| invalid_input(format!("shared memory cannot have {bytes} bytes")))?;
        check_available(bytes)?;
        check_file_size(bytes as u64)?;
        let fd = memfd(name)?;
        allocate(&fd, bytes)?;
        let mapping = Mapping::new(&fd, bytes, ProtFlags::READ | ProtFlags::WRITE)?;
        if check_pages(&fd, bytes).is_err() {
            // Needed, for example, on an emulated processor, whose `mmap` may ignore `POPULATE`.
            let pages = mapping.words().iter().step_by(rustix::param::page_size() / WORD);
            pages.for_each(|word| word.store(0, Ordering::Relaxed));
        }
        // Only now: the seal prevents writable mappings of this process, too.
        fs::fcntl_add_seals(&fd, SEALS | SealFlags::SEAL)?;
        Ok(Self { fd, mapping })
    }
}

/// Refuses a file longer than `ulimit -f`, for which the kernel would send SIGXFSZ.
fn check_file_size(bytes: u64) -> io::Result<()> {
    let limit = getrlimit(Resource::Fsize).current;
    if limit.is_some_and(|limit| bytes > limit) { Err(Errno::FBIG.into()) } else { Ok(()) }
}

fn memfd(name: &str) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        // A kernel before 6.3, which does not know non-executable memory.
        Err(Errno::INVAL) => Ok(fs::memfd_create(name, flags)?),
        made => Ok(made?),
    }
}

fn allocate(fd: &OwnedFd, bytes: usize) -> io::Result<()> {
    for begin in (0..bytes).step_by(STEP) {
        let length = STEP.min(bytes - begin) as u64;
        rustix::io::retry_on_intr(|| fs::fallocate(fd, fs::FallocateFlags::empty(), begin as u64, length))?;
    }
    Ok(())
}

/// Words that a peer writes at any time and this process only reads.
#[derive(Debug)]
pub struct ForeignWords(Mapping);

impl ForeignWords {
    /// Maps memory that a peer created, by [`SharedWords::new`] or otherwise. The descriptor is closed.
    ///
    /// # Errors
    /// `InvalidData` when it is not a memfd, lacks a seal or pages, or its size is not between `at_least` and
    /// `at_most` bytes. `Unsupported` where memory is not [shareable](IS_SHAREABLE). Others when it cannot be mapped,
    /// for lack of memory or of read permission.
    pub fn map(fd: OwnedFd, at_least: usize, at_most: usize) -> io::Result<Self> {
        map_foreign(&fd, at_least, at_most).map(Self)
    }

    /// Number of whole words.
    pub fn len(&self) -> usize {
        self.0.words().len()
    }

    /// Whether there is no whole word.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Loads the word at `index` with a load ordering (`Relaxed`, `Acquire` or `SeqCst`). Past the end it is 0.
    #[inline]
    pub fn load(&self, index: usize, order: Ordering) -> u64 {
        let Some(word) = self.0.words().get(index) else { return 0 };
        // The language guarantees only relaxed loads on read-only memory.
        let value = word.load(Ordering::Relaxed);
        if order != Ordering::Relaxed {
            fence(order);
        }
        value
    }
}

/// Payload bytes that a peer writes and lends, and this process only reads.
#[derive(Debug)]
pub struct ForeignBytes(Mapping);

impl ForeignBytes {
    /// Maps memory that a peer created. The descriptor is closed.
    ///
    /// # Errors
    /// As [`ForeignWords::map`].
    pub fn map(fd: OwnedFd, at_least: usize, at_most: usize) -> io::Result<Self> {
        map_foreign(&fd, at_least, at_most).map(Self)
    }

    /// The `len` bytes from `offset` on, which their owner may alter at any time; `None` if they exceed this memory.
    pub fn bytes(&self, offset: usize, len: usize) -> Option<Bytes<'_>> {
        let end = offset.checked_add(len).filter(|end| *end <= self.0.bytes)?;
        Bytes::shared(self.0.words_up_to(end), offset, len)
    }

    /// Its size in bytes.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.bytes
    }
}

/// Maps a peer's memory read-only.
fn map_foreign(fd: &OwnedFd, at_least: usize, at_most: usize) -> io::Result<Mapping> {
    if !IS_SHAREABLE {
        return Err(io::ErrorKind::Unsupported.into());
    }
    check_seals(fd)?;
    // From here on, neither size nor pages can change.
    let bytes = check_size(fd, at_least, at_most)?;
    let blocks = check_blocks(fd, bytes)?;
    let mapping = Mapping::new(fd, bytes, ProtFlags::READ)?;
    if block_count(fd)? != blocks {
        // Missing pages were allocated by the mapping, and other pages lie past its end.
        return Err(invalid_data("the memfd has missing pages".into()));
    }
    Ok(mapping)
}

/// Whether a descriptor is a memfd, whose closing never blocks.
pub fn is_memfd(fd: BorrowedFd<'_>) -> bool {
    fs::fcntl_get_seals(fd).is_ok()
}

fn check_seals(fd: &OwnedFd) -> io::Result<()> {
    let seals = fs::fcntl_get_seals(fd).map_err(|_| invalid_data("the descriptor is not a memfd".into()))?;
    let missing = SEALS.difference(seals);
    if missing.is_empty() {
        Ok(())
    } else {
        Err(invalid_data(format!("the memfd lacks the seals {missing:?}")))
    }
}

fn check_size(fd: &OwnedFd, at_least: usize, at_most: usize) -> io::Result<usize> {
    let size = fs::fstat(fd)?.st_size;
    usize::try_from(size).ok().filter(|bytes| (at_least.max(1)..=at_most).contains(bytes)).ok_or_else(|| {
        invalid_data(format!("the memfd has {size} bytes, but {at_least} to {at_most} are required"))
    })
}

/// Checks that a peer's memfd has memory for all its bytes; returns its blocks. A missing page would be taken from
/// this process's memory when it is mapped or read, and kill the process if there is none.
///
/// Blocks past the end may hide missing pages. [`map_foreign`] detects that by the additional blocks once it has
/// mapped all pages. But `mmap` does not report when it could not allocate a missing page, for lack of memory or at a
/// control group's limit: then such a memfd passes, and the page is allocated when it is first read.
///
/// `lseek` would find the first missing page, but it blocks while another process reads or writes by the same
/// descriptor, which a peer can prolong.
fn check_blocks(fd: &OwnedFd, bytes: usize) -> io::Result<u64> {
    let blocks = block_count(fd)?;
    let present = blocks.saturating_mul(BLOCK);
    if present >= bytes as u64 {
        return Ok(blocks);
    }
    Err(invalid_data(format!("the memfd has memory for only {present} of its {bytes} bytes")))
}

/// Blocks of a file. `stat` returns them signed or unsigned, depending on the processor.
fn block_count(fd: &OwnedFd) -> io::Result<u64> {
    Ok(u64::try_from(fs::fstat(fd)?.st_blocks).unwrap_or(0))
}

/// Checks that this process's own memfd has all its pages.
fn check_pages(fd: &OwnedFd, bytes: usize) -> io::Result<()> {
    let hole = fs::seek(fd, SeekFrom::Hole(0))?;
    if hole == bytes as u64 {
        return Ok(());
    }
    Err(invalid_data(format!("the memfd has no memory at byte {hole} of {bytes}")))
}

/// A memfd mapped into this process, until dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to no thread: any thread may read it, write it where it is writable, and unmap it.
unsafe impl Send for Mapping {}
// SAFETY: `&Mapping` gives atomics, and an address that is only read in `unsafe` code.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a memfd with all its pages. Its size must be `bytes` and never shrink.
    fn new(fd: &OwnedFd, bytes: usize, access: ProtFlags) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses an unused address.
        let start = unsafe { mm::mmap(ptr::null_mut(), bytes, access, flags, fd, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page, so words are aligned. It holds this many of them, and lives as long
        // as `self`. Any bits are a value, and other processes write them by atomics, too. A peer's memory, mapped
        // read-only, is here only where `IS_SHAREABLE`.
        unsafe { slice::from_raw_parts(self.start.cast().as_ptr(), self.bytes / WORD) }
    }

    /// The words that hold the bytes before `end`, each as long as a pointer: the language guarantees loads of these
    /// on read-only memory. The bytes from the end of the file to the end of its page are zero.
    fn words_up_to(&self, end: usize) -> &[AtomicUsize] {
        let count = end.min(self.bytes).div_ceil(size_of::<AtomicUsize>());
        // SAFETY: as in `words`; it holds this many, since it ends with a page. Another process writes them. To this
        // process its writes are like those of a device: each load returns some bits, and nothing else depends on
        // them.
        unsafe { slice::from_raw_parts(self.start.cast().as_ptr(), count) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it with this length, and everything that refers to it borrows `self`. Unmapping fails
        // only if it would split a mapping at the process's limit of mappings; then it stays.
        let _ = unsafe { mm::munmap(self.start.as_ptr().cast::<c_void>(), self.bytes) };
    }
}

fn invalid_data(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn invalid_input(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests;
