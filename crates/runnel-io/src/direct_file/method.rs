//! Methods of writing past the page cache, and the choice among them.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, OFlags, StatxFlags, fcntl_getfl, fcntl_setfl, ftruncate, statx};
use rustix::io::Errno;

use super::buffer::Pool;
use super::engine::Engine;
use super::output::Output;
use super::ring::Ring;
use super::writer_thread::WriterThread;

/// Block where the file system does not name one, and the smallest: file systems manage space in such blocks.
const BLOCK: usize = 4096;

/// How the blocks of a file reach the disk, the best one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Direct I/O, asynchronous in the kernel: io_uring.
    DirectRing,
    /// Direct I/O by a thread of its own.
    DirectThread,
    /// Through the page cache, which the kernel writes and drops at once (Linux 6.14).
    DontCache,
    /// Through the page cache, which is written and dropped a few MiB behind.
    WriteBack,
}

/// A method, and why none of the better ones is used.
#[derive(Debug)]
pub struct WritePath {
    /// The method.
    pub method: Method,
    /// What the system refuses.
    pub refusals: Vec<Refusal>,
}

/// A facility that the system refuses.
#[derive(Debug)]
pub struct Refusal {
    /// The facility.
    pub facility: &'static str,
    /// The system's reason.
    pub error: io::Error,
}

/// A way to write an open file.
pub(super) struct Opened {
    pub(super) path: WritePath,
    pub(super) layout: Layout,
    pub(super) engine: Box<dyn Engine>,
}

/// Requirements of direct I/O.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Positions and lengths are multiples of it.
    pub(super) block: usize,
    /// Addresses are multiples of it.
    pub(super) alignment: usize,
}

impl Method {
    /// All, the best one first.
    pub const ALL: [Self; 4] = [Self::DirectRing, Self::DirectThread, Self::DontCache, Self::WriteBack];

    /// Whether the page cache is not used.
    pub fn is_direct(self) -> bool {
        matches!(self, Self::DirectRing | Self::DirectThread)
    }

    fn open(self, file: &Arc<OwnedFd>, writes: usize) -> Result<(Layout, Box<dyn Engine>), Refusal> {
        let thread = |output: Output, layout: Layout| {
            WriterThread::start(output, layout.block).map_err(refusal("a thread"))
        };
        let file = Arc::clone(file);
        match self {
            Self::DirectRing => {
                let layout = direct(&file).map_err(refusal("direct I/O"))?;
                Ok((layout, Ring::open(file, layout.block, writes).map_err(refusal("io_uring"))?))
            }
            Self::DirectThread => {
                let layout = direct(&file).map_err(refusal("direct I/O"))?;
                Ok((layout, thread(Output::direct(file), layout)?))
            }
            Self::DontCache => {
                let layout = Layout { block: BLOCK, alignment: BLOCK };
                let output = Output::dont_cache(file);
                cached(&output, layout).map_err(refusal("RWF_DONTCACHE"))?;
                Ok((layout, thread(output, layout)?))
            }
            Self::WriteBack => {
                let layout = Layout { block: BLOCK, alignment: BLOCK };
                let output = Output::buffered(file);
                cached(&output, layout).map_err(refusal("writing"))?;
                Ok((layout, thread(output, layout)?))
            }
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DirectRing => "direct I/O by io_uring",
            Self::DirectThread => "direct I/O by a thread",
            Self::DontCache => "page cache dropped by the kernel",
            Self::WriteBack => "page cache dropped a few MiB behind",
        })
    }
}

/// The method, and in parentheses what is refused.
impl fmt::Display for WritePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.method.fmt(f)?;
        for (number, refusal) in self.refusals.iter().enumerate() {
            write!(f, "{}{refusal}", if number == 0 { " (refused: " } else { "; " })?;
        }
        if self.refusals.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.facility, self.error)
    }
}

/// Opens the first of the methods that the system does not refuse.
///
/// # Errors
/// The refusal of the last one.
pub(super) fn open(methods: &[Method], file: &Arc<OwnedFd>, writes: usize) -> io::Result<Opened> {
    let mut refusals: Vec<Refusal> = Vec::new();
    for &method in methods {
        match method.open(file, writes) {
            Ok((layout, engine)) => {
                return Ok(Opened { path: WritePath { method, refusals }, layout, engine });
            }
            Err(refusal) if refusals.last().is_some_and(|last| last.facility == refusal.facility) => {}
            Err(refusal) => refusals.push(refusal),
        }
    }
    let last = refusals.pop().map(|last| (last.error.kind(), last.to_string()));
    let (kind, text) = last.unwrap_or_else(|| (io::ErrorKind::InvalidInput, "no method is allowed".into()));
    Err(io::Error::new(kind, text))
}

fn refusal(facility: &'static str) -> impl FnOnce(io::Error) -> Refusal {
    move |error| Refusal { facility, error }
}

/// Has an open, empty file bypass the page cache. It is not opened that way: a file system that refuses it would
/// leave an empty file.
fn direct(file: &Arc<OwnedFd>) -> io::Result<Layout> {
    fcntl_setfl(file, fcntl_getfl(file)? | OFlags::DIRECT)?;
    let layout = direct_layout(file)?;
    try_block(&Output::direct(Arc::clone(file)), layout)?;
    Ok(layout)
}

/// Has an open, empty file go through the page cache.
fn cached(output: &Output, layout: Layout) -> io::Result<()> {
    fcntl_setfl(output.file(), fcntl_getfl(output.file())? - OFlags::DIRECT)?;
    try_block(output, layout)
}

/// Some file systems refuse the flag only when they are written.
fn try_block(output: &Output, layout: Layout) -> io::Result<()> {
    let zeros = Pool::new(1, layout.block, layout.alignment).take()?.ok_or(Errno::NOMEM)?;
    let written = output.write_at(&zeros, 0)?;
    ftruncate(output.file(), 0)?;
    if written == zeros.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

fn direct_layout(file: &OwnedFd) -> io::Result<Layout> {
    let unknown = Layout { block: BLOCK, alignment: BLOCK };
    let Ok(found) = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else { return Ok(unknown) };
    if !StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::DIOALIGN) {
        return Ok(unknown);
    }
    if found.stx_dio_mem_align == 0 {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "not for this file"));
    }
    Ok(Layout {
        block: BLOCK.max(found.stx_dio_offset_align as usize),
        alignment: BLOCK.max(found.stx_dio_mem_align as usize),
    })
}
