//! The clocks of ROS: time, its jumps, simulated time, and the timers that follow it.

pub(crate) mod ros_clock;
pub(crate) mod simulation;
pub(crate) mod time_jumps;
pub(crate) mod timers;
