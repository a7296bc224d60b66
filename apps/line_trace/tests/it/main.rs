//! The demonstration's robot without messaging.

mod laps;
