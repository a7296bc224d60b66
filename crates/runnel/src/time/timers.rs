//! User timers. Spinning threads fire them; those that follow a simulated clock are fired by the thread that receives
//! `/clock`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use runnel_core::sorted::SortedMap;
use runnel_core::time::{Instant, Time};
use runnel_core::timers::Timers as Queue;
use runnel_io::clock;

use crate::callback_group::{CallbackScheduler, ExclusiveGroup};
use crate::ready::{Dispatch, Listeners, Task, Waitable};
use crate::sync::{Class, Mutex, TryMutex, lock};
use crate::time::ros_clock::RosClock;

/// Value of [`Timers::next`] without a timer.
const NEVER: u64 = u64::MAX;

/// When a timer ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) period: Duration,
    pub(crate) follows: Follows,
    /// True if it ticks once, and again only after a reset.
    pub(crate) is_oneshot: bool,
}

/// Which clock a timer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    /// The monotonic clock, always.
    Wall,
    /// ROS time: the monotonic clock unless time is simulated.
    Ros,
}

/// All timers of a context, in the order of their next ticks.
pub(crate) struct Timers {
    clock: Arc<RosClock>,
    due: Mutex<Due>,
    /// Next tick of the timers that follow the monotonic clock, so that a thread that checks it for every message needs
    /// no lock.
    next: AtomicU64,
    next_id: AtomicU64,
}

#[derive(Default)]
struct Due {
    timers: SortedMap<u64, Arc<TimerCore>>,
    wall: Queue<u64>,
    /// By simulated time, in nanoseconds. Empty while time is not simulated.
    simulated: Queue<u64, i64>,
    /// The last simulated time.
    simulated_now: i64,
}

/// One timer.
pub(crate) struct TimerCore {
    schedule: Schedule,
    scheduler: CallbackScheduler,
    callback: TryMutex<Box<dyn FnMut() + Send>>,
    /// True if a tick is due. Its callback is queued unless the tick was taken.
    is_due: AtomicBool,
    /// True if it has no next tick. Changes under the lock of the timers.
    is_canceled: AtomicBool,
}

impl Timers {
    pub(crate) fn new(clock: Arc<RosClock>) -> Self {
        let due = Mutex::new(Class::Timers, Due::default());
        Self { clock, due, next: AtomicU64::new(NEVER), next_id: AtomicU64::new(0) }
    }

    /// Adds a timer that fires first after one period.
    pub(crate) fn add(
        self: &Arc<Self>,
        schedule: Schedule,
        (dispatch, group): (Dispatch, &Arc<ExclusiveGroup>),
        callback: Box<dyn FnMut() + Send>,
    ) -> TimerEntry {
        // A period of zero would make firing loop for ever.
        let schedule = Schedule { period: schedule.period.max(Duration::from_nanos(1)), ..schedule };
        let core = Arc::new_cyclic(|myself| TimerCore {
            schedule,
            scheduler: CallbackScheduler::in_group(dispatch, group, myself),
            callback: TryMutex::new(callback),
            is_due: AtomicBool::new(false),
            is_canceled: AtomicBool::new(false),
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
        // The callback may own a publisher, which must not be dropped under this lock.
        drop(due);
        if let Some(timer) = timer {
            timer.take();
        }
    }

    /// Cancels the next tick of a timer, and a due one.
    fn cancel(&self, id: u64, timer: &TimerCore) {
        let mut due = lock(&self.due);
        due.unschedule(id, timer);
        timer.take();
        self.note_next(&due);
    }

    /// Removes a due tick of a timer, which ticks next after `delay`. True if waiting threads must be woken for an earlier
    /// tick.
    fn reset(&self, id: u64, timer: &TimerCore, delay: Duration) -> bool {
        let mut due = lock(&self.due);
        // This must happen before the timer can tick again.
        timer.take();
        let before = due.wall.next_deadline();
        due.start((id, timer), delay, self.clock.is_simulated());
        let next = due.wall.next_deadline();
        self.note_next(&due);
        drop(due);
        // A thread that waits for this timer must wait for a different time.
        timer.scheduler.listeners().notify();
        next.is_some_and(|next| before.is_none_or(|before| next < before))
    }

    /// Time until the next tick of a timer, by its clock.
    fn time_until_next(&self, id: u64) -> Option<Duration> {
        let due = lock(&self.due);
        let simulated = due.simulated.deadline(&id).map(|at| nanos(at.saturating_sub(due.simulated_now)));
        simulated.or_else(|| Some(due.wall.deadline(&id)?.since(clock::monotonic())))
    }

    fn note_next(&self, due: &Due) {
        let next = due.wall.next_deadline().map_or(NEVER, |at| at.0);
        self.next.store(next, Ordering::Release);
    }

    /// Next tick of the timers that follow the monotonic clock.
    pub(crate) fn next(&self) -> Option<Instant> {
        Some(self.next.load(Ordering::Acquire)).filter(|next| *next != NEVER).map(Instant)
    }

    /// Queues the callbacks of all timers that are due by the monotonic clock. Several missed ticks of a timer are one.
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
            if timer.tick() {
                wall.schedule(id, at + time_to_next(timer.schedule.period, now.since(at)));
            } else {
                wall.cancel(&id);
            }
        }
        self.note_next(&due);
    }

