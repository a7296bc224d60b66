//! A simulated Raspberry Pi Mouse: two driven wheels, a row of light sensors above the floor, three push buttons,
//! four LEDs and a buzzer.

use crate::geometry::{Point, Pose, wrap_angle};
use crate::noise::Noise;
use crate::signals::{Leds, LightSensors, Switches, Velocity};
use crate::track::{FLOOR, LINE, Track};
use std::f64::consts::TAU;

/// Metres between the wheels.
pub const TREAD: f64 = 0.092;
/// Radius of the wheels, metres.
pub const WHEEL_RADIUS: f64 = 0.024;
/// Highest angular speed of a wheel, radians per second.
const MAX_WHEEL_SPEED: f64 = 30.0;
/// Time constant of the motors: a wheel covers 63 % of a speed change in this time, seconds.
const MOTOR_LAG: f64 = 0.03;
/// The wheels stop after this time without a new velocity, seconds.
pub const VELOCITY_TIMEOUT: f64 = 0.5;
/// Distance from the axle forward to the sensor row, metres.
pub const ROW_AHEAD: f64 = 0.045;
/// Positions of the sensors in their row from left to right: metres to the left of the middle.
pub const ROW_PLACES: [f64; 4] = [0.026, 0.008, -0.008, -0.026];
/// Radius of the spot of floor that one sensor sees, metres.
const FOOTPRINT: f64 = 0.004;
/// Mean sensor value over bare floor.
const FLOOR_VALUE: f64 = 500.0;
/// Mean sensor value over the line.
const LINE_VALUE: f64 = 100.0;
/// Standard deviation of a sensor value.
const SENSOR_NOISE: f64 = 6.0;

/// Time constant of the wheels' slip, seconds: after it, 37 % of the present slip remains.
const SLIP_MEMORY: f64 = 0.05;
/// Simulation steps per second.
const STEPS_PER_SECOND: f64 = 1000.0;
const STEP: f64 = 1.0 / STEPS_PER_SECOND;

/// One of the three push buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// `switch0`.
    Front,
    /// `switch1`.
    Middle,
    /// `switch2`.
    Rear,
}

/// Tolerances of a robot's parts, and the slip of its wheels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Making {
    /// Largest difference of a sensor's gain from 1: sensors differ, which is why tracers calibrate.
    pub gains: f64,
    /// Largest offset of a sensor from its nominal position in the row, metres.
    pub places: f64,
    /// Largest difference of a wheel's radius from [`WHEEL_RADIUS`], as a share of it.
    pub wheels: f64,
    /// Mean slip of a wheel as a share of its speed.
    pub slip: f64,
    /// Standard deviation of the slip, which varies over time.
    pub slip_noise: f64,
    /// Sideways slip in a curve: metres per second outwards, per m/s of speed and rad/s of turning.
    pub slide: f64,
}

impl Making {
    /// A typical robot.
    pub const USUAL: Self =
        Self { gains: 0.1, places: 0.001, wheels: 0.005, slip: 0.02, slip_noise: 0.015, slide: 0.012 };
    /// A robot without tolerances, on wheels that do not slip.
    pub const EXACT: Self =
        Self { gains: 0.0, places: 0.0, wheels: 0.0, slip: 0.0, slip_noise: 0.0, slide: 0.0 };
}

/// The robot. Its clock starts at 0 and moves only by [`Robot::advance_to`]; its motors start without power.
#[derive(Clone, Debug)]
pub struct Robot {
    steps: u64,
    pose: Pose,
    /// How it moves over the floor.
    velocity: Velocity,
    /// Angular speed of the left and the right wheel, radians per second.
    wheels: [f64; 2],
    /// Slip of each wheel as a share of its speed.
    slips: [f64; 2],
    /// Target speeds of the wheels.
    targets: [f64; 2],
    /// The step at which the targets expire.
    targets_until: u64,
    motor_power: bool,
    /// The step until which each switch is held.
    held_until: [u64; 3],
    leds: Leds,
    buzzer: u16,
    making: Making,
    gains: [f64; 4],
    /// Position of each sensor, metres to the left of the middle of the row.
    places: [f64; 4],
    radii: [f64; 2],
    /// Random numbers of the sensors, and of the floor.
    noise: Noise,
    bumps: Noise,
}

