//! A simulated robot on its track, with its operator.

use super::Body;
use crate::geometry::Pose;
use crate::operator::{Beginning, NoPlace, Operator};
use crate::robot::Robot;
use crate::signals::{Leds, LightSensors, Switches, Velocity};
use crate::track::Track;
use std::io;

/// The robot, the floor under it, and the operator that places it and presses its switches.
#[derive(Clone, Debug)]
pub struct Simulated {
    robot: Robot,
    track: Track,
    operator: Operator,
}

impl Simulated {
    /// A robot that the operator has not placed on this track yet.
    ///
    /// # Errors
    /// As [`Operator::new`].
    pub fn new(track: Track, beginning: Beginning) -> Result<Self, NoPlace> {
        let robot = Robot::new(Pose::default(), beginning.seed);
        Ok(Self { robot, operator: Operator::new(&track, beginning)?, track })
    }
}

impl Body for Simulated {
    fn advance_to(&mut self, now: f64) -> io::Result<()> {
        self.robot.advance_to(now);
        Ok(())
    }

    fn light_sensors(&mut self) -> io::Result<LightSensors> {
        Ok(self.robot.light_sensors(&self.track))
    }

    fn switches(&mut self) -> io::Result<Switches> {
        Ok(self.robot.switches())
    }

    fn set_velocity(&mut self, velocity: Velocity) -> io::Result<()> {
        self.robot.set_velocity(velocity);
        Ok(())
    }

    fn set_motor_power(&mut self, on: bool) -> io::Result<()> {
        self.robot.set_motor_power(on);
        Ok(())
    }

    fn set_leds(&mut self, leds: Leds) -> io::Result<()> {
        self.robot.set_leds(leds);
        Ok(())
    }

    fn set_buzzer(&mut self, hertz: i16) -> io::Result<()> {
        self.robot.set_buzzer(hertz);
        Ok(())
    }

    fn on_tracer_connected(&mut self) {
        self.operator.attend(&mut self.robot);
    }

    fn ground_truth(&self) -> Option<(Pose, Velocity)> {
        Some((self.robot.pose(), self.robot.velocity()))
    }
}