    /// Sets the simulated time, and queues the callbacks of all timers that are due by it.
    pub(crate) fn set_simulated_time(&self, now: Time) {
        let now = now.as_nanos();
        let mut due = lock(&self.due);
        if now < due.simulated_now {
            due.on_jump_back(now);
        }
        due.simulated_now = now;
        let Due { timers, simulated, .. } = &mut *due;
        while let Some((at, &id)) = simulated.first_due(now)
            && let Some(timer) = timers.get(&id)
        {
            if timer.tick() {
                let late = nanos(now.saturating_sub(at));
                simulated.schedule(id, after(at, time_to_next(timer.schedule.period, late)));
            } else {
                simulated.cancel(&id);
            }
        }
    }

    /// Switches simulated time on or off. Timers that follow ROS time start a new period.
    pub(crate) fn simulate(&self, simulated: bool) {
        let mut due = lock(&self.due);
        due.simulated_now = 0;
        due.restart_followers(simulated);
        self.note_next(&due);
    }
}

impl Due {
    fn insert(&mut self, id: u64, timer: Arc<TimerCore>, simulated: bool) {
        self.start((id, &timer), timer.schedule.period, simulated);
        self.timers.insert(id, timer);
    }

    /// Starts a timer, which ticks after `delay`.
    fn start(&mut self, (id, timer): (u64, &TimerCore), delay: Duration, simulated: bool) {
        timer.is_canceled.store(false, Ordering::SeqCst);
        if simulated && timer.schedule.follows == Follows::Ros {
            self.simulated.schedule(id, after(self.simulated_now, delay));
        } else {
            self.wall.schedule(id, clock::monotonic() + delay);
        }
    }

    fn unschedule(&mut self, id: u64, timer: &TimerCore) {
        timer.is_canceled.store(true, Ordering::SeqCst);
        self.wall.cancel(&id);
        self.simulated.cancel(&id);
    }

    fn remove(&mut self, id: u64) -> Option<Arc<TimerCore>> {
        let timer = self.timers.remove(&id)?;
        self.unschedule(id, &timer);
        Some(timer)
    }

    /// Starts a new period of the timers that follow ROS time.
    fn restart_followers(&mut self, simulated: bool) {
        let is_follower = |timer: &TimerCore| timer.schedule.follows == Follows::Ros && !timer.is_canceled();
        let followers = self.timers.iter().filter(|(_, timer)| is_follower(timer));
        let followers: Vec<_> = followers.map(|(id, timer)| (*id, Arc::clone(timer))).collect();
        for (id, timer) in followers {
            self.wall.cancel(&id);
            self.simulated.cancel(&id);
            self.start((id, &timer), timer.schedule.period, simulated);
            // A thread that waits for this timer must wait for a different time.
            timer.scheduler.listeners().notify();
        }
    }

