//! The robot, the tracer and the watcher as ROS nodes, in one process or in several.
//!
//! ```text
//!  control ── light_sensors, switches ────► tracer
//!     ▲  └──── odom, tf (where it is) ───────┼──► watcher
//!     └────── cmd_vel, leds, buzzer ─────────┘
//! ```
//! The tracer also calls the service `motor_power` of control. The names are relative, so that each robot can have
//! its own namespace. Robot and tracer may be in ROS 1, ROS 2 or both, if they have one graph in common.
//!
//! Control and tracer record when each message of `light_sensors` and `cmd_vel` passed, so that the latency can be
//! computed from both logs (see [`crate::latency`]).
//!
//! The tracer is also built as a node in WebAssembly (`guests/tracer`). Robot and watcher are not.

#[cfg(not(target_arch = "wasm32"))]
mod control;
mod convert;
mod error_log;
mod peer_warning;
#[cfg(not(target_arch = "wasm32"))]
mod priority;
mod records;
mod tracer;
#[cfg(not(target_arch = "wasm32"))]
mod watcher;

#[cfg(not(target_arch = "wasm32"))]
pub use control::ControlNode;
pub use tracer::TracerNode;
#[cfg(not(target_arch = "wasm32"))]
pub use watcher::{Received, WatcherNode};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether a node records its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Record; the log is read by `take_log`.
    On,
    /// Do not record, which saves memory.
    Off,
}

/// Brightness under the sensors, `raspimouse_msgs/LightSensors`, 60 times a second.
pub const LIGHT_SENSORS: &str = "light_sensors";
/// The push buttons, `raspimouse_msgs/Switches`, 10 times a second.
pub const SWITCHES: &str = "switches";
/// Velocity command, `geometry_msgs/Twist`, in answer to each of [`LIGHT_SENSORS`], and every 100 ms while none come.
pub const CMD_VEL: &str = "cmd_vel";
/// LEDs to light, `raspimouse_msgs/Leds`, published on change; the last message is kept for late joiners.
pub const LEDS: &str = "leds";
/// Buzzer frequency in hertz, `std_msgs/Int16`, published on change.
pub const BUZZER: &str = "buzzer";
/// Switches the motors on or off, a service of `std_srvs/SetBool`.
pub const MOTOR_POWER: &str = "motor_power";
/// True pose of a simulated robot, `nav_msgs/Odometry`, 20 times a second; not an estimate.
pub const ODOM: &str = "odom";
/// The same as a transform from `odom` to `base_footprint`, `tf2_msgs/TFMessage`.
pub const TF: &str = "/tf";
/// The node whose `cmd_vel` has the lowest priority.
#[cfg(not(target_arch = "wasm32"))]
const TRACER: &str = "tracer";

/// Queue depth at both ends: more than a second's worth, so that a stall shows as latency and not as loss.
const DEPTH: usize = 100;

/// Locks state shared by callbacks, also after a callback has panicked.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
