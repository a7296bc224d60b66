//! The robot, the tracer and whoever watches them as ROS nodes, in one process or in several.
//!
//! ```text
//!  control ── light_sensors, switches ────► tracer
//!     ▲  └──── odom, tf (where it is) ───────┼──► watcher
//!     └────── cmd_vel, leds, buzzer ─────────┘
//! ```
//! The tracer also calls the service `motor_power` of control. The names are relative, so that each robot can have a
//! namespace of its own. Robot and tracer may be in either graph of ROS or in both, if they have one in common.
//!
//! Control and tracer record when each message of `light_sensors` and `cmd_vel` passed, from which whoever has both logs can
//! tell the latency (see [`crate::latency`]).

mod alone;
mod complaints;
mod control;
mod convert;
mod priority;
mod records;
mod tracer;
mod watcher;

pub use control::ControlNode;
pub use tracer::TracerNode;
pub use watcher::{Received, WatcherNode};

use std::sync::{Mutex, MutexGuard, PoisonError};

use runnel::Error;

/// Whether a node records when its messages pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// It does, for who takes its log.
    On,
    /// It does not, which saves memory.
    Off,
}

/// Brightness under the sensors, `raspimouse_msgs/LightSensors`, 60 times a second.
pub const LIGHT_SENSORS: &str = "light_sensors";
/// The push buttons, `raspimouse_msgs/Switches`, 10 times a second.
pub const SWITCHES: &str = "switches";
/// How to drive, `geometry_msgs/Twist`, in answer to each of [`LIGHT_SENSORS`], and every 100 ms while none come.
pub const CMD_VEL: &str = "cmd_vel";
/// Which lamps to light, `raspimouse_msgs/Leds`, when that changes; the last is kept for who comes later.
pub const LEDS: &str = "leds";
/// Frequency of the buzzer in hertz, `std_msgs/Int16`, when it changes.
pub const BUZZER: &str = "buzzer";
/// Switches the motors on or off, a service of `std_srvs/SetBool`.
pub const MOTOR_POWER: &str = "motor_power";
/// Where a simulated robot is on the floor, `nav_msgs/Odometry`, 20 times a second: the truth, not an estimate.
pub const ODOM: &str = "odom";
/// The same as a transform from `odom` to `base_footprint`, `tf2_msgs/TFMessage`.
pub const TF: &str = "/tf";
/// The node whose `cmd_vel` gives way to that of all others.
const TRACER: &str = "tracer";

/// Messages that may wait at either end: more than a second's worth, so that a stall shows as latency and not as loss.
const DEPTH: usize = 100;

/// `None` for what the graphs that a node is in do not have.
fn if_in_graph<T>(made: Result<T, Error>) -> Result<Option<T>, Error> {
    match made {
        Err(Error::Ros1Only { .. }) => Ok(None),
        made => made.map(Some),
    }
}

/// What callbacks share. A callback that panicked has left it as usable as any other.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
