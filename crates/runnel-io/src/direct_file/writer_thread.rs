//! Writes by a thread of their own, so that the caller does not wait for the disk.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use rustix::io::retry_on_intr;

use super::engine::{Engine, Failure, Write};
use super::output::Output;

/// The caller's end of the thread.
pub(super) struct WriterThread {
    /// `None` once the thread is to end.
    jobs: Option<Sender<Job>>,
    ends: Receiver<Result<(), Failure>>,
    in_flight: usize,
    failure: Option<Failure>,
    thread: Option<JoinHandle<()>>,
}

enum Job {
    Write(Write),
    Allocate { at: u64, len: u64 },
    Settle,
    Sync,
}

/// What the thread owns.
struct Worker {
    output: Output,
    block: usize,
    has_failed: bool,
}

impl WriterThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(output: Output, block: usize) -> io::Result<Box<dyn Engine>> {
        let (jobs, queue) = channel();
        let (report, ends) = channel();
        let mut worker = Worker { output, block, has_failed: false };
        let run = move || {
            // It also ends when the other end is gone, which then needs no reports.
            let _ = queue.iter().try_for_each(|job| report.send(worker.run(job)));
        };
        let thread = thread::Builder::new().name("runnel-disk".into()).spawn(run)?;
        Ok(Box::new(Self { jobs: Some(jobs), ends, in_flight: 0, failure: None, thread: Some(thread) }))
    }

    fn send(&mut self, job: Job) {
        let is_sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        self.in_flight += usize::from(is_sent);
    }

    fn ended(&mut self, end: Result<(), Failure>) {
        self.in_flight -= 1;
        if let Err(failure) = end {
            failure.add_to(&mut self.failure);
        }
    }

    fn wait_for_all(&mut self) {
        while self.in_flight > 0 {
            self.wait();
        }
    }
}

impl Engine for WriterThread {
    fn write(&mut self, write: Write) {
        self.send(Job::Write(write));
    }

    fn allocate(&mut self, at: u64, len: u64) {
        self.send(Job::Allocate { at, len });
    }

    fn settle(&mut self) {
        self.send(Job::Settle);
        self.wait_for_all();
    }

    fn sync(&mut self) {
        self.send(Job::Sync);
        self.wait_for_all();
    }

    fn poll(&mut self) {
        while let Ok(end) = self.ends.try_recv() {
            self.ended(end);
        }
    }

    fn wait(&mut self) {
        if self.in_flight == 0 {
            return;
        }
        match self.ends.recv() {
            Ok(end) => self.ended(end),
            Err(_) => {
                self.in_flight = 0;
                Failure::new("write", io::Error::other("its thread has ended")).add_to(&mut self.failure);
            }
        }
        self.poll();
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

impl Worker {
    fn run(&mut self, job: Job) -> Result<(), Failure> {
        match job {
            // Behind a gap, nothing of the file can be read.
            Job::Write(_) if self.has_failed => Ok(()),
            Job::Write(write) => self.write(write).inspect_err(|_| self.has_failed = true),
            Job::Allocate { at, len } => {
                let reserve = || fallocate(self.output.file(), FallocateFlags::KEEP_SIZE, at, len);
                // Writes work without.
                let _ = retry_on_intr(reserve);
                Ok(())
            }
            Job::Settle => self.output.settle().map_err(|error| Failure::new("write", error)),
            Job::Sync => self.sync().map_err(|error| Failure::new("sync", error)),
        }
    }

    fn write(&mut self, mut write: Write) -> Result<(), Failure> {
        while !write.is_done() {
            let (rest, at) = write.rest();
            let written = self.output.write_at(rest, at);
            written
                .and_then(|written| write.advance(written, self.block))
                .map_err(|error| write.failure(error))?;
        }
        self.output.wrote(write.at, write.len).map_err(|error| write.failure(error))
    }

    fn sync(&mut self) -> io::Result<()> {
        retry_on_intr(|| fdatasync(self.output.file()))?;
        self.output.settle()
    }
}
