//! Executors, which run callbacks on one or more threads.

mod future_waker;
mod spin_waker;

use std::panic::resume_unwind;
use std::pin::pin;
use std::ptr;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{clock, cpu};

use crate::error::Error;
use crate::ready::{NodeQueue, ReadyQueue, Task};
use crate::runtime::shared::Shared;
use crate::sync::{Class, Mutex, lock};
use future_waker::FutureWaker;
use spin_waker::SpinWaker;

/// After a callback that took this long (or crossed a kernel tick), everything that arrived meanwhile is received
/// before the next one runs. So queues drop the oldest messages, and the newest do not stay in the kernel.
pub(crate) const LONG_CALLBACK: Duration = Duration::from_millis(1);

/// Maximum number of polls for that, so that callbacks run however fast peers send.
const CATCH_UP_POLLS: usize = 256;

/// Maximum time for that: polls that receive large messages take long.
const CATCH_UP_TIME: Duration = Duration::from_millis(2);

/// Runs the callbacks of the nodes that were added to it or, if made by
/// [`Context::executor`](crate::Context::executor), of all nodes that are in no other executor.
///
/// The spinning thread itself waits for messages: no message passes between threads. With several threads one waits and
/// the others run callbacks. Callbacks of one mutually exclusive [group](crate::CallbackGroup) never run at the same
/// time, and neither does the callback of one subscription, service or timer.
///
/// Two executors, so that a slow camera does not delay the drive:
///
/// ```no_run
/// use std::thread;
/// use runnel::{Context, Executor};
///
/// # fn main() -> Result<(), runnel::Error> {
/// let context = Context::new()?;
/// let (drive, camera) = (context.create_node("drive")?, context.create_node("camera")?);
/// let slow = Executor::new(&context).threads(2);
/// slow.add_node(&camera)?;
/// let slow = thread::spawn(move || slow.spin());
/// context.spin()?; // the drive
/// # drop(drive);
/// slow.join().expect("no callback panics")
/// # }
/// ```
#[must_use = "an executor runs callbacks only while it spins: call `Executor::spin`"]
pub struct Executor {
    shared: Arc<Shared>,
    /// Queue of due callbacks: its own, or the context's.
    ready: Arc<ReadyQueue>,
    /// The added nodes.
    nodes: Mutex<Vec<Weak<NodeQueue>>>,
    threads: usize,
    cpus: Vec<usize>,
}

impl Executor {
    /// A single-threaded executor of all nodes that are in no other executor.
    pub(crate) fn of_context(shared: &Arc<Shared>) -> Self {
        Self::with_queue(shared, Arc::clone(&shared.ready))
    }

    /// A single-threaded executor without nodes.
    pub(crate) fn without_nodes(shared: &Arc<Shared>) -> Self {
        let ready = Arc::new(ReadyQueue::new(shared.reactor.waker().clone()));
        shared.executors.add(&ready);
        Self::with_queue(shared, ready)
    }

    fn with_queue(shared: &Arc<Shared>, ready: Arc<ReadyQueue>) -> Self {
        let nodes = Mutex::new(Class::ExecutorNodes, Vec::new());
        Self { shared: Arc::clone(shared), ready, nodes, threads: 1, cpus: Vec::new() }
    }

    pub(crate) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// Adds a node. False if it is in another executor.
    pub(crate) fn add(&self, node: &Arc<NodeQueue>) -> bool {
        if Arc::ptr_eq(&self.ready, &self.shared.ready) {
            return !node.is_in_executor();
        }
        let mut nodes = lock(&self.nodes);
        nodes.retain(|node| node.upgrade().is_some_and(|node| node.is_in(&self.ready)));
        let enters = node.enter(&self.ready);
        if enters && !nodes.iter().any(|other| ptr::eq(other.as_ptr(), Arc::as_ptr(node))) {
            nodes.push(Arc::downgrade(node));
        }
        enters
    }

    /// Removes a node. False if it was not in this executor.
    pub(crate) fn remove(&self, node: &Arc<NodeQueue>) -> bool {
        node.leave(&self.ready)
    }

    /// Sets the number of threads. 0 means 1.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Binds the threads to these CPUs, numbered from 0. Every thread may use all of them.
    pub fn cpus(mut self, cpus: &[usize]) -> Self {
        self.cpus = cpus.to_vec();
        self
    }

