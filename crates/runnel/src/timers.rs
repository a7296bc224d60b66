//! Timers of the user's, fired by whoever spins; those that follow a simulated clock, by whoever hears it.

use litemap::LiteMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel_core::time::{Instant, Time};
use runnel_io::clock;

use crate::data::{ReadyQueue, Runnable};
use crate::node::Node;
use crate::ros_clock::RosClock;
use crate::sync::{lock, try_lock};

/// Stands for no timer in [`Timers::next`].
const NEVER: u64 = u64::MAX;

/// Which clock a timer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    /// The monotonic clock, always.
    Wall,
    /// ROS time: the monotonic clock unless time is simulated.
    Ros,
}

/// A callback that is called at a fixed period, made by [`Node::create_timer`] or [`Node::create_wall_timer`]. It ends when it
/// is dropped. However many calls were missed, one makes up for them.
#[must_use = "a timer ends when it is dropped"]
pub struct Timer {
    node: Node,
    id: u64,
}

impl Timer {
    pub(crate) fn new(node: Node, id: u64) -> Self {
        Self { node, id }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("node", &self.node.full_name()).finish_non_exhaustive()
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let shared = &self.node.context().shared;
        shared.timers.remove(self.id, &shared.ready);
    }
}

/// All timers of a context, by when they fire next.
pub(crate) struct Timers {
    clock: Arc<RosClock>,
    due: Mutex<Due>,
    /// When the next of those by the monotonic clock fires, so that a spinner that looks at every message needs no lock.
    next: AtomicU64,
    next_id: AtomicU64,
}

#[derive(Default)]
struct Due {
    wall: LiteMap<(Instant, u64), Arc<TimerCore>>,
    /// By simulated time, in nanoseconds. Empty while time is not simulated.
    simulated: LiteMap<(i64, u64), Arc<TimerCore>>,
    /// The simulated time that was told last.
    told: i64,
}

/// One timer.
pub(crate) struct TimerCore {
    period: Duration,
    follows: Follows,
    callback: Mutex<Box<dyn FnMut() + Send>>,
    /// It stands in the ready queue.
    scheduled: AtomicBool,
    /// Removed since it was scheduled.
    cancelled: AtomicBool,
}

impl Timers {
    pub(crate) fn new(clock: Arc<RosClock>) -> Self {
        Self { clock, due: Mutex::default(), next: AtomicU64::new(NEVER), next_id: AtomicU64::new(0) }
    }

    /// Adds a timer that fires first after one period, and gives the number by which it is removed.
    pub(crate) fn add(&self, period: Duration, follows: Follows, callback: Box<dyn FnMut() + Send>) -> u64 {
        let (scheduled, cancelled) = (AtomicBool::new(false), AtomicBool::new(false));
        // Without any time between two firings, firing would have no end.
        let period = period.max(Duration::from_nanos(1));
        let callback = Mutex::new(callback);
        let timer = Arc::new(TimerCore { period, follows, callback, scheduled, cancelled });
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut due = lock(&self.due);
        due.insert(id, timer, self.clock.is_simulated());
        self.note_next(&due);
        id
    }

    /// Removes a timer and all that its callback holds.
    pub(crate) fn remove(&self, id: u64, ready: &ReadyQueue) {
        let mut due = lock(&self.due);
        let timer = due.remove(id);
        self.note_next(&due);
        // What the callback holds may be a publisher, whose end must not happen under this lock.
        drop(due);
        if let Some(timer) = timer {
            timer.cancelled.store(true, Ordering::Relaxed);
            drop(ready.take(Arc::as_ptr(&timer).cast()));
        }
    }

    fn note_next(&self, due: &Due) {
        let next = due.wall.first().map_or(NEVER, |((at, _), _)| at.0);
        self.next.store(next, Ordering::Release);
    }

    /// When the next timer by the monotonic clock fires.
    pub(crate) fn next(&self) -> Option<Instant> {
        Some(self.next.load(Ordering::Acquire)).filter(|next| *next != NEVER).map(Instant)
    }

