//! Executors run callbacks: on one thread by default, on several for those who ask.

use std::panic::resume_unwind;
use std::pin::pin;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{clock, cpu};

use crate::error::Error;
use crate::ready::{NodeQueue, ReadyQueue, Runnable};
use crate::shared::Shared;
use crate::sync::{Class, Mutex, lock};

/// After callbacks that took this long (or into another tick of the kernel), everything that arrived meanwhile is taken before
/// the next one runs: a queue then drops the oldest messages, and the newest are not left in the kernel.
pub(crate) const LONG_CALLBACK: Duration = Duration::from_millis(1);

/// Most turns for that, so that callbacks get their turn however fast peers send.
const CATCH_UP: usize = 256;

/// How long that goes on at most: turns that take large messages are long ones.
const CATCH_UP_FOR: Duration = Duration::from_millis(2);

/// Runs callbacks: those of the nodes that were added to it, or ([`Context::executor`](crate::Context::executor)) of all nodes
/// that are in no executor.
///
/// The thread that spins is the thread that waits for messages: nothing is handed over. With several threads one
/// waits and the others run callbacks. Callbacks of one [group](crate::CallbackGroup) that is mutually exclusive never run at
/// the same time, and neither does the callback of one subscription, service or timer.
///
/// Two executors, so that a slow camera does not hold up the drive:
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
pub struct Executor {
    shared: Arc<Shared>,
    /// Where callbacks stand: its own, or that of the context.
    ready: Arc<ReadyQueue>,
    /// Those that were added.
    nodes: Mutex<Vec<Weak<NodeQueue>>>,
    threads: usize,
    cpus: Vec<usize>,
}

impl Executor {
    /// An executor of one thread, for all nodes of the context that are in no other.
    pub(crate) fn of_context(shared: &Arc<Shared>) -> Self {
        Self::with_queue(shared, Arc::clone(&shared.ready))
    }

    /// An executor of one thread that has no nodes.
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

    /// Runs the callbacks of a node from now on. False if another executor does.
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

    /// Runs the callbacks of a node no longer. False if it did not.
    pub(crate) fn remove(&self, node: &Arc<NodeQueue>) -> bool {
        node.leave(&self.ready)
    }

    /// Uses so many threads (at least one).
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Binds the threads to these CPUs, numbered from 0.
    #[must_use]
    pub fn cpus(mut self, cpus: &[usize]) -> Self {
        self.cpus = cpus.to_vec();
        self
    }