    /// Runs callbacks until the context shuts down, then unregisters its nodes. If several executors spin, the last one
    /// to end unregisters them: join its thread before the program ends.
    ///
    /// # Errors
    /// When a CPU cannot be used, or the operating system refuses to wait.
    pub fn spin(&self) -> Result<(), Error> {
        let spinning = self.shared.spin_count.begin();
        let result = thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).map(|_| scope.spawn(|| self.spin_thread())).collect();
            let mine = self.spin_thread();
            let others_results =
                others.into_iter().map(|thread| thread.join().unwrap_or_else(|why| resume_unwind(why)));
            [mine].into_iter().chain(others_results).collect::<Result<(), Error>>()
        });
        spinning.end(|| self.shared.close());
        result
    }

    fn spin_thread(&self) -> Result<(), Error> {
        if !self.cpus.is_empty() {
            cpu::bind_thread(&self.cpus)?;
        }
        let _end = ShutdownOnDrop(&self.shared);
        while self.shared.ok() {
            self.step(None, &|| false)?;
        }
        Ok(())
    }

    /// Runs the callbacks that are due now, without waiting, on the calling thread. The number of threads and the CPUs
    /// apply only to [`Executor::spin`].
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn spin_some(&self) -> Result<(), Error> {
        catch_up(&self.shared)?;
        self.shared.timers.fire();
        for _ in 0..self.ready.len() {
            self.run_next();
        }
        self.shared.event_loop.finish_wait();
        Ok(())
    }

    /// Waits at most `timeout` for a callback and runs it on the calling thread; false if none became due.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn spin_once(&self, timeout: Duration) -> Result<bool, Error> {
        let until = clock::monotonic() + timeout;
        loop {
            if self.step(Some(until), &|| false)? {
                return Ok(true);
            }
            if !self.shared.ok() || clock::monotonic() >= until {
                self.finish_spinning();
                return Ok(false);
            }
        }
    }

    /// A waker that any thread may use to wake one that spins: [`Executor::spin_once`] returns true then, as after a
    /// callback. Without a thread that spins, the next one wakes.
    pub fn waker(&self) -> Waker {
        SpinWaker::waker(&self.ready)
    }

    /// Runs callbacks on the calling thread until a future completes, and returns its output; `None` after `timeout`.
    /// Without a `timeout` there is no time limit.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use runnel::{Context, msgs::std_srvs::srv::{Trigger, TriggerRequest}};
    /// # fn on_node(context: &Context, node: &runnel::Node) -> Result<(), runnel::Error> {
    /// let client = node.create_client::<Trigger>("calibrate")?;
    /// let response = client.call_async(&TriggerRequest {});
    /// match context.executor().spin_until_future_complete(response, Some(Duration::from_secs(5)))? {
    ///     Some(response) => println!("{}", response?.message),
    ///     None => println!("no response within 5 s"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends before, and when the operating system refuses to wait.
    pub fn spin_until_future_complete<F: Future>(
        &self,
        future: F,
        timeout: Option<Duration>,
    ) -> Result<Option<F::Output>, Error> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let (mut future, woken) = (pin!(future), FutureWaker::new(&self.ready));
        let waker = woken.waker();
        let _finish = FinishOnDrop(self);
        loop {
            if woken.take() {
                // A poll is user code, which may take long.
                self.finish_spinning();
                if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                    return Ok(Some(output));
                }
            }
            if !self.shared.ok() {
                return Err(Error::ShuttingDown);
            }
            if until.is_some_and(|until| clock::monotonic() >= until) {
                return Ok(None);
            }
            self.step(until, &|| woken.is_set())?;
        }
    }

    /// Runs one callback, or waits for one until `until` and while `is_over` returns false. True if a callback ran.
    fn step(&self, until: Option<Instant>, is_over: &dyn Fn() -> bool) -> Result<bool, Error> {
        let shared = &*self.shared;
        shared.timers.fire();
        // A caller with a deadline wants one callback.
        if until.map_or_else(|| self.run_batch_until_due(), |_| self.run_next()) {
            if shared.event_loop.since_foreground_poll() >= LONG_CALLBACK {
                catch_up(shared)?;
            }
            return Ok(true);
        }
        // Called again with the driver locked: another thread may have consumed the wake.
        let due = || if is_over() { Some(Instant::default()) } else { shared.next_due(until) };
        if shared.event_loop.is_polled_by_executor() {
            let timeout = due().map(|until| until.since(clock::monotonic()));
            self.ready.follow(timeout, || shared.event_loop.is_polled_by_executor() && !is_over());
        } else {
            shared.event_loop.poll_for_executor(due, &self.ready, shared.polling)?;
        }
        Ok(false)
    }

    /// Takes a due callback, after ensuring that another thread polls the driver.
    fn next(&self) -> Option<Arc<dyn Task>> {
        let due = self.ready.pop()?;
        self.shared.executors.wake_other_executor(&self.ready, &self.shared.ready);
        self.shared.event_loop.ensure_background_thread();
        Some(due)
    }

    fn run_next(&self) -> bool {
        self.next().inspect(|due| due.run()).is_some()
    }

    /// Runs a callback, and further messages of its subscription, until something else is due or the node is removed.
    fn run_batch_until_due(&self) -> bool {
        let (shared, Some(due)) = (&*self.shared, self.next()) else { return false };
        // Another thread may poll all the time, so the time since the last poll is no limit.
        let start = clock::last_tick();
        due.run_batch(&|| {
            !self.ready.is_due()
                && shared.timers.next().is_none_or(|at| clock::monotonic() < at)
                && clock::last_tick().since(start) < LONG_CALLBACK
                && shared.event_loop.since_foreground_poll() < LONG_CALLBACK
                && shared.ok()
                && due.dispatch().is_none_or(|dispatch| dispatch.is_to(&self.ready))
        });
        true
    }

    /// Pauses or ends spinning on the calling thread: another thread must wait for messages and run due callbacks.
    fn finish_spinning(&self) {
        self.ready.wake_another();
        self.shared.executors.wake_other_executor(&self.ready, &self.shared.ready);
        self.shared.event_loop.finish_wait();
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        let nodes = std::mem::take(&mut *lock(&self.nodes));
        for node in nodes.iter().filter_map(Weak::upgrade) {
            node.leave(&self.ready);
        }
    }
}

/// Ends spinning on the calling thread, also when a future or a callback panics.
struct FinishOnDrop<'a>(&'a Executor);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.0.finish_spinning();
    }
}

/// Shuts the context down when a spinning thread ends, also by a panic. The other threads see neither the panic nor a
/// signal.
struct ShutdownOnDrop<'a>(&'a Shared);

impl Drop for ShutdownOnDrop<'_> {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

/// Receives all that has arrived, within limits if more keeps arriving.
pub(crate) fn catch_up(shared: &Shared) -> Result<(), Error> {
    let until = clock::monotonic() + CATCH_UP_TIME;
    for _ in 0..CATCH_UP_POLLS {
        if clock::monotonic() >= until || !shared.event_loop.poll_without_waiting()?.had_work {
            break;
        }
    }
    Ok(())
}
