//! The clocks, read here and passed to engines as arguments.

use runnel_core::time::{Instant, Time};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Now on the clock that never steps (`CLOCK_MONOTONIC`).
pub fn monotonic() -> Instant {
    Instant(nanos(clock_gettime(ClockId::Monotonic)) as u64)
}

/// The same as it was at the kernel's last tick (`CLOCK_MONOTONIC_COARSE`): 1 to 10 ms ago, as the kernel was built. It
/// costs a fifth.
pub fn last_tick() -> Instant {
    Instant(nanos(clock_gettime(ClockId::MonotonicCoarse)) as u64)
}

/// Now by the wall clock, as messages carry it.
pub fn realtime() -> Time {
    Time::from_nanos(nanos(clock_gettime(ClockId::Realtime)))
}

fn nanos(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}
