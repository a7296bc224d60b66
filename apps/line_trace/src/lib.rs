//! The line-tracing robot: a simulated Raspberry Pi Mouse, the floor that it drives on, the logic that traces
//! the line, and the figures and the page that show how well it went.
//!
//! Only [`nodes`] knows of messaging, and of the robot only that it is a [`body::Body`]: simulated, or a real one by the
//! files of its driver. [`robot::Robot`] takes what would come on `/cmd_vel`, `/leds`, `/buzzer` and
//! `/motor_power` and gives what would go out on `/light_sensors` and `/switches`; [`tracer::Tracer`] is its
//! mirror image; [`operator::Operator`] is the person who sets the robot down and presses its switches;
//! [`progress::Progress`] follows the drive from outside. [`sim::Simulation`] closes the loop within one thread.
//! Outside [`nodes`], time is an argument, in seconds, and chance comes from a seed, so that one seed gives one path.
#![forbid(unsafe_code)]

pub mod body;
pub mod course;
pub mod geometry;
pub mod lap;
pub mod latency;
pub mod memory;
pub mod nodes;
pub mod noise;
pub mod operator;
pub mod page;
pub mod progress;
pub mod robot;
pub mod signals;
pub mod sim;
pub mod tracer;
pub mod track;