    /// Makes the callbacks of all timers that are due by the monotonic clock ready. One that was missed more than once
    /// fires once.
    pub(crate) fn fire(&self, ready: &ReadyQueue) {
        let Some(next) = self.next() else { return };
        let now = clock::monotonic();
        if now < next {
            return;
        }
        let mut due = lock(&self.due);
        while let Some((at, id)) = due.wall.first().map(|(key, _)| *key).filter(|(at, _)| *at <= now)
            && let Some(timer) = due.wall.remove(&(at, id))
        {
            timer.schedule(ready);
            let regular = at + timer.period;
            let next = if regular > now { regular } else { now + timer.period };
            due.wall.insert((next, id), timer);
        }
        self.note_next(&due);
    }

    /// The simulated clock tells the time: makes the callbacks of all timers that are due by it ready.
    pub(crate) fn tell(&self, now: Time, ready: &ReadyQueue) {
        let now = now.as_nanos();
        let mut due = lock(&self.due);
        if now < due.told {
            due.begin_again(now);
        }
        due.told = now;
        while let Some((at, id)) = due.simulated.first().map(|(key, _)| *key).filter(|(at, _)| *at <= now)
            && let Some(timer) = due.simulated.remove(&(at, id))
        {
            timer.schedule(ready);
            let regular = after(at, timer.period);
            let next = if regular > now { regular } else { after(now, timer.period) };
            due.simulated.insert((next, id), timer);
        }
    }

    /// Time is simulated from now on, or no longer: timers that follow it begin a new period.
    pub(crate) fn simulate(&self, simulated: bool) {
        let mut due = lock(&self.due);
        due.told = 0;
        for (id, timer) in due.take_followers() {
            due.insert(id, timer, simulated);
        }
        self.note_next(&due);
    }
}

impl Due {
    fn insert(&mut self, id: u64, timer: Arc<TimerCore>, simulated: bool) {
        if simulated && timer.follows == Follows::Ros {
            self.simulated.insert((after(self.told, timer.period), id), timer);
        } else {
            self.wall.insert((clock::monotonic() + timer.period, id), timer);
        }
    }

    fn remove(&mut self, id: u64) -> Option<Arc<TimerCore>> {
        let wall = self.wall.keys().find(|(_, other)| *other == id).copied();
        let simulated = self.simulated.keys().find(|(_, other)| *other == id).copied();
        let found = wall.and_then(|key| self.wall.remove(&key));
        found.or_else(|| self.simulated.remove(&simulated?))
    }

    /// Takes out those that follow ROS time.
    fn take_followers(&mut self) -> Vec<(u64, Arc<TimerCore>)> {
        let wall = std::mem::take(&mut self.wall).into_iter();
        let (followers, others): (Vec<_>, Vec<_>) =
            wall.partition(|(_, timer)| timer.follows == Follows::Ros);
        self.wall = others.into_iter().collect();
        let simulated = std::mem::take(&mut self.simulated).into_iter().map(|((_, id), timer)| (id, timer));
        followers.into_iter().map(|((_, id), timer)| (id, timer)).chain(simulated).collect()
    }

    /// Simulated time has jumped back: nobody waits longer than a period for the next firing.
    fn begin_again(&mut self, now: i64) {
        let simulated = std::mem::take(&mut self.simulated).into_iter();
        let sooner =
            |((at, id), timer): ((i64, u64), Arc<TimerCore>)| ((at.min(after(now, timer.period)), id), timer);
        self.simulated = simulated.map(sooner).collect();
    }
}

fn after(nanos: i64, period: Duration) -> i64 {
    nanos.saturating_add(i64::try_from(period.as_nanos()).unwrap_or(i64::MAX))
}

impl TimerCore {
    fn schedule(self: &Arc<Self>, ready: &ReadyQueue) {
        if !self.scheduled.swap(true, Ordering::SeqCst) {
            ready.push(Arc::clone(self) as Arc<dyn Runnable>);
        }
    }
}

impl Runnable for TimerCore {
    fn run(&self) {
        self.scheduled.store(false, Ordering::SeqCst);
        // It may run further up on this thread's stack, or on another thread.
        let Some(mut callback) = try_lock(&self.callback) else { return };
        if !self.cancelled.load(Ordering::Relaxed) {
            callback();
        }
    }
}
