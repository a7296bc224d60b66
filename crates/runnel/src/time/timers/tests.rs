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

fn taken(timers: &Arc<Timers>, period: Duration, is_oneshot: bool) -> TimerEntry {
    let schedule = Schedule { period, follows: Follows::Ros, is_oneshot };
    timers.add(schedule, (Dispatch::Taken, &Arc::new(ExclusiveGroup::new())), Box::new(|| ()))
}

/// Timers at simulated time 1 s.
fn simulated() -> Arc<Timers> {
    let clock = Arc::new(RosClock::default());
    let timers = Arc::new(Timers::new(Arc::clone(&clock)));
    clock.set_simulated(true);
    timers.simulate(true);
    timers.set_simulated_time(Time { sec: 1, nanosec: 0 });
    timers
}

#[test]
fn oneshot_timer_ticks_once_after_each_reset() {
    let (timers, second) = (simulated(), Duration::from_secs(1));
    let timer = taken(&timers, second, true);
    let tick_by = |sec| {
        timers.set_simulated_time(Time { sec, nanosec: 0 });
        (timer.take(), timer.is_canceled())
    };
    assert_eq!(timer.time_until_next(), Some(second));
    assert_eq!([tick_by(2), tick_by(9)], [(true, true), (false, true)]);
    timer.start(timer.period());
    assert_eq!((timer.is_canceled(), timer.time_until_next()), (false, Some(second)));
    assert_eq!([tick_by(10), tick_by(19)], [(true, true), (false, true)]);
}

#[test]
fn canceled_timer_ticks_again_after_a_reset() {
    let (timers, period) = (simulated(), Duration::from_secs(10));
    let timer = taken(&timers, period, false);
    timers.set_simulated_time(Time { sec: 11, nanosec: 0 });
    assert_eq!((timer.is_ready(), timer.time_until_next()), (true, Some(Duration::ZERO)));
    timer.cancel();
    assert!(timer.is_canceled() && !timer.take(), "the tick that was due is gone");
    timers.set_simulated_time(Time { sec: 40, nanosec: 0 });
    // The clock changes meanwhile.
    timers.simulate(true);
    timers.set_simulated_time(Time { sec: 80, nanosec: 0 });
    assert_eq!((timer.is_ready(), timer.time_until_next()), (false, None));
    timer.start(timer.period());
    timers.set_simulated_time(Time { sec: 84, nanosec: 0 });
    assert_eq!((timer.is_ready(), timer.time_until_next()), (false, Some(Duration::from_secs(6))));
    timers.set_simulated_time(Time { sec: 90, nanosec: 0 });
    assert!(timer.take() && !timer.is_canceled());
    timer.start(timer.period());
    assert_eq!(timer.time_until_next(), Some(period));
}

#[test]
fn late_timer_keeps_its_phase() {
    let (timers, secs) = (simulated(), Duration::from_secs);
    let timer = taken(&timers, secs(10), false);
    let next_at = |sec| {
        timers.set_simulated_time(Time { sec, nanosec: 0 });
        (timer.take(), timer.time_until_next())
    };
    assert_eq!(next_at(12), (true, Some(secs(9))));
    assert_eq!(next_at(47), (true, Some(secs(4))), "two ticks were missed");
    assert_eq!(next_at(51), (true, Some(secs(10))));
    assert_eq!(next_at(71), (true, Some(secs(10))), "the tick at 61 was missed");
    assert_eq!(time_to_next(secs(10), secs(36)), secs(40), "as by the monotonic clock");
}

/// A thread that waits for timers is woken only for an earlier tick.
#[test]
fn reset_reports_an_earlier_tick() {
    let timers = Arc::new(Timers::new(Arc::default()));
    let [rare, often] = [7200, 3600].map(|secs| taken(&timers, Duration::from_secs(secs), false));
    assert!(!rare.start(rare.period()), "the other one is earlier");
    often.cancel();
    assert!(often.start(often.period()) && !often.start(often.period()));
    [&rare, &often].iter().for_each(|timer| timer.cancel());
    assert!(timers.next().is_none() && rare.start(rare.period()));
}

#[test]
fn waiter_is_woken_by_ticks_and_clock_changes() {
    let clock = Arc::new(RosClock::default());
    let timers = Arc::new(Timers::new(Arc::clone(&clock)));
    let period = Duration::from_secs(3600);
    let timer = taken(&timers, period, false);
    let wakes = Arc::new(Wakes::default());
    timer.listeners().add(&Waker::from(Arc::clone(&wakes)));
    let woken = || wakes.0.swap(0, Ordering::Relaxed);
    assert!(timer.check_time().is_some() && !timer.is_ready());
    clock.set_simulated(true);
    timers.simulate(true);
    assert_eq!((woken(), timer.check_time()), (1, None));
    timers.set_simulated_time(Time { sec: 1, nanosec: 0 });
    timers.set_simulated_time(Time { sec: 7202, nanosec: 0 });
    assert_eq!((woken(), timer.is_ready()), (1, true));
    assert!(timer.take() && !timer.take() && !timer.is_ready());
    timers.set_simulated_time(Time { sec: 10803, nanosec: 0 });
    timer.remove();
    assert_eq!((woken(), timer.is_ready()), (1, false));
}
