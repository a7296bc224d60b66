//! Memory that processes share: one writes it, and that is the one that made it.
//!
//! It is a memfd whose pages are all there before anybody reads it, so that no access can fail, and which is sealed
//! once its maker has mapped it: nobody can map it writable any more, change its size or take pages from it.

mod room;

pub use room::check_available;
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

/// What holds for memory that a peer maps: its size stays, and who did not make it cannot write it.
const SEALS: SealFlags = SealFlags::FUTURE_WRITE.union(SealFlags::SHRINK).union(SealFlags::GROW);

/// Bytes of what `stat` calls a block.
const BLOCK: u64 = 512;

/// Bytes of a word.
const WORD: usize = size_of::<AtomicU64>();

/// Bytes that are asked of the kernel at once: a signal interrupts no more work than that.
const STEP: usize = 4 << 20;

/// Whether processes can share memory: if not, [`ForeignWords::map`] and [`ForeignBytes::map`] refuse it.
///
/// A peer's memory is mapped for reading only and read by atomic loads of 64 bits. The standard library promises such loads
/// on read-only memory where a pointer has 64 bits (see "Atomic accesses to read-only memory" in [`std::sync::atomic`]).
/// Processors of 32 bits may need a write for them, which would end the process.
pub const IS_SHAREABLE: bool = cfg!(target_pointer_width = "64");

/// Memory of words that this process alone writes, at any time, and others read.
#[derive(Debug)]
pub struct SharedWords(Owned);

impl SharedWords {
    /// Memory of so many bytes, rounded up to whole pages, all zero. `name` shows in `/proc/PID/maps`.
    ///
    /// # Errors
    /// When it is no byte, there is less memory than that, descriptors run out, `ulimit -f` is lower, or the kernel is
    /// older than 5.1 and knows no such seal.
    pub fn new(name: &str, bytes: usize) -> io::Result<Self> {
        Owned::new(name, bytes).map(Self)
    }

    /// The memory as words.
    pub fn words(&self) -> &[AtomicU64] {
        self.0.mapping.words()
    }

    /// The descriptor that a peer maps.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }

    /// Its bytes: whole pages.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.mapping.bytes
    }
}

/// Memory of plain bytes that this process alone writes and others read. It gives its address and never a reference, so that
/// its owner decides which bytes are borrowed when.
#[derive(Debug)]
pub(crate) struct SharedBytes(Owned);

impl SharedBytes {
    /// Memory of so many bytes, rounded up to whole pages, all zero. `name` shows in `/proc/PID/maps`.
    ///
    /// # Errors
    /// As [`SharedWords::new`] has them.
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

    /// Its bytes: whole pages.
    pub(crate) fn len(&self) -> usize {
        self.0.mapping.bytes
    }
}

/// A sealed memfd of this process, and the one mapping that can write it.
#[derive(Debug)]
struct Owned {
    fd: OwnedFd,
    mapping: Mapping,
}

impl Owned {
    fn new(name: &str, bytes: usize) -> io::Result<Self> {
        let bytes = bytes
            .checked_next_multiple_of(rustix::param::page_size())
            .ok_or_else(|| invalid_input(format!("no memory can have {bytes} bytes")))?;
        check_available(bytes)?;
        check_file_size(bytes as u64)?;
        let fd = memfd(name)?;
        allocate(&fd, bytes)?;
        let mapping = Mapping::new(&fd, bytes, ProtFlags::READ | ProtFlags::WRITE)?;
        if check_pages(&fd, bytes).is_err() {
            // As where a program runs on an emulated processor, whose `mmap` may leave out `POPULATE`.
            let pages = mapping.words().iter().step_by(rustix::param::page_size() / WORD);
            pages.for_each(|word| word.store(0, Ordering::Relaxed));
        }
        // Not before: the seal keeps its maker as well from mapping it writable.
        fs::fcntl_add_seals(&fd, SEALS | SealFlags::SEAL)?;
        Ok(Self { fd, mapping })
    }
}

/// Refuses a file that is longer than `ulimit -f` allows, which the kernel would answer with SIGXFSZ.
fn check_file_size(bytes: u64) -> io::Result<()> {
    let limit = getrlimit(Resource::Fsize).current;
    if limit.is_some_and(|limit| bytes > limit) { Err(Errno::FBIG.into()) } else { Ok(()) }
}

fn memfd(name: &str) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        // A kernel before 6.3, which knows no memory that is not to be run.
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

/// Memory of words that a peer writes at any time, and this process only reads.
#[derive(Debug)]
pub struct ForeignWords(Mapping);

impl ForeignWords {
    /// Maps the memory that a peer made, by [`SharedWords::new`] or in another way. The descriptor is closed.
    ///
    /// # Errors
    /// `InvalidData` when it is no memfd, lacks a seal, has pages that are not there, or has not between `at_least` and
    /// `at_most` bytes; `Unsupported` where memory is not [shareable](IS_SHAREABLE); others when it cannot be mapped for want
    /// of memory or because it may not be read.
    pub fn map(fd: OwnedFd, at_least: usize, at_most: usize) -> io::Result<Self> {
        map_foreign(&fd, at_least, at_most).map(Self)
    }

