//! Asynchronous writes through io_uring.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, squeue, types};
use rustix::io::Errno;

use super::engine::{Engine, Failure, Write};

/// Operations in flight that have no buffer: a reservation of space, and a sync.
const WITHOUT_BUFFER: usize = 2;

/// How often an operation is repeated that the kernel has interrupted or cancelled, and a submission for which it
/// lacks memory.
const MOST_ATTEMPTS: u32 = 100;

/// Wait before a submission is repeated.
const RETRY_AFTER: Duration = Duration::from_millis(1);

/// The operations that are used, which are younger than io_uring: Linux 5.6 has the first two.
const OPERATIONS: [u8; 3] = [opcode::Write::CODE, opcode::Fallocate::CODE, opcode::Fsync::CODE];

/// The operations of a file that is open for direct I/O.
pub(super) struct Ring {
    ring: IoUring,
    file: Arc<OwnedFd>,
    block: usize,
    /// By `user_data` of its entry. An operation keeps its buffer until the kernel has completed it.
    slots: Vec<Option<Operation>>,
    failure: Option<Failure>,
    /// Whether the ring itself failed, so that no completion can be waited for.
    is_broken: bool,
}

struct Operation {
    kind: Kind,
    attempts: u32,
}

enum Kind {
    Write(Write),
    Allocate { at: u64, len: u64 },
    Sync,
}

/// How an operation goes on after its completion.
enum Next {
    Ended,
    Again,
    Failed(Failure),
}

impl Ring {
    /// A ring for a file with at most `writes` writes in flight.
    ///
    /// # Errors
    /// If the kernel refuses io_uring, as in many containers, or is older than Linux 5.6.
    pub(super) fn open(file: Arc<OwnedFd>, block: usize, writes: usize) -> io::Result<Box<dyn Engine>> {
        let slots: Vec<_> = (0..writes + WITHOUT_BUFFER).map(|_| None).collect();
        let ring = IoUring::new(slots.len() as u32)?;
        check_operations(&ring)?;
        Ok(Box::new(Self { ring, file, block, slots, failure: None, is_broken: false }))
    }

    fn start(&mut self, kind: Kind) {
        let slot = loop {
            if self.is_broken {
                return;
            }
            match self.slots.iter().position(Option::is_none) {
                Some(slot) => break slot,
                None => self.wait(),
            }
        };
        self.slots[slot] = Some(Operation { kind, attempts: 0 });
        self.submit(slot);
    }

    /// Gives the operation of a slot to the kernel.
    fn submit(&mut self, slot: usize) {
        let Some(operation) = &self.slots[slot] else { return };
        let entry = operation.entry(types::Fd(self.file.as_raw_fd())).user_data(slot as u64);
        // SAFETY: the entry names a buffer of the operation, whose memory stays where it is. The operation stays in
        // its slot until its completion, and is leaked if that cannot be waited for. The file is open as long.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the queue has an entry for each slot");
        self.enter(0);
    }

    /// Submits, and waits for this many completions.
    fn enter(&mut self, completions: usize) {
        for _ in 0..MOST_ATTEMPTS {
            let error = loop {
                match self.ring.submit_and_wait(completions) {
                    Ok(_) => return,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break error,
                }
            };
            match Errno::from_io_error(&error) {
                Some(Errno::AGAIN | Errno::BUSY) => thread::sleep(RETRY_AFTER),
                _ => return self.break_down(error),
            }
        }
        self.break_down(Errno::AGAIN.into());
    }

    fn break_down(&mut self, error: io::Error) {
        self.is_broken = true;
        Failure::new("use io_uring", error).add_to(&mut self.failure);
    }

    fn complete(&mut self, slot: usize, result: i32) {
        let Some(operation) = &mut self.slots[slot] else { return };
        match operation.next(result, self.block) {
            Next::Again => return self.submit(slot),
            Next::Ended => {}
            Next::Failed(failure) => failure.add_to(&mut self.failure),
        }
        self.slots[slot] = None;
    }

