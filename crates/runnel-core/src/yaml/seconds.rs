//! Seconds and nanoseconds of times and durations, as texts show them.

use crate::schema::Generation;
use crate::time::{Duration, Time};

/// Field names of seconds and nanoseconds in a generation.
pub(super) fn names(generation: Generation) -> [&'static str; 2] {
    match generation {
        Generation::Ros1 => ["secs", "nsecs"],
        Generation::Ros2 => ["sec", "nanosec"],
    }
}

/// Seconds and nanoseconds of a time as the wire has them: in ROS 1 both without sign, in ROS 2 seconds with one.
pub(super) fn time(value: Time, generation: Generation) -> (i64, i64) {
    let sec = match generation {
        Generation::Ros1 => i64::from(value.sec as u32),
        Generation::Ros2 => i64::from(value.sec),
    };
    (sec, i64::from(value.nanosec))
}

/// Seconds and nanoseconds of a duration as the wire has them: in ROS 1 both with a sign, in ROS 2 only seconds.
pub(super) fn duration(value: Duration, generation: Generation) -> (i64, i64) {
    let nanosec = match generation {
        Generation::Ros1 => i64::from(value.nanosec as i32),
        Generation::Ros2 => i64::from(value.nanosec),
    };
    (i64::from(value.sec), nanosec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_times_follow_the_generation() {
        let (least, back) =
            (Time { sec: -1, nanosec: u32::MAX }, Duration { sec: -1, nanosec: -5i32 as u32 });
        assert_eq!(time(least, Generation::Ros1), (4_294_967_295, 4_294_967_295));
        assert_eq!(duration(back, Generation::Ros1), (-1, -5));
        assert_eq!(time(least, Generation::Ros2), (-1, 4_294_967_295));
        assert_eq!(duration(back, Generation::Ros2), (-1, 4_294_967_291));
    }
}
