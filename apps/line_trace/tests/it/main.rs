//! Tests of the robot without messaging.

mod laps;
