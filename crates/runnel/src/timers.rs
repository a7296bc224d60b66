//! Timers of the user's, fired by whoever spins; those that follow a simulated clock, by whoever hears it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use runnel_core::sorted::SortedMap;
use runnel_core::time::{Instant, Time};
use runnel_core::timers::Timers as Queue;
use runnel_io::clock;

use crate::callback_group::Turn;
use crate::ready::{Listeners, Runnable, Waitable, When};
use crate::ros_clock::RosClock;
use crate::sync::{Class, Mutex, TryMutex, lock};

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
    timers: SortedMap<u64, Arc<TimerCore>>,
    wall: Queue<u64>,
    /// By simulated time, in nanoseconds. Empty while time is not simulated.
    simulated: Queue<u64, i64>,
    /// The simulated time that was told last.
    told: i64,
}

/// One timer.
pub(crate) struct TimerCore {
    period: Duration,
    follows: Follows,
    turn: Turn,
    callback: TryMutex<Box<dyn FnMut() + Send>>,
    /// A tick is due: its callback stands in line for it unless it is taken.
    is_due: AtomicBool,
}

impl Timers {
    pub(crate) fn new(clock: Arc<RosClock>) -> Self {
        let due = Mutex::new(Class::Timers, Due::default());
        Self { clock, due, next: AtomicU64::new(NEVER), next_id: AtomicU64::new(0) }
    }

    /// Adds a timer that fires first after one period.
    pub(crate) fn add(
        self: &Arc<Self>,
        (period, follows): (Duration, Follows),
        when: When,
        callback: Box<dyn FnMut() + Send>,
    ) -> TimerEntry {
        let core = Arc::new_cyclic(|myself| TimerCore {
            // Without any time between two firings, firing would have no end.
            period: period.max(Duration::from_nanos(1)),
            follows,
            turn: Turn::new(when, myself),
            callback: TryMutex::new(callback),
            is_due: AtomicBool::new(false),
        });
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut due = lock(&self.due);
        due.insert(id, Arc::clone(&core), self.clock.is_simulated());
        self.note_next(&due);
        TimerEntry { timers: Arc::clone(self), id, core }
    }

    fn remove(&self, id: u64) {
        let mut due = lock(&self.due);
        let timer = due.remove(id);
        self.note_next(&due);
        // What the callback holds may be a publisher, whose end must not happen under this lock.
        drop(due);
        if let Some(timer) = timer {
            timer.take();
        }
    }

    fn note_next(&self, due: &Due) {
        let next = due.wall.next_deadline().map_or(NEVER, |at| at.0);
        self.next.store(next, Ordering::Release);
    }

    /// When the next timer by the monotonic clock fires.
    pub(crate) fn next(&self) -> Option<Instant> {
        Some(self.next.load(Ordering::Acquire)).filter(|next| *next != NEVER).map(Instant)
    }

    /// Makes the callbacks of all timers that are due by the monotonic clock ready. One that was missed more than once
    /// fires once.
    pub(crate) fn fire(&self) {
        let Some(next) = self.next() else { return };
        let now = clock::monotonic();
        if now < next {
            return;
        }
        let mut due = lock(&self.due);
        let Due { timers, wall, .. } = &mut *due;
        while let Some((at, &id)) = wall.first_due(now)
            && let Some(timer) = timers.get(&id)
        {
            timer.schedule();
            let regular = at + timer.period;
            wall.schedule(id, if regular > now { regular } else { now + timer.period });
        }
        self.note_next(&due);
    }

    /// The simulated clock tells the time: makes the callbacks of all timers that are due by it ready.
    pub(crate) fn tell(&self, now: Time) {
        let now = now.as_nanos();
        let mut due = lock(&self.due);
        if now < due.told {
            due.begin_again(now);
        }
        due.told = now;
        let Due { timers, simulated, .. } = &mut *due;
        while let Some((at, &id)) = simulated.first_due(now)
            && let Some(timer) = timers.get(&id)
        {
            timer.schedule();
            let regular = after(at, timer.period);
            simulated.schedule(id, if regular > now { regular } else { after(now, timer.period) });
        }
    }

    /// Time is simulated from now on, or no longer: timers that follow it begin a new period.
    pub(crate) fn simulate(&self, simulated: bool) {
        let mut due = lock(&self.due);
        due.told = 0;
        due.restart_followers(simulated);
        self.note_next(&due);
    }
}