impl Robot {
    /// A robot that stands at `pose`. The seed decides its tolerances, the noise of its sensors, and the slip of its
    /// wheels.
    pub fn new(pose: Pose, seed: u64) -> Self {
        Self::made(Making::USUAL, pose, seed)
    }

    /// A robot with these tolerances.
    pub fn made(making: Making, pose: Pose, seed: u64) -> Self {
        let mut noise = Noise::new(seed);
        let mut about = |reach: f64| reach * (2.0 * noise.uniform() - 1.0);
        let gains = std::array::from_fn(|_| 1.0 + about(making.gains));
        let places = ROW_PLACES.map(|place| place + about(making.places));
        let radii = std::array::from_fn(|_| WHEEL_RADIUS * (1.0 + about(making.wheels)));
        let bumps = Noise::new(noise.bits());
        Self {
            steps: 0,
            pose,
            velocity: Velocity::default(),
            wheels: [0.0; 2],
            slips: [making.slip; 2],
            targets: [0.0; 2],
            targets_until: 0,
            motor_power: false,
            held_until: [0; 3],
            leds: Leds::default(),
            buzzer: 0,
            making,
            gains,
            places,
            radii,
            noise,
            bumps,
        }
    }

    /// Advances the robot to `now`, seconds since it was made, in steps of 1 ms; does nothing if that is past. The
    /// result does not depend on how many calls cover the time.
    pub fn advance_to(&mut self, now: f64) {
        let until = steps(now);
        while self.steps < until {
            self.steps += 1;
            self.step();
        }
    }

    /// Sets the velocity for at most [`VELOCITY_TIMEOUT`] (`/cmd_vel`). Wheel speeds are limited; a value that is not
    /// a number stops the robot.
    pub fn set_velocity(&mut self, velocity: Velocity) {
        self.targets = wheel_speeds(velocity);
        self.targets_until = self.steps + steps(VELOCITY_TIMEOUT);
    }

    /// Switches the motors on or off (`/motor_power`); without power the robot stands still at once.
    pub fn set_motor_power(&mut self, on: bool) {
        self.motor_power = on;
    }

    /// Lights the LEDs (`/leds`).
    pub fn set_leds(&mut self, leds: Leds) {
        self.leds = leds;
    }

    /// Sounds the buzzer at `hertz` (`/buzzer`); 0 or less is silence.
    pub fn set_buzzer(&mut self, hertz: i16) {
        self.buzzer = u16::try_from(hertz).unwrap_or(0);
    }

    /// Lifts the robot and places it at `pose`, standing.
    pub fn place(&mut self, pose: Pose) {
        self.pose = pose;
        self.stand();
    }

    /// Presses a switch and holds it for `seconds`.
    pub fn press(&mut self, switch: Switch, seconds: f64) {
        self.held_until[switch as usize] = self.steps + steps(seconds);
    }

    /// Reads the light sensors on this floor (`/light_sensors`). Each reading draws new noise.
    pub fn light_sensors(&mut self, track: &Track) -> LightSensors {
        let row = std::array::from_fn(|index| {
            let brightness = spot_brightness(track, self.pose.offset(ROW_AHEAD, self.places[index]));
            let share = (brightness - f64::from(LINE)) / f64::from(FLOOR - LINE);
            let clean = self.gains[index] * (LINE_VALUE + share * (FLOOR_VALUE - LINE_VALUE));
            (clean + SENSOR_NOISE * self.noise.gaussian()).round().clamp(0.0, 4095.0) as i16
        });
        LightSensors::from_row(row)
    }