    /// How many words there are; bytes after the last whole one are left out.
    pub fn len(&self) -> usize {
        self.0.words().len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word at `index` by an order that loads have (`Relaxed`, `Acquire` or `SeqCst`). Past the end it reads 0.
    #[inline]
    pub fn load(&self, index: usize, order: Ordering) -> u64 {
        let Some(word) = self.0.words().get(index) else { return 0 };
        // Of memory that may only be read, the language promises relaxed loads and no others.
        let value = word.load(Ordering::Relaxed);
        if order != Ordering::Relaxed {
            fence(order);
        }
        value
    }
}

/// Memory of payload that a peer writes and lends, and this process only reads.
#[derive(Debug)]
pub struct ForeignBytes(Mapping);

impl ForeignBytes {
    /// Maps the memory that a peer made. The descriptor is closed.
    ///
    /// # Errors
    /// As [`ForeignWords::map`] has them.
    pub fn map(fd: OwnedFd, at_least: usize, at_most: usize) -> io::Result<Self> {
        map_foreign(&fd, at_least, at_most).map(Self)
    }

    /// So many bytes from `offset` on, which their owner may alter at any time; `None` if they are not all in this memory.
    pub fn bytes(&self, offset: usize, len: usize) -> Option<Bytes<'_>> {
        let end = offset.checked_add(len).filter(|end| *end <= self.0.bytes)?;
        Bytes::shared(self.0.words_up_to(end), offset, len)
    }

    /// Its bytes.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.bytes
    }
}

/// Maps memory of a peer for reading.
fn map_foreign(fd: &OwnedFd, at_least: usize, at_most: usize) -> io::Result<Mapping> {
    if !IS_SHAREABLE {
        return Err(io::ErrorKind::Unsupported.into());
    }
    check_seals(fd)?;
    // From here on neither the size nor the pages can change any more.
    let bytes = check_size(fd, at_least, at_most)?;
    let blocks = check_blocks(fd, bytes)?;
    let mapping = Mapping::new(fd, bytes, ProtFlags::READ)?;
    if block_count(fd)? != blocks {
        // Pages were missing and have been taken, and others lie behind its end.
        return Err(invalid_data("the memfd had no memory in its midst".into()));
    }
    Ok(mapping)
}

/// Whether a descriptor is one of a memfd, whose closing never blocks.
pub fn is_memfd(fd: BorrowedFd<'_>) -> bool {
    fs::fcntl_get_seals(fd).is_ok()
}

fn check_seals(fd: &OwnedFd) -> io::Result<()> {
    let seals = fs::fcntl_get_seals(fd).map_err(|_| invalid_data("it is no memfd".into()))?;
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
        invalid_data(format!("the memfd has {size} bytes where {at_least} to {at_most} are due"))
    })
}

/// Blocks of a peer's memfd, which has memory for as many bytes as it has. A page that is not there would be taken from this
/// process's memory when it is mapped or read, and end it if there is none.
///
/// Blocks behind the end may stand for missing pages. [`map_foreign`] notices that by more blocks once it has mapped all pages,
/// but `mmap` does not tell when it could not take a missing page, for want of memory or because a group's limit is reached:
/// then such a memfd passes, and the page is taken when it is first read.
///
/// `lseek` would tell where the first one is missing, but blocks while anybody else reads or writes by the same descriptor,
/// and a peer can make that last.
fn check_blocks(fd: &OwnedFd, bytes: usize) -> io::Result<u64> {
    let blocks = block_count(fd)?;
    let present = blocks.saturating_mul(BLOCK);
    if present >= bytes as u64 {
        return Ok(blocks);
    }
    Err(invalid_data(format!("the memfd has memory for {present} of its {bytes} bytes")))
}

/// Blocks of a file. `stat` gives them signed or unsigned, depending on the processor.
fn block_count(fd: &OwnedFd) -> io::Result<u64> {
    Ok(u64::try_from(fs::fstat(fd)?.st_blocks).unwrap_or(0))
}

/// Whether this process's own memfd has all its pages.
fn check_pages(fd: &OwnedFd, bytes: usize) -> io::Result<()> {
    let hole = fs::seek(fd, SeekFrom::Hole(0))?;
    if hole == bytes as u64 {
        return Ok(());
    }
    Err(invalid_data(format!("the memfd has no memory at byte {hole} of {bytes}")))
}

/// A memfd in this process's memory, until dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to no thread: any may read it, write it where it is writable, and unmap it.
unsafe impl Send for Mapping {}
// SAFETY: what `&Mapping` gives are atomics, and an address that is not read without `unsafe`.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a memfd with all its pages. It must have `bytes` bytes and never fewer.
    fn new(fd: &OwnedFd, bytes: usize, access: ProtFlags) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses the place, where nothing else is.
        let start = unsafe { mm::mmap(ptr::null_mut(), bytes, access, flags, fd, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page, so words are aligned, holds so many of them, and lives as long as `self`. Any
        // bits are a value, and others write them by atomics too. Memory of a peer, mapped for reading only, is here only where
        // `IS_SHAREABLE`.
        unsafe { slice::from_raw_parts(self.start.cast().as_ptr(), self.bytes / WORD) }
    }

    /// The words that hold the bytes before `end`, each as long as a pointer: loads of these are promised on memory that may only
    /// be read. Behind the last byte there are zeros up to the end of its page.
    fn words_up_to(&self, end: usize) -> &[AtomicUsize] {
        let count = end.min(self.bytes).div_ceil(size_of::<AtomicUsize>());
        // SAFETY: as in `words`; it holds so many, since it ends with a page. Whoever writes them is another process, whose
        // writes are to this one what those of a device are: each load gives some bits, and nothing else depends on them.
        unsafe { slice::from_raw_parts(self.start.cast().as_ptr(), count) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `new` with this length, and everything that refers to it borrows `self`. Unmapping
        // fails only if it would split a mapping in two where the process may have no more of them; then it stays.
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
