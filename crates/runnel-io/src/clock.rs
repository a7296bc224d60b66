//! Clocks, read here and passed to engines as arguments.

use std::time::Duration;

use runnel_core::time::{Instant, Time};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// The time of the clock that never steps (`CLOCK_MONOTONIC`).
pub fn monotonic() -> Instant {
    Instant(nanos(clock_gettime(ClockId::Monotonic)) as u64)
}

/// The monotonic time of the kernel's last tick (`CLOCK_MONOTONIC_COARSE`), 1 to 10 ms ago depending on the kernel.
/// Reading it costs a fifth of [`monotonic`].
pub fn last_tick() -> Instant {
    Instant(nanos(clock_gettime(ClockId::MonotonicCoarse)) as u64)
}

/// The processor time that the calling thread has used (`CLOCK_THREAD_CPUTIME_ID`).
pub fn thread_time() -> Duration {
    Duration::from_nanos(nanos(clock_gettime(ClockId::ThreadCPUTime)) as u64)
}

/// The wall-clock time, as messages carry it.
pub fn realtime() -> Time {
    Time::from_nanos(nanos(clock_gettime(ClockId::Realtime)))
}

/// Year, month, day, hour, minute and second of a time in the local time zone.
pub fn local_date(time: Time) -> [i32; 6] {
    let seconds = libc::time_t::from(time.sec);
    // SAFETY: zeroes are valid for a structure of numbers and a pointer.
    let mut date: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to values that live during the call, and it keeps neither.
    unsafe { libc::localtime_r(&raw const seconds, &raw mut date) };
    [date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec]
}

fn nanos(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}