    fn is_in_flight(&self, is_searched: impl Fn(&Kind) -> bool) -> bool {
        self.slots.iter().flatten().any(|operation| is_searched(&operation.kind))
    }

    /// Waits until no such operation is in flight.
    fn wait_while_in_flight(&mut self, is_searched: impl Fn(&Kind) -> bool) {
        while !self.is_broken && self.is_in_flight(&is_searched) {
            self.wait();
        }
    }
}

impl Engine for Ring {
    fn write(&mut self, write: Write) {
        // The kernel starts operations in any order.
        self.wait_while_in_flight(|kind| matches!(kind, Kind::Write(earlier) if overlap(earlier, &write)));
        if self.failure.is_none() {
            self.start(Kind::Write(write));
        }
    }

    fn allocate(&mut self, at: u64, len: u64) {
        self.wait_while_in_flight(|kind| matches!(kind, Kind::Allocate { .. }));
        self.start(Kind::Allocate { at, len });
    }

    fn settle(&mut self) {
        self.wait_while_in_flight(|_| true);
    }

    fn sync(&mut self) {
        self.settle();
        self.start(Kind::Sync);
        self.settle();
    }

    fn poll(&mut self) {
        loop {
            // The queue is borrowed only here: an operation may be submitted again.
            let Some(completion) = self.ring.completion().next() else { return };
            self.complete(completion.user_data() as usize, completion.result());
        }
    }

    fn wait(&mut self) {
        if self.in_flight() > 0 {
            self.enter(1);
            self.poll();
        }
    }

    fn in_flight(&self) -> usize {
        if self.is_broken { 0 } else { self.slots.iter().flatten().count() }
    }

    fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.settle();
        if self.is_broken {
            // The kernel may still read the buffers.
            mem::forget(mem::take(&mut self.slots));
        }
    }
}

/// Asks the kernel for the operations that are used. Older kernels cannot be asked.
fn check_operations(ring: &IoUring) -> io::Result<()> {
    let mut probe = Probe::new();
    let asked = ring.submitter().register_probe(&mut probe);
    if asked.is_ok() && OPERATIONS.into_iter().all(|operation| probe.is_supported(operation)) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel lacks operations, which Linux 5.6 has"))
}

/// Whether two writes have a byte in common.
fn overlap(one: &Write, other: &Write) -> bool {
    one.at < other.at + other.len as u64 && other.at < one.at + one.len as u64
}

impl Operation {
    fn entry(&self, file: types::Fd) -> squeue::Entry {
        match &self.kind {
            Kind::Write(write) => {
                let (rest, at) = write.rest();
                opcode::Write::new(file, rest.as_ptr(), rest.len() as u32).offset(at).build()
            }
            Kind::Allocate { at, len } => {
                opcode::Fallocate::new(file, *len).offset(*at).mode(libc::FALLOC_FL_KEEP_SIZE).build()
            }
            Kind::Sync => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        }
    }

    fn next(&mut self, result: i32, block: usize) -> Next {
        let result = match u32::try_from(result) {
            Ok(written) => Ok(written as usize),
            Err(_) => Err(Errno::from_raw_os_error(-result)),
        };
        // A kernel may cancel operations of a thread that ends.
        if let Err(Errno::INTR | Errno::CANCELED | Errno::AGAIN) = result
            && self.attempts < MOST_ATTEMPTS
        {
            self.attempts += 1;
            return Next::Again;
        }
        match (&mut self.kind, result) {
            (Kind::Write(write), Ok(written)) => match write.advance(written, block) {
                Ok(()) if write.is_done() => Next::Ended,
                Ok(()) => Next::Again,
                Err(error) => Next::Failed(write.failure(error)),
            },
            (Kind::Write(write), Err(error)) => Next::Failed(write.failure(error.into())),
            (Kind::Sync, Err(error)) => Next::Failed(Failure::new("sync", error)),
            (Kind::Sync, Ok(_)) | (Kind::Allocate { .. }, _) => Next::Ended,
        }
    }
}
