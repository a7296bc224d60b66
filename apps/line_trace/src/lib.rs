//! The line-tracing robot: a simulated Raspberry Pi Mouse, the floor that it drives on, the logic that traces the
//! line, and the figures and the page of a drive.
//!
//! Only [`nodes`] uses messaging, and it sees the robot only as a [`body::Body`]: simulated, or the device files of a
//! real one. [`robot::Robot`] takes the content of `/cmd_vel`, `/leds`, `/buzzer` and `/motor_power` and returns that
//! of `/light_sensors` and `/switches`; [`tracer::Tracer`] is its counterpart. [`operator::Operator`] is the person
//! who places the robot and presses its switches; [`progress::Progress`] follows the drive from outside.
//! [`sim::Simulation`] closes the loop within one thread. Outside [`nodes`], time is an argument, in seconds, and
//! randomness comes from a seed, so that one seed gives one path.
#![forbid(unsafe_code)]

// The API of nodes in WebAssembly has another package, and the same shape.
#[cfg(target_arch = "wasm32")]
extern crate runnel_guest as runnel;

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