impl Due {
    fn insert(&mut self, id: u64, timer: Arc<TimerCore>, simulated: bool) {
        self.start(id, &timer, simulated);
        self.timers.insert(id, timer);
    }

    /// Begins the first period of a timer.
    fn start(&mut self, id: u64, timer: &TimerCore, simulated: bool) {
        if simulated && timer.follows == Follows::Ros {
            self.simulated.schedule(id, after(self.told, timer.period));
        } else {
            self.wall.schedule(id, clock::monotonic() + timer.period);
        }
    }

    fn remove(&mut self, id: u64) -> Option<Arc<TimerCore>> {
        self.wall.cancel(&id);
        self.simulated.cancel(&id);
        self.timers.remove(&id)
    }

    /// Begins a new period of those that follow ROS time.
    fn restart_followers(&mut self, simulated: bool) {
        let followers = self.timers.iter().filter(|(_, timer)| timer.follows == Follows::Ros);
        let followers: Vec<_> = followers.map(|(id, timer)| (*id, Arc::clone(timer))).collect();
        for (id, timer) in followers {
            self.wall.cancel(&id);
            self.simulated.cancel(&id);
            self.start(id, &timer, simulated);
            // A thread that waits for it waits until another time now.
            timer.turn.listeners().notify();
        }
    }

    /// Simulated time has jumped back: nobody waits longer than a period for the next firing.
    fn begin_again(&mut self, now: i64) {
        for (id, timer) in &self.timers {
            if self.simulated.deadline(id).is_some() {
                self.simulated.schedule_if_earlier(*id, after(now, timer.period));
            }
        }
    }
}

fn after(nanos: i64, period: Duration) -> i64 {
    nanos.saturating_add(i64::try_from(period.as_nanos()).unwrap_or(i64::MAX))
}

impl TimerCore {
    fn schedule(&self) {
        if !self.is_due.swap(true, Ordering::SeqCst) {
            self.turn.push();
        }
    }

    /// Takes the tick that is due, in place of the callback. True if there was one.
    fn take(&self) -> bool {
        // In this order: a tick that comes after the second stands in line again.
        self.turn.take_back();
        self.is_due.swap(false, Ordering::SeqCst)
    }
}

impl Runnable for TimerCore {
    fn run(&self) {
        let Some(_entered) = self.turn.enter("a timer's callback") else { return };
        // Only a thread that is in the group uses it.
        let Some(mut callback) = self.callback.try_lock() else { return };
        if self.is_due.swap(false, Ordering::SeqCst) {
            callback();
        }
    }
}

/// A timer among those of its context.
pub(crate) struct TimerEntry {
    timers: Arc<Timers>,
    id: u64,
    core: Arc<TimerCore>,
}

impl TimerEntry {
    /// Takes the tick that is due, in place of the callback. True if there was one.
    pub(crate) fn take(&self) -> bool {
        self.core.take()
    }

    /// Removes it and all that its callback holds.
    pub(crate) fn remove(&self) {
        self.timers.remove(self.id);
    }
}

impl Waitable for TimerEntry {
    fn is_ready(&self) -> bool {
        self.core.is_due.load(Ordering::SeqCst)
    }

    fn listeners(&self) -> &Listeners {
        self.core.turn.listeners()
    }

    fn check_time(&self) -> Option<Instant> {
        self.timers.fire();
        lock(&self.timers.due).wall.deadline(&self.id)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::{Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn waiter_is_woken_by_ticks_and_when_another_clock_counts() {
        let clock = Arc::new(RosClock::default());
        let timers = Arc::new(Timers::new(Arc::clone(&clock)));
        let period = Duration::from_secs(3600);
        let timer = timers.add((period, Follows::Ros), When::Taken, Box::new(|| ()));
        let wakes = Arc::new(Wakes::default());
        timer.listeners().add(&Waker::from(Arc::clone(&wakes)));
        let woken = || wakes.0.swap(0, Ordering::Relaxed);
        assert!(timer.check_time().is_some() && !timer.is_ready());
        clock.set_simulated(true);
        timers.simulate(true);
        assert_eq!((woken(), timer.check_time()), (1, None));
        timers.tell(Time { sec: 1, nanosec: 0 });
        timers.tell(Time { sec: 7202, nanosec: 0 });
        assert_eq!((woken(), timer.is_ready()), (1, true));
        assert!(timer.take() && !timer.take() && !timer.is_ready());
        timers.tell(Time { sec: 10803, nanosec: 0 });
        timer.remove();
        assert_eq!((woken(), timer.is_ready()), (1, false));
    }
}