    /// Handles a backward jump of simulated time: no timer waits longer than its period.
    fn on_jump_back(&mut self, now: i64) {
        for (id, timer) in &self.timers {
            if self.simulated.deadline(id).is_some() {
                self.simulated.schedule_if_earlier(*id, after(now, timer.schedule.period));
            }
        }
    }
}

/// Time from a tick that is `late` to the next one that is not due yet. As in rclcpp, a timer that missed ticks keeps
/// its phase.
fn time_to_next(period: Duration, late: Duration) -> Duration {
    if late < period {
        return period;
    }
    // Less than `late` and a period, so it fits.
    let ticks = late.as_nanos() / period.as_nanos() + 1;
    Duration::from_nanos(u64::try_from(ticks * period.as_nanos()).unwrap_or(u64::MAX))
}

fn after(nanos: i64, period: Duration) -> i64 {
    nanos.saturating_add(i64::try_from(period.as_nanos()).unwrap_or(i64::MAX))
}

fn nanos(count: i64) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(0))
}

impl TimerCore {
    /// Handles the end of a period. False if no further one follows.
    fn tick(&self) -> bool {
        if self.schedule.is_oneshot {
            self.is_canceled.store(true, Ordering::SeqCst);
        }
        if !self.is_due.swap(true, Ordering::SeqCst) {
            self.scheduler.push();
        }
        !self.schedule.is_oneshot
    }

    fn is_canceled(&self) -> bool {
        self.is_canceled.load(Ordering::SeqCst)
    }

    /// Takes a due tick in place of the callback. True if there was one.
    fn take(&self) -> bool {
        // This order matters: a tick after the second step is queued again.
        self.scheduler.unqueue();
        self.is_due.swap(false, Ordering::SeqCst)
    }
}

impl Task for TimerCore {
    fn run(&self) {
        let Some(_entered) = self.scheduler.enter("a timer's callback") else { return };
        // Only the thread in the group uses the callback.
        let Some(mut callback) = self.callback.try_lock() else { return };
        if self.is_due.swap(false, Ordering::SeqCst) {
            callback();
        }
    }

    fn dispatch(&self) -> Option<&Dispatch> {
        Some(self.scheduler.dispatch())
    }
}

/// Handle of a timer in [`Timers`].
pub(crate) struct TimerEntry {
    timers: Arc<Timers>,
    id: u64,
    core: Arc<TimerCore>,
}

impl TimerEntry {
    /// Takes a due tick in place of the callback. True if there was one.
    pub(crate) fn take(&self) -> bool {
        self.core.take()
    }

    /// Stops the timer until it is reset.
    pub(crate) fn cancel(&self) {
        self.timers.cancel(self.id, &self.core);
    }

    /// Starts the timer, also after a cancel: it ticks next after `delay`. True if threads that wait for timers must be
    /// woken.
    pub(crate) fn start(&self, delay: Duration) -> bool {
        self.timers.reset(self.id, &self.core, delay)
    }

    /// True if it has no next tick.
    pub(crate) fn is_canceled(&self) -> bool {
        self.core.is_canceled()
    }

    /// Time until the next tick; zero if one is due. `None` if the timer is canceled.
    pub(crate) fn time_until_next(&self) -> Option<Duration> {
        if self.is_ready() { Some(Duration::ZERO) } else { self.timers.time_until_next(self.id) }
    }

    pub(crate) fn period(&self) -> Duration {
        self.core.schedule.period
    }

    /// Removes the timer with its callback.
    pub(crate) fn remove(&self) {
        self.timers.remove(self.id);
    }
}

impl Waitable for TimerEntry {
    fn is_ready(&self) -> bool {
        self.core.is_due.load(Ordering::SeqCst)
    }

    fn listeners(&self) -> &Listeners {
        self.core.scheduler.listeners()
    }

    fn check_time(&self) -> Option<Instant> {
        self.timers.fire();
        lock(&self.timers.due).wall.deadline(&self.id)
    }
}

#[cfg(test)]
mod tests;
