//! Seconds and nanoseconds of times and durations, as texts show them.

use crate::time::{Duration, Time};

/// Seconds and nanoseconds of a ROS 1 time as the wire has them: both without sign.
pub(super) fn time(value: Time) -> (i64, i64) {
    (i64::from(value.sec as u32), i64::from(value.nanosec))
}

/// The same of what lies between a time and an earlier one, if there is one: seconds rounded down.
pub(super) fn time_since(value: Time, earlier: Option<Time>) -> (i64, i64) {
    let Some(earlier) = earlier else { return time(value) };
    let between = nanoseconds(time(value)) - nanoseconds(time(earlier));
    (between.div_euclid(1_000_000_000), between.rem_euclid(1_000_000_000))
}

/// Seconds and nanoseconds of a ROS 1 duration as the wire has them: both with a sign.
pub(super) fn duration(value: Duration) -> (i64, i64) {
    (i64::from(value.sec), i64::from(value.nanosec as i32))
}

/// Both as one number, which 64 bits hold since either comes from 32.
pub(super) fn nanoseconds((sec, nanosec): (i64, i64)) -> i64 {
    sec * 1_000_000_000 + nanosec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_no_sign_and_durations_two() {
        assert_eq!(time(Time { sec: -1, nanosec: u32::MAX }), (4_294_967_295, 4_294_967_295));
        assert_eq!(duration(Duration { sec: -1, nanosec: -5i32 as u32 }), (-1, -5));
    }
}