    /// Which switches are held (`/switches`).
    pub fn switches(&self) -> Switches {
        let [switch0, switch1, switch2] = self.held_until.map(|until| self.steps < until);
        Switches { switch0, switch1, switch2 }
    }

    /// Seconds since the robot was made.
    pub fn now(&self) -> f64 {
        self.steps as f64 / STEPS_PER_SECOND
    }

    /// Pose of the middle of the axle.
    pub fn pose(&self) -> Pose {
        self.pose
    }

    /// The middle of the sensor row, which is to stay on the line.
    pub fn row_centre(&self) -> Point {
        self.pose.offset(ROW_AHEAD, 0.0)
    }

    /// Current velocity over the floor.
    pub fn velocity(&self) -> Velocity {
        self.velocity
    }

    /// True while the motors have power.
    pub fn motor_power(&self) -> bool {
        self.motor_power
    }

    /// The LEDs that are lit.
    pub fn leds(&self) -> Leds {
        self.leds
    }

    /// The buzzer's frequency in hertz, 0 for silence.
    pub fn buzzer(&self) -> u16 {
        self.buzzer
    }

    fn step(&mut self) {
        if !self.motor_power {
            self.stand();
            return;
        }
        let targets = if self.steps <= self.targets_until { self.targets } else { [0.0; 2] };
        for (wheel, target) in self.wheels.iter_mut().zip(targets) {
            *wheel += (target - *wheel) * STEP / MOTOR_LAG;
        }
        self.roll();
    }

    fn stand(&mut self) {
        (self.wheels, self.velocity) = ([0.0; 2], Velocity::default());
    }

    fn roll(&mut self) {
        let [left, right] = std::array::from_fn(|side| self.grip(side));
        let velocity = Velocity { linear: (left + right) / 2.0, angular: (right - left) / TREAD };
        let turn = velocity.angular * STEP;
        let outwards = self.making.slide * velocity.linear * velocity.angular * STEP;
        let midway = Pose { heading: self.pose.heading + turn / 2.0, ..self.pose };
        self.pose.position = midway.offset(velocity.linear * STEP, -outwards);
        self.pose.heading = wrap_angle(self.pose.heading + turn);
        self.velocity = velocity;
    }

    /// Speed of a wheel over the floor, metres per second. Its slip varies randomly around the mean.
    fn grip(&mut self, side: usize) -> f64 {
        let Making { slip, slip_noise, .. } = self.making;
        let share = STEP / SLIP_MEMORY;
        let wandered = slip_noise * (2.0 * share).sqrt() * self.bumps.gaussian();
        self.slips[side] += (slip - self.slips[side]) * share + wandered;
        self.wheels[side] * self.radii[side] * (1.0 - self.slips[side])
    }
}

/// Angular speeds of the left and the right wheel for this velocity, radians per second, limited to what the wheels
/// reach; 0 for a velocity that is not a number.
pub fn wheel_speeds(velocity: Velocity) -> [f64; 2] {
    let across = velocity.angular * TREAD / 2.0;
    [velocity.linear - across, velocity.linear + across].map(|rim| {
        let speed = rim / WHEEL_RADIUS;
        if speed.is_nan() { 0.0 } else { speed.clamp(-MAX_WHEEL_SPEED, MAX_WHEEL_SPEED) }
    })
}

fn steps(seconds: f64) -> u64 {
    (seconds * STEPS_PER_SECOND).round() as u64
}

/// Mean brightness of the spot around `centre`, sampled at its middle and on two rings.
fn spot_brightness(track: &Track, centre: Point) -> f64 {
    let ring = |count: u32, radius: f64| -> f64 {
        (0..count)
            .map(|i| track.sample(centre.towards(TAU * f64::from(i) / f64::from(count), radius * FOOTPRINT)))
            .sum()
    };
    (track.sample(centre) + ring(6, 0.45) + ring(12, 0.85)) / 19.0
}

#[cfg(test)]
mod tests;
