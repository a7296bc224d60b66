//! Files written past the page cache, from aligned buffers, while the caller continues.
//!
//! A recorder that writes through the page cache makes the kernel copy every byte, fills the memory with pages that
//! nobody reads, and is stopped for seconds when the kernel has to write them. [`DirectFile`] writes the memory of its
//! buffers itself, and falls back to other methods where the system refuses direct I/O.

mod buffer;
mod engine;
mod method;
mod output;
#[cfg_attr(
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )),
    path = "direct_file/no_ring.rs"
)]
mod ring;
#[cfg(test)]
mod tests;
mod writer_thread;

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::ftruncate;
use rustix::process::{Resource, getrlimit};

use buffer::Pool;
use engine::{Engine, Failure, Write};

pub use buffer::Buffer;
pub use method::{Method, Refusal, WritePath};

/// Fewest buffers: a caller that fills one holds two for a moment, and two more are written meanwhile.
const FEWEST_BUFFERS: usize = 4;

/// Longest buffer, in bytes: io_uring has 32 bits for the length of a write.
const LONGEST_BUFFER: usize = 1 << 30;

/// Settings of a file.
#[derive(Clone, Debug)]
pub struct Options {
    /// Length of a buffer in bytes, rounded up to whole blocks. One write has at most this length.
    pub buffer_len: usize,
    /// Number of buffers, at least 4. They are allocated when they are needed.
    pub buffers: usize,
    /// Bytes for which space is reserved at a time, so that the file is in few pieces; 0 for none.
    pub preallocate: u64,
    /// The methods that may be used, the best one first.
    pub methods: Vec<Method>,
}

impl Default for Options {
    fn default() -> Self {
        // An image fits into a buffer. The bag writer reads a longer message twice: for its checksum, and to write it.
        Self { buffer_len: 4 << 20, buffers: 4, preallocate: 64 << 20, methods: Method::ALL.to_vec() }
    }
}

/// A new file that is written in whole blocks.
///
/// An error of a write that was started earlier is returned by a later call, and by each call after it. Dropping the
/// file waits for its writes.
pub struct DirectFile {
    path: PathBuf,
    file: Arc<OwnedFd>,
    write_path: WritePath,
    block: usize,
    pool: Arc<Pool>,
    engine: Box<dyn Engine>,
    preallocate: u64,
    /// Space is reserved up to here.
    allocated: u64,
    /// End of the last block that was written.
    end: u64,
    /// Longest file that the process may write.
    limit: u64,
    /// Whether the folder has the file's name after a power failure.
    is_name_safe: bool,
    is_finished: bool,
}

