//! Threads that do one kind of work on a sequence of inputs, and give the results in its order.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Threads, and the inputs that they work on. Dropping it waits for the pending ones.
pub struct Workers<I, O> {
    /// `None` once the threads are to end.
    jobs: Option<Sender<Job<I, O>>>,
    /// Results to come, in the order of the inputs.
    results: VecDeque<Receiver<O>>,
    threads: Vec<JoinHandle<()>>,
}

/// An input, and where its result goes.
struct Job<I, O> {
    input: I,
    result: SyncSender<O>,
}

impl<I: Send + 'static, O: Send + 'static> Workers<I, O> {
    /// Starts this many threads, at least one. `name` is that of each thread; the kernel shows 15 bytes of it.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(
        name: &str,
        threads: usize,
        work: impl Fn(I) -> O + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let (queue, work) = (Arc::new(Mutex::new(queue)), Arc::new(work));
        let mut workers = Self { jobs: Some(jobs), results: VecDeque::new(), threads: Vec::new() };
        for _ in 0..threads.max(1) {
            let (queue, work) = (Arc::clone(&queue), Arc::clone(&work));
            let run = move || run(&queue, &*work);
            workers.threads.push(thread::Builder::new().name(name.to_owned()).spawn(run)?);
        }
        Ok(workers)
    }

    /// Adds an input. It is not bounded how many wait: the caller takes results before it adds more.
    pub fn submit(&mut self, input: I) {
        let (result, receiver) = sync_channel(1);
        self.results.push_back(receiver);
        if let Some(jobs) = &self.jobs {
            // Without threads, `take` reports it.
            let _ = jobs.send(Job { input, result });
        }
    }

    /// Number of inputs whose results were not taken.
    pub fn pending(&self) -> usize {
        self.results.len()
    }

    /// The result of the oldest pending input, if its work is done.
    ///
    /// # Errors
    /// If the work panicked.
    pub fn try_take(&mut self) -> io::Result<Option<O>> {
        let taken = match self.results.front().map(Receiver::try_recv) {
            None | Some(Err(TryRecvError::Empty)) => return Ok(None),
            Some(Ok(result)) => Ok(Some(result)),
            Some(Err(TryRecvError::Disconnected)) => Err(panicked()),
        };
        self.results.pop_front();
        taken
    }

    /// The result of the oldest pending input. Waits for it. `None` if there is none.
    ///
    /// # Errors
    /// If the work panicked.
    pub fn take(&mut self) -> io::Result<Option<O>> {
        let Some(result) = self.results.pop_front() else { return Ok(None) };
        result.recv().map(Some).map_err(|_| panicked())
    }
}

impl<I, O> Drop for Workers<I, O> {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

fn run<I, O>(queue: &Mutex<Receiver<Job<I, O>>>, work: &dyn Fn(I) -> O) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { input, result }) = next else { return };
        // Its owner may be gone.
        let _ = result.send(work(input));
    }
}

fn panicked() -> io::Error {
    io::Error::other("a worker thread has panicked")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn start(threads: usize, work: impl Fn(u32) -> u32 + Send + Sync + 'static) -> Workers<u32, u32> {
        Workers::start("runnel-test", threads, work).unwrap()
    }

    #[test]
    fn results_come_in_order_of_inputs() {
        // Two at a time, of which the second may be done first.
        let pair = Barrier::new(2);
        let mut workers = start(2, move |input| {
            pair.wait();
            input * 2
        });
        (0..100).for_each(|input| workers.submit(input));
        assert_eq!(workers.pending(), 100);
        let results: Vec<_> = std::iter::from_fn(|| workers.take().unwrap()).collect();
        assert_eq!(results, (0..100).map(|input| input * 2).collect::<Vec<_>>());
        assert_eq!((workers.pending(), workers.try_take().unwrap()), (0, None));
    }

    #[test]
    fn unfinished_result_is_not_waited_for() {
        let (open, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let mut workers = start(1, move |input| {
            gate.lock().unwrap().recv().unwrap();
            input
        });
        workers.submit(7);
        assert_eq!(workers.try_take().unwrap(), None);
        open.send(()).unwrap();
        assert_eq!(workers.take().unwrap(), Some(7));
    }

    #[test]
    fn panic_of_work_is_an_error_and_no_hang() {
        let mut workers = start(2, |input| if input == 1 { panic!("expected by the test") } else { input });
        (0..3).for_each(|input| workers.submit(input));
        assert_eq!(workers.take().unwrap(), Some(0));
        workers.take().unwrap_err();
        assert_eq!(workers.take().unwrap(), Some(2));
        (0..2).for_each(|_| workers.submit(1));
        (0..2).for_each(|_| drop(workers.take().unwrap_err()));
        workers.submit(0);
        workers.take().unwrap_err();
    }

    #[test]
    fn threads_end_with_their_owner() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let mut workers = start(3, move |input| input + Arc::strong_count(&held) as u32);
        (0..10).for_each(|input| workers.submit(input));
        drop(workers);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
