//! Wait sets, as in rclcpp: a thread waits until any of the chosen entities is ready, and takes from them. Tasks do the
//! same with a [`TaskWaiter`](crate::runtime::task_waiter::TaskWaiter).

use std::ptr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use crate::error::Error;
use crate::ready::{Signal, Waitable};
use crate::runtime::executor::{LONG_CALLBACK, catch_up};
use crate::runtime::shared::Shared;

/// Identifies an entity in a [`WaitSet`]. [`WaitSet::wait`] returns the keys of ready entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitKey(u64);

/// Waits until any of several entities is ready: subscriptions, services, timers, calls, guard conditions. The thread
/// takes from the ready ones, in place of callbacks. For programs with their own event loop, and for language bindings.
///
/// Entities without a callback are created by
/// [`Node::create_waitable_subscription`](crate::Node::create_waitable_subscription) and similar functions. Entities
/// with a callback may be added, too: either the callback or the taking thread gets a message.
///
/// ```no_run
/// use std::time::Duration;
/// use runnel::{GuardCondition, WaitSet, msgs::std_msgs::msg::String};
///
/// # fn on_node(node: &runnel::Node) -> Result<(), Box<dyn std::error::Error>> {
/// let chatter = node.create_waitable_subscription::<String>("chatter", 10)?;
/// let timer = node.create_waitable_timer(Duration::from_secs(1));
/// let stop = GuardCondition::new(); // another thread triggers it
/// let mut wait_set = WaitSet::new(node.context());
/// wait_set.add_subscription(&chatter);
/// wait_set.add_timer(&timer);
/// wait_set.add_guard_condition(&stop);
/// while !stop.take() {
///     wait_set.wait(None)?;
///     while let Some(message) = chatter.take::<String>() {
///         println!("{}", message.view()?.data);
///     }
///     if timer.take() {
///         println!("one second has passed");
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// The waiting thread also receives for the whole process, unless another thread does. It runs no callback.
pub struct WaitSet {
    shared: Arc<Shared>,
    signal: Arc<Signal>,
    waker: Waker,
    entities: Vec<(WaitKey, Arc<dyn Waitable>)>,
    ready: Vec<WaitKey>,
    next_key: u64,
}

impl WaitSet {
    /// Creates an empty wait set.
    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        let signal = Signal::new(shared.reactor.waker().clone());
        let waker = Waker::from(Arc::clone(&signal));
        Self {
            shared: Arc::clone(shared),
            signal,
            waker,
            entities: Vec::new(),
            ready: Vec::new(),
            next_key: 0,
        }
    }

    /// Adds an entity and returns its key.
    pub(crate) fn add(&mut self, entity: Arc<impl Waitable + 'static>) -> WaitKey {
        let key = WaitKey(self.next_key);
        self.next_key += 1;
        entity.listeners().add(&self.waker);
        self.entities.push((key, entity));
        key
    }

    /// Removes an entity. False if no entity has this key.
    pub fn remove(&mut self, key: WaitKey) -> bool {
        let Some(place) = self.entities.iter().position(|(other, _)| *other == key) else { return false };
        let (_, removed) = self.entities.swap_remove(place);
        let is_same = |other: &Arc<dyn Waitable>| ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(&removed));
        if !self.entities.iter().any(|(_, entity)| is_same(entity)) {
            removed.listeners().remove(&self.waker);
        }
        true
    }

    /// Waits until an entity is ready, and returns the keys of all ready entities; none after `timeout`. Without a
    /// `timeout` it waits indefinitely. An entity stays ready until everything was taken from it. Messages that have
    /// already arrived are received even if `timeout` is zero.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends before an entity is ready; [`Error::Io`] when the operating system
    /// refuses to wait.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<&[WaitKey], Error> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let waited = self.wait_until(until);
        self.shared.event_loop.finish_wait();
        waited.map(|()| self.ready.as_slice())
    }

    fn wait_until(&mut self, until: Option<Instant>) -> Result<(), Error> {
        let event_loop = &self.shared.event_loop;
        if event_loop.since_foreground_poll() >= LONG_CALLBACK && !event_loop.is_polled_in_foreground() {
            catch_up(&self.shared)?;
        }
        let mut is_over = false;
        loop {
            self.signal.reset();
            let next = self.check_entities();
            if is_over || !self.ready.is_empty() {
                return Ok(());
            }
            if !self.shared.ok() {
                return Err(Error::ShuttingDown);
            }
            let next = [until, next].into_iter().flatten().min();
            self.shared.event_loop.wait_for(&self.signal, next)?;
            is_over = until.is_some_and(|until| clock::monotonic() >= until);
        }
    }

    /// Collects the ready entities, and returns the next time at which one may become ready.
    fn check_entities(&mut self) -> Option<Instant> {
        self.ready.clear();
        let mut next: Option<Instant> = None;
        for (key, entity) in &self.entities {
            next = [next, entity.check_time()].into_iter().flatten().min();
            if entity.is_ready() {
                self.ready.push(*key);
            }
        }
        next
    }
}

impl Drop for WaitSet {
    fn drop(&mut self) {
        self.entities.iter().for_each(|(_, entity)| entity.listeners().remove(&self.waker));
    }
}
