//! Simulation of robot, operator and tracer in one loop, without messaging.

use crate::course::Nearest;
use crate::geometry::Pose;
use crate::lap::{Lap, LapMeter};
use crate::operator::{Beginning, NoPlace, Operator};
use crate::progress::PathPoint;
use crate::robot::Robot;
use crate::tracer::{Command, Stage, Tracer};
use crate::track::Track;
use std::collections::VecDeque;

/// Seconds between two readings of the sensors, as on the robot.
pub const PERIOD: f64 = 1.0 / 60.0;

/// A closed loop: each [`PERIOD`] the tracer receives switches and sensor values, and its command reaches the robot
/// after a delay.
#[derive(Clone, Debug)]
pub struct Simulation<'track> {
    track: &'track Track,
    robot: Robot,
    operator: Operator,
    tracer: Tracer,
    meter: LapMeter,
    delay: f64,
    /// Commands in transit, with their arrival times.
    under_way: VecDeque<(f64, Command)>,
    path: Vec<PathPoint>,
    laps: Vec<Lap>,
    periods: u32,
}

impl<'track> Simulation<'track> {
    /// A robot that is not placed on this track yet, and a tracer that waits for the first press. Commands arrive
    /// after `delay` seconds.
    ///
    /// # Errors
    /// As [`Operator::new`].
    pub fn new(track: &'track Track, beginning: Beginning, delay: f64) -> Result<Self, NoPlace> {
        Ok(Self {
            track,
            robot: Robot::new(Pose::default(), beginning.seed),
            operator: Operator::new(track, beginning)?,
            tracer: Tracer::default(),
            meter: LapMeter::new(track.course().length()),
            delay,
            under_way: VecDeque::new(),
            path: Vec::new(),
            laps: Vec::new(),
            periods: 0,
        })
    }

    /// Advances by one [`PERIOD`].
    pub fn step(&mut self) {
        self.periods += 1;
        let now = self.now();
        self.robot.advance_to(now);
        self.operator.attend(&mut self.robot);
        self.deliver(now);
        self.tracer.handle_switches(now, self.robot.switches());
        self.tracer.handle_light_sensors(now, self.robot.light_sensors(self.track));
        self.under_way.push_back((now + self.delay, self.tracer.command(now)));
        if self.tracer.stage() == Stage::Follow {
            self.measure(now);
        }
    }

    /// Steps until `done` returns true or the clock shows `limit` seconds; returns whether `done` did.
    pub fn run_until(&mut self, limit: f64, done: impl Fn(&Self) -> bool) -> bool {
        while self.now() < limit {
            if done(self) {
                return true;
            }
            self.step();
        }
        done(self)
    }

    /// Seconds since the start.
    pub fn now(&self) -> f64 {
        f64::from(self.periods) * PERIOD
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }

    /// The robot, for interventions.
    pub fn robot_mut(&mut self) -> &mut Robot {
        &mut self.robot
    }

    /// The tracer.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// The completed laps.
    pub fn laps(&self) -> &[Lap] {
        &self.laps
    }

    /// Positions of the middle of the sensor row since the robot set off, one per [`PERIOD`].
    pub fn path(&self) -> &[PathPoint] {
        &self.path
    }

    fn deliver(&mut self, now: f64) {
        while let Some((_, command)) = self.under_way.pop_front_if(|(due, _)| *due <= now) {
            self.robot.set_velocity(command.velocity);
            self.robot.set_leds(command.leds);
            self.robot.set_buzzer(command.buzzer);
            self.robot.set_motor_power(command.motor_power);
        }
    }

    fn measure(&mut self, now: f64) {
        let position = self.robot.row_centre();
        let place = self.meter.place(self.track.course(), position);
        let (Nearest { deviation, progress }, speed) = (place, self.robot.velocity().linear);
        self.path.push(PathPoint { seconds: now, position, progress, deviation, speed });
        self.laps.extend(self.meter.update(now, place));
    }
}
