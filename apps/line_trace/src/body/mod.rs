//! Interface of the robot's body: simulated, or the device files of a real one.

mod devices;
mod simulated;

pub use devices::Devices;
pub use simulated::Simulated;

use crate::geometry::Pose;
use crate::signals::{Leds, LightSensors, Switches, Velocity};
use std::io;

/// Sensors, switches, wheels, LEDs and buzzer of a robot. An error names what failed; later calls may succeed.
pub trait Body: Send {
    /// Advances the body to `now`, in seconds since it was made; call it before handling events at `now`. The robot
    /// stops when it has received no velocity for [`crate::robot::VELOCITY_TIMEOUT`].
    ///
    /// # Errors
    /// If the wheels cannot be stopped.
    fn advance_to(&mut self, now: f64) -> io::Result<()>;

    /// Reads the light sensors.
    ///
    /// # Errors
    /// If the sensors cannot be read, or return an invalid value.
    fn light_sensors(&mut self) -> io::Result<LightSensors>;

    /// Reads which switches are held.
    ///
    /// # Errors
    /// As [`Body::light_sensors`].
    fn switches(&mut self) -> io::Result<Switches>;

    /// Sets the velocity, limited to the speed of the wheels.
    ///
    /// # Errors
    /// If the velocity cannot be set.
    fn set_velocity(&mut self, velocity: Velocity) -> io::Result<()>;

    /// Switches the motors on or off.
    ///
    /// # Errors
    /// As [`Body::set_velocity`].
    fn set_motor_power(&mut self, on: bool) -> io::Result<()>;

    /// Lights the LEDs.
    ///
    /// # Errors
    /// As [`Body::set_velocity`].
    fn set_leds(&mut self, leds: Leds) -> io::Result<()>;

    /// Sounds the buzzer at `hertz`; 0 or less is silence.
    ///
    /// # Errors
    /// As [`Body::set_velocity`].
    fn set_buzzer(&mut self, hertz: i16) -> io::Result<()>;

    /// A tracer is connected (it subscribes to the switches and shows LEDs): a simulated operator may press one.
    fn on_tracer_connected(&mut self) {}

    /// Ground truth of pose and velocity; `None` for a real robot.
    fn ground_truth(&self) -> Option<(Pose, Velocity)> {
        None
    }
}