    /// Runs callbacks until the context shuts down, then unregisters its nodes.
    ///
    /// # Errors
    /// When a CPU cannot be used, or the operating system refuses to wait.
    pub fn spin(&self) -> Result<(), Error> {
        thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).map(|_| scope.spawn(|| self.spin_thread())).collect();
            let mine = self.spin_thread();
            let theirs =
                others.into_iter().map(|thread| thread.join().unwrap_or_else(|why| resume_unwind(why)));
            [mine].into_iter().chain(theirs).collect::<Result<(), Error>>()
        })?;
        self.shared.close();
        Ok(())
    }

    fn spin_thread(&self) -> Result<(), Error> {
        if !self.cpus.is_empty() {
            cpu::bind_thread(&self.cpus)?;
        }
        let _end = End(&self.shared);
        while self.shared.ok() {
            self.step(None, &|| false)?;
        }
        Ok(())
    }

    /// Runs the callbacks that are due now, without waiting, on the calling thread: threads and CPUs are only for
    /// [`Executor::spin`].
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn spin_some(&self) -> Result<(), Error> {
        catch_up(&self.shared)?;
        self.shared.timers.fire();
        for _ in 0..self.ready.len() {
            self.run_next();
        }
        self.shared.turning.finish_wait();
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
                self.leave();
                return Ok(false);
            }
        }
    }

    /// Runs callbacks on the calling thread until a future completes, and gives its output; `None` if `timeout` is over before.
    /// Without a `timeout` it runs them as long as it takes.
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
        let (mut future, woken) = (pin!(future), Woken::new(&self.ready));
        let waker = Waker::from(Arc::clone(&woken));
        let ended = loop {
            if woken.take()
                && let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                break Ok(Some(output));
            }
            if !self.shared.ok() {
                break Err(Error::ShuttingDown);
            }
            if until.is_some_and(|until| clock::monotonic() >= until) {
                break Ok(None);
            }
            self.step(until, &|| woken.is_set())?;
        };
        self.leave();
        ended
    }

    /// Runs one callback, or waits for one until `until` or while not `is_over`; true if one was run.
    fn step(&self, until: Option<Instant>, is_over: &dyn Fn() -> bool) -> Result<bool, Error> {
        let shared = &*self.shared;
        shared.timers.fire();
        // Who waits until a certain time wants one callback.
        if until.map_or_else(|| self.run_several(), |_| self.run_next()) {
            if shared.turning.since_left() >= LONG_CALLBACK {
                catch_up(shared)?;
            }
            return Ok(true);
        }
        // Asked again with the driver in hand: the wake for that may have gone to another thread.
        let due = || if is_over() { Some(Instant::default()) } else { shared.next_due(until) };
        if shared.turning.spinner_waits() {
            let timeout = due().map(|until| until.since(clock::monotonic()));
            self.ready.follow(timeout, || shared.turning.spinner_waits() && !is_over());
        } else {
            shared.turning.turn_spinning(due, &self.ready, shared.polling)?;
        }
        Ok(false)
    }

    /// The callback that is due, once others look after the driver.
    fn next(&self) -> Option<Arc<dyn Runnable>> {
        let due = self.ready.pop()?;
        self.shared.executors.pass_on(&self.ready, &self.shared.ready);
        self.shared.turning.attend();
        Some(due)
    }

    fn run_next(&self) -> bool {
        self.next().inspect(|due| due.run()).is_some()
    }

    /// Runs a callback, and on for the messages of its subscription that wait, until something else is due.
    fn run_several(&self) -> bool {
        let (shared, Some(due)) = (&*self.shared, self.next()) else { return false };
        due.run_on(&|| {
            !self.ready.is_due()
                && shared.timers.next().is_none_or(|at| clock::monotonic() < at)
                && shared.turning.since_left() < LONG_CALLBACK
                && !shared.stop.load(Ordering::SeqCst)
        });
        true
    }

    /// The calling thread spins no longer: others are to wait for messages, and to run what is due.
    fn leave(&self) {
        self.ready.wake_another();
        self.shared.executors.pass_on(&self.ready, &self.shared.ready);
        self.shared.turning.finish_wait();
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

/// Whether a future is to be polled. When it is, it stands in line like a callback, so that a thread that spins runs on.
struct Woken {
    is_set: AtomicBool,
    ready: Arc<ReadyQueue>,
}

impl Woken {
    /// A future that was not polled yet.
    fn new(ready: &Arc<ReadyQueue>) -> Arc<Self> {
        Arc::new(Self { is_set: AtomicBool::new(true), ready: Arc::clone(ready) })
    }

    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }

    fn take(&self) -> bool {
        self.is_set.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        if !self.is_set.swap(true, Ordering::SeqCst) {
            let ready = Arc::clone(&self.ready);
            ready.push(self);
        }
    }
}

impl Runnable for Woken {
    /// Another thread than that of the future may run it.
    fn run(&self) {
        self.ready.wake_all();
    }
}

/// Ends the other threads with this one, also when a callback panics: those that wait for callbacks see neither that
/// nor the signal that ended it.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

/// Takes all that has arrived, unless more comes all the time.
pub(crate) fn catch_up(shared: &Shared) -> Result<(), Error> {
    let until = clock::monotonic() + CATCH_UP_FOR;
    for _ in 0..CATCH_UP {
        if clock::monotonic() >= until || !shared.turning.turn_at_once()?.served {
            break;
        }
    }
    Ok(())
}
