//! Time in messages, and time of engines.
//!
//! [`Time`] and [`Duration`] are the `time` and `duration` of ROS messages: seconds and nanoseconds.
//! [`Instant`] is a point on a clock that never steps; engines receive it as an argument and never read one.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// A point in ROS time: seconds and nanoseconds since the epoch of the clock in use.
///
/// ROS 1 reads `sec` as unsigned and ROS 2 as signed; the 32 bits are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Whole seconds.
    pub sec: i32,
    /// Nanoseconds within the second, 0 to 999 999 999.
    pub nanosec: u32,
}

impl Time {
    /// The time `nanos` nanoseconds after the epoch.
    pub fn from_nanos(nanos: i64) -> Self {
        let (sec, nanosec) = split(nanos);
        Self { sec, nanosec }
    }

    /// Nanoseconds since the epoch.
    pub fn as_nanos(self) -> i64 {
        i64::from(self.sec) * NANOS_PER_SECOND + i64::from(self.nanosec)
    }

    /// Seconds since the epoch, for display and rates; for today's date a double has a resolution of about 100 ns.
    pub fn as_secs_f64(self) -> f64 {
        f64::from(self.sec) + f64::from(self.nanosec) / 1e9
    }

    /// True for the time 0, which ROS uses for "not set".
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// A length of ROS time, possibly negative: `sec` carries the sign and `nanosec` counts up from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    /// Whole seconds, rounded down.
    pub sec: i32,
    /// Nanoseconds to add, 0 to 999 999 999 (ROS 1 peers may send negative ones, kept as their bits).
    pub nanosec: u32,
}

impl Duration {
    /// The duration of `nanos` nanoseconds.
    pub fn from_nanos(nanos: i64) -> Self {
        let (sec, nanosec) = split(nanos);
        Self { sec, nanosec }
    }

    /// Nanoseconds; reads `nanosec` as signed, as ROS 1 does.
    pub fn as_nanos(self) -> i64 {
        i64::from(self.sec) * NANOS_PER_SECOND + i64::from(self.nanosec as i32)
    }

    /// Seconds, for people and rates; reads `nanosec` as [`Duration::as_nanos`] does.
    pub fn as_secs_f64(self) -> f64 {
        f64::from(self.sec) + f64::from(self.nanosec as i32) / 1e9
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.as_nanos().saturating_sub(earlier.as_nanos()))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, by: Duration) -> Time {
        Time::from_nanos(self.as_nanos().saturating_add(by.as_nanos()))
    }
}

impl From<core::time::Duration> for Duration {
    fn from(d: core::time::Duration) -> Self {
        Self::from_nanos(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// Seconds and nanoseconds of a count, saturating at 32 bits of seconds.
fn split(nanos: i64) -> (i32, u32) {
    let sec = nanos.div_euclid(NANOS_PER_SECOND);
    match i32::try_from(sec) {
        Ok(sec) => (sec, nanos.rem_euclid(NANOS_PER_SECOND) as u32),
        Err(_) if nanos < 0 => (i32::MIN, 0),
        Err(_) => (i32::MAX, 999_999_999),
    }
}

/// A point on a monotonic clock, in nanoseconds since some start that does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// Time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Instant) -> core::time::Duration {
        core::time::Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<core::time::Duration> for Instant {
    type Output = Instant;
    fn add(self, by: core::time::Duration) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<core::time::Duration> for Instant {
    fn add_assign(&mut self, by: core::time::Duration) {
        *self = *self + by;
    }
}

impl fmt::Display for Time {
    /// Seconds with nine decimals; as ROS 1 does, it reads them as unsigned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.sec as u32, self.nanosec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn nanoseconds_convert_in_both_directions() {
        for nanos in [0, 1, -1, 999_999_999, 1_000_000_000, -1_500_000_000, 1_700_000_000_123_456_789] {
            assert_eq!(Time::from_nanos(nanos).as_nanos(), nanos);
            assert_eq!(Duration::from_nanos(nanos).as_nanos(), nanos);
        }
    }

    #[test]
    fn overflowing_time_is_clamped() {
        assert_eq!(Time::from_nanos(i64::MAX), Time { sec: i32::MAX, nanosec: 999_999_999 });
        assert_eq!(Time::from_nanos(i64::MIN).sec, i32::MIN);
    }

    #[test]
    fn ros_1_time_is_printed_unsigned() {
        assert_eq!(format!("{}", Time { sec: 1, nanosec: 5 }), "1.000000005");
        assert_eq!(format!("{}", Time::from_nanos(-1_500_000_000)), "4294967294.500000000");
    }

    #[test]
    fn duration_in_seconds_may_be_negative() {
        assert_eq!(Duration::from_nanos(-1_500_000_000).as_secs_f64(), -1.5);
        assert_eq!(Duration { sec: -1, nanosec: -500_000_000i32 as u32 }.as_secs_f64(), -1.5);
    }

    #[test]
    fn instant_difference_is_never_negative() {
        assert_eq!(Instant(3).since(Instant(5)), core::time::Duration::ZERO);
        assert_eq!(Instant(u64::MAX) + core::time::Duration::from_secs(1), Instant(u64::MAX));
    }
}