impl DirectFile {
    /// Creates a file.
    ///
    /// # Errors
    /// If it exists or cannot be created, or the system refuses all methods. They name the file.
    pub fn create(path: &Path, options: &Options) -> io::Result<Self> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: cannot create the file: {error}", path.display()))
        };
        let file = File::options().write(true).create_new(true).open(path).map_err(named)?;
        Self::open(path, file.into(), options).map_err(|error| {
            // It is empty, and this process created it.
            let _ = fs::remove_file(path);
            named(error)
        })
    }

    fn open(path: &Path, file: OwnedFd, options: &Options) -> io::Result<Self> {
        let file = Arc::new(file);
        let buffers = options.buffers.max(FEWEST_BUFFERS);
        let method::Opened { path: write_path, layout, engine } =
            method::open(&options.methods, &file, buffers)?;
        let buffer_len = options.buffer_len.clamp(layout.block, LONGEST_BUFFER);
        let pool = Pool::new(buffers, buffer_len.next_multiple_of(layout.block), layout.alignment);
        Ok(Self {
            path: path.to_owned(),
            file,
            write_path,
            block: layout.block,
            pool,
            engine,
            preallocate: options.preallocate,
            allocated: 0,
            end: 0,
            limit: getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX),
            is_name_safe: false,
            is_finished: false,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it is written, and why.
    pub fn write_path(&self) -> &WritePath {
        &self.write_path
    }

    /// Length of a block in bytes.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Number of operations that have not ended.
    pub fn in_flight(&mut self) -> usize {
        self.engine.poll();
        self.engine.in_flight()
    }

    /// A buffer with undefined content. Waits until one is free.
    ///
    /// # Errors
    /// That of an earlier write, or when there is no memory, or when the caller holds all buffers.
    pub fn buffer(&mut self) -> io::Result<Buffer> {
        self.engine.poll();
        loop {
            self.check()?;
            if let Some(buffer) = self.pool.take()? {
                return Ok(buffer);
            }
            if self.engine.in_flight() == 0 {
                return Err(self.error("get a buffer", ErrorKind::ResourceBusy.into()));
            }
            self.engine.wait();
        }
    }

    /// Starts to write the first `len` bytes of the buffer at the position `at`. Writes of the same block reach the
    /// disk in their order.
    ///
    /// # Errors
    /// That of an earlier write, or when the process may not write so long a file (`ulimit -f`).
    ///
    /// # Panics
    /// When `len` or `at` is not a multiple of the block, or the buffer is shorter.
    pub fn write(&mut self, buffer: Buffer, len: usize, at: u64) -> io::Result<()> {
        assert!(len <= buffer.len(), "{len} bytes of a buffer of {}", buffer.len());
        assert!(len.is_multiple_of(self.block) && at.is_multiple_of(self.block as u64), "whole blocks");
        self.engine.poll();
        self.check()?;
        let end = at.saturating_add(len as u64);
        if end > self.limit {
            // The kernel would send SIGXFSZ.
            let action = format!("write {len} bytes at byte {at}");
            return Err(self.error(&action, ErrorKind::FileTooLarge.into()));
        }
        if len > 0 {
            self.allocate_to(end);
            self.engine.write(Write::new(buffer, len, at));
            self.end = self.end.max(end);
        }
        self.check()
    }

    /// Waits until everything has been written and is safe from a power failure.
    ///
    /// # Errors
    /// That of any earlier write.
    pub fn sync(&mut self) -> io::Result<()> {
        self.engine.sync();
        self.check()?;
        if !self.is_name_safe {
            sync_folder_of(&self.path).map_err(|error| self.error("sync its folder", error))?;
            self.is_name_safe = true;
        }
        Ok(())
    }

    /// Waits until everything has been written, ends the file after `len` bytes, and waits until the file is safe from
    /// a power failure.
    ///
    /// # Errors
    /// That of any earlier write.
    pub fn finish(&mut self, len: u64) -> io::Result<()> {
        self.engine.settle();
        self.check()?;
        // Also frees reserved space behind the end.
        ftruncate(&self.file, len).map_err(|error| self.error("set its length", error.into()))?;
        self.is_finished = true;
        self.sync()
    }

    /// The error of an earlier operation. Of several writes that fail, it names the first one in the file.
    fn check(&mut self) -> io::Result<()> {
        if self.engine.failure().is_some() {
            self.engine.settle();
        }
        self.engine.failure().map_or(Ok(()), |failure| Err(failure.of_file(&self.path)))
    }

    fn error(&self, action: &str, error: io::Error) -> io::Error {
        Failure::new(action, error).of_file(&self.path)
    }

    fn allocate_to(&mut self, end: u64) {
        if end > self.allocated && self.preallocate > 0 {
            let len = self.preallocate.max(end - self.allocated);
            self.engine.allocate(self.allocated, len);
            self.allocated += len;
        }
    }
}

/// Waits until the folder has the name of this file after a power failure, such as after it was renamed.
///
/// # Errors
/// Those of the file system. Not all file systems sync folders; the others need no such call.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::PermissionDenied) => Ok(()),
        synced => synced,
    }
}

impl Drop for DirectFile {
    fn drop(&mut self) {
        self.engine.settle();
        if !self.is_finished && self.preallocate > 0 {
            // Frees reserved space behind the end. The file stays as it is if that fails.
            let _ = ftruncate(&self.file, self.end);
        }
    }
}
