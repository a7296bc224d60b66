//! The robot's body, as the control node knows it: simulated, or the device files of a real one.

mod devices;
mod simulated;

pub use devices::Devices;
pub use simulated::Simulated;

use crate::geometry::Pose;
use crate::signals::{Leds, LightSensors, Switches, Velocity};
use std::io;

/// Eyes, switches, wheels, lamps and buzzer of a robot. An error names what did not work, and the next call may work.
pub trait Body: Send {
    /// Lets it live until `now`, in seconds since it was made. To be called before what happens then. It stands when no
    /// velocity has come for [`crate::robot::VELOCITY_TIMEOUT`].
    ///
    /// # Errors
    /// When the wheels cannot be stopped.
    fn advance_to(&mut self, now: f64) -> io::Result<()>;

    /// Looks at the floor.
    ///
    /// # Errors
    /// When the sensors cannot be read, or say what no sensors say.
    fn light_sensors(&mut self) -> io::Result<LightSensors>;

    /// Which switches are held.
    ///
    /// # Errors
    /// As [`Body::light_sensors`].
    fn switches(&mut self) -> io::Result<Switches>;

    /// Drives with this velocity, as fast as the wheels can.
    ///
    /// # Errors
    /// When that cannot be set.
    fn set_velocity(&mut self, velocity: Velocity) -> io::Result<()>;

    /// Switches the motors on or off.
    ///
    /// # Errors
    /// As [`Body::set_velocity`].
    fn set_motor_power(&mut self, on: bool) -> io::Result<()>;

    /// Lights the lamps.
    ///
    /// # Errors
    /// As [`Body::set_velocity`].
    fn set_leds(&mut self, leds: Leds) -> io::Result<()>;

    /// Sounds the buzzer at `hertz`; 0 or less is silence.
    ///
    /// # Errors
    /// As [`Body::set_velocity`].
    fn set_buzzer(&mut self, hertz: i16) -> io::Result<()>;

    /// Somebody listens to the switches and shows lamps: who stands beside the robot may press one.
    fn attend(&mut self) {}

    /// Where it is and how it moves, if somebody sees it from outside.
    fn seen(&self) -> Option<(Pose, Velocity)> {
        None
    }
}
