//! A simulated Raspberry Pi Mouse: two driven wheels, a row of light sensors that look at the floor, three push
//! buttons, four lamps and a buzzer.

use crate::geometry::{Point, Pose, wrap_angle};
use crate::noise::Noise;
use crate::signals::{Leds, LightSensors, Switches, Velocity};
use crate::track::{FLOOR, LINE, Track};
use std::f64::consts::TAU;

/// Metres between the wheels.
pub const TREAD: f64 = 0.092;
/// Radius of the wheels, metres.
pub const WHEEL_RADIUS: f64 = 0.024;
/// Fastest turning of a wheel, radians per second.
pub const MAX_WHEEL_SPEED: f64 = 30.0;
/// Time after which a wheel has made up 63 % of the distance to a new speed, seconds.
pub const MOTOR_LAG: f64 = 0.03;
/// Without a new velocity the wheels stop after this time, seconds.
pub const VELOCITY_TIMEOUT: f64 = 0.5;
/// Distance from the axle forward to the sensor row, metres.
pub const ROW_AHEAD: f64 = 0.045;
/// Places of the sensors in their row from left to right: metres to the left of the middle.
pub const ROW_PLACES: [f64; 4] = [0.026, 0.008, -0.008, -0.026];
/// Radius of the spot of floor that one sensor sees, metres.
pub const FOOTPRINT: f64 = 0.004;
/// What a sensor gives over the bare floor, on average over sensors.
pub const FLOOR_VALUE: f64 = 500.0;
/// What a sensor gives over the line, on average over sensors.
pub const LINE_VALUE: f64 = 100.0;
/// Standard deviation of the noise of a sensor value.
pub const SENSOR_NOISE: f64 = 6.0;

/// Time after which what a wheel slips by now has been forgotten but for 37 %, seconds.
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

/// How alike a robot's parts are, and how its wheels hold the floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Making {
    /// Largest difference of a sensor's gain from 1: no two sensors are alike, which is why tracers calibrate.
    pub gains: f64,
    /// Largest distance of a sensor from its place in the row, to either side, metres.
    pub places: f64,
    /// Largest difference of a wheel's radius from [`WHEEL_RADIUS`], as a share of it.
    pub wheels: f64,
    /// Share of its speed that a wheel slips by on average.
    pub slip: f64,
    /// Standard deviation of that share, which comes and goes.
    pub slip_noise: f64,
    /// Metres per second that the robot slides outwards in a curve, for each m/s of its speed and rad/s of its turning.
    pub slide: f64,
}

impl Making {
    /// A robot as they come.
    pub const USUAL: Self =
        Self { gains: 0.1, places: 0.001, wheels: 0.005, slip: 0.02, slip_noise: 0.015, slide: 0.012 };
    /// One whose parts are all alike, on wheels that do not slip.
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
    /// Turning of the left and the right wheel, radians per second.
    wheels: [f64; 2],
    /// Share of its speed that each wheel slips by.
    slips: [f64; 2],
    /// What the wheels are to reach.
    targets: [f64; 2],
    /// The step at which the targets lapse.
    targets_until: u64,
    motor_power: bool,
    /// The step until which each switch is held.
    held_until: [u64; 3],
    leds: Leds,
    buzzer: u16,
    making: Making,
    gains: [f64; 4],
    /// Of each sensor, metres to the left of the middle of the row.
    places: [f64; 4],
    radii: [f64; 2],
    /// Of the sensors, and of the floor.
    noise: Noise,
    bumps: Noise,
}

impl Robot {
    /// A robot that stands at `pose`. The seed decides how its parts are, the noise of its sensors, and how its wheels
    /// slip.
    pub fn new(pose: Pose, seed: u64) -> Self {
        Self::made(Making::USUAL, pose, seed)
    }

    /// A robot of this making.
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

    /// Lets the robot live until `now`, seconds since it was made, in steps of 1 ms; does nothing if that is past.
    /// In how many calls the time passes makes no difference.
    pub fn advance_to(&mut self, now: f64) {
        let until = steps(now);
        while self.steps < until {
            self.steps += 1;
            self.step();
        }
    }

    /// Sets the velocity to drive with, for at most [`VELOCITY_TIMEOUT`] (`/cmd_vel`). Wheels that would have to
    /// turn too fast turn as fast as they can; a value that is no number stops the robot.
    pub fn set_velocity(&mut self, velocity: Velocity) {
        self.targets = wheel_speeds(velocity);
        self.targets_until = self.steps + steps(VELOCITY_TIMEOUT);
    }

    /// Switches the motors on or off (`/motor_power`); without power the robot stands still at once.
    pub fn set_motor_power(&mut self, on: bool) {
        self.motor_power = on;
    }

    /// Lights the lamps (`/leds`).
    pub fn set_leds(&mut self, leds: Leds) {
        self.leds = leds;
    }

    /// Sounds the buzzer at `hertz` (`/buzzer`); 0 or less is silence.
    pub fn set_buzzer(&mut self, hertz: i16) {
        self.buzzer = u16::try_from(hertz).unwrap_or(0);
    }

    /// Lifts the robot and sets it down at `pose`, standing.
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

    /// Where the middle of the axle is, and where it looks.
    pub fn pose(&self) -> Pose {
        self.pose
    }

    /// The middle of the sensor row: the point that is to stay on the line.
    pub fn row_centre(&self) -> Point {
        self.pose.offset(ROW_AHEAD, 0.0)
    }

    /// How it moves over the floor now.
    pub fn velocity(&self) -> Velocity {
        self.velocity
    }

    /// True while the motors have power.
    pub fn motor_power(&self) -> bool {
        self.motor_power
    }

    /// The lamps that are lit.
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

    /// How fast a wheel moves over the floor, metres per second. What it slips by wanders about its mean.
    fn grip(&mut self, side: usize) -> f64 {
        let Making { slip, slip_noise, .. } = self.making;
        let share = STEP / SLIP_MEMORY;
        let wandered = slip_noise * (2.0 * share).sqrt() * self.bumps.gaussian();
        self.slips[side] += (slip - self.slips[side]) * share + wandered;
        self.wheels[side] * self.radii[side] * (1.0 - self.slips[side])
    }
}

/// How fast the left and the right wheel must turn for this velocity, radians per second. One that would have to turn too
/// fast turns as fast as it can; for a velocity that is no number they stand.
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

/// Mean brightness of the spot around `centre`, taken at its middle and on two rings.
fn spot_brightness(track: &Track, centre: Point) -> f64 {
    let ring = |count: u32, radius: f64| -> f64 {
        (0..count)
            .map(|i| track.sample(centre.towards(TAU * f64::from(i) / f64::from(count), radius * FOOTPRINT)))
            .sum()
    };
    (track.sample(centre) + ring(6, 0.45) + ring(12, 0.85)) / 19.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driving(linear: f64, angular: f64) -> Robot {
        made(Making::EXACT, linear, angular)
    }

    fn made(making: Making, linear: f64, angular: f64) -> Robot {
        let mut robot = Robot::made(making, Pose::default(), 1);
        robot.set_motor_power(true);
        robot.set_velocity(Velocity { linear, angular });
        robot
    }

    #[test]
    fn wheels_that_slip_take_it_less_far_and_outwards_in_a_curve() {
        let mut slipping = made(Making::USUAL, 0.2, 0.0);
        slipping.advance_to(0.5);
        let far = slipping.pose().position.x / (0.2 * (0.5 - MOTOR_LAG));
        assert!((0.96..0.995).contains(&far), "{far}");
        assert!(slipping.pose().position.y.abs() > 1e-6, "no wheel is as the other");
        let curve = |making| {
            let mut robot = made(making, 0.2, 4.0);
            robot.advance_to(0.4);
            robot.pose()
        };
        let slides = Making { slide: 0.05, ..Making::EXACT };
        let (held, slid) = (curve(Making::EXACT), curve(slides));
        assert_eq!(held.heading, slid.heading);
        // The circle's centre lies to the left.
        let centre = Point::new(0.0, 0.05);
        assert!(slid.position.distance(centre) > held.position.distance(centre) + 0.005, "{held:?} {slid:?}");
    }

    #[test]
    fn no_two_robots_slip_alike_and_one_always_as_it_did() {
        let path = |seed| {
            let mut robot = Robot::new(Pose::default(), seed);
            robot.set_motor_power(true);
            robot.set_velocity(Velocity { linear: 0.3, angular: 0.0 });
            robot.advance_to(0.4);
            robot.pose()
        };
        assert_eq!(path(1), path(1));
        assert_ne!(path(1), path(2));
    }

    #[test]
    fn it_drives_straight_at_the_speed_that_was_set() {
        let mut robot = driving(0.2, 0.0);
        robot.advance_to(0.3);
        let before = robot.pose();
        robot.advance_to(0.5);
        let driven = robot.pose().position - before.position;
        assert!((driven.x - 0.04).abs() < 1e-4 && driven.y.abs() < 1e-9, "{driven:?}");
    }

    #[test]
    fn a_positive_angular_velocity_turns_it_left_on_the_spot() {
        let mut robot = driving(0.0, 1.0);
        robot.advance_to(0.5);
        assert!((robot.pose().heading - (0.5 - MOTOR_LAG)).abs() < 0.01, "{}", robot.pose().heading);
        assert!(robot.pose().position.length() < 1e-9);
    }

    #[test]
    fn it_drives_on_the_circle_that_its_velocity_asks_for() {
        let mut robot = driving(0.2, 2.0);
        for tenth in 1..5 {
            robot.advance_to(f64::from(tenth) / 10.0);
            let Pose { position, heading } = robot.pose();
            let expected = Point::new(0.1 * heading.sin(), 0.1 * (1.0 - heading.cos()));
            assert!(position.distance(expected) < 1e-6, "{position:?} {expected:?}");
        }
    }

    #[test]
    fn the_wheels_lag_behind_what_was_set() {
        let mut robot = driving(0.3, 0.0);
        robot.advance_to(MOTOR_LAG);
        let share = robot.velocity().linear / 0.3;
        assert!((share - 0.632).abs() < 0.02, "{share}");
    }

    #[test]
    fn without_motor_power_it_does_not_move() {
        let mut robot = driving(0.3, 1.0);
        robot.set_motor_power(false);
        robot.advance_to(0.4);
        assert_eq!(robot.pose(), Pose::default());
        robot.set_motor_power(true);
        robot.advance_to(0.45);
        assert!(robot.pose().position.x > 0.0, "power on again lets it drive");
        let there = robot.pose();
        robot.set_motor_power(false);
        robot.advance_to(0.48);
        assert_eq!(
            (robot.pose(), robot.velocity()),
            (there, Velocity::default()),
            "power off stops it at once"
        );
    }

    #[test]
    fn it_stops_when_no_velocity_comes_any_more() {
        let mut robot = driving(0.2, 0.0);
        robot.advance_to(VELOCITY_TIMEOUT + 10.0 * MOTOR_LAG);
        assert!(robot.velocity().linear < 1e-4, "{:?}", robot.velocity());
        assert!(robot.pose().position.x < 0.2 * VELOCITY_TIMEOUT + 1e-3);
    }

    #[test]
    fn no_velocity_that_a_peer_can_send_breaks_it() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            let mut robot = driving(value, value);
            robot.advance_to(0.2);
            assert!(robot.pose().position.length() < 0.2 * MAX_WHEEL_SPEED * WHEEL_RADIUS, "{value}");
        }
    }

    #[test]
    fn the_path_does_not_depend_on_how_often_it_is_asked() {
        let (mut often, mut once) = (driving(0.2, 0.7), driving(0.2, 0.7));
        (1..=400).for_each(|ms| often.advance_to(f64::from(ms) / 1000.0));
        once.advance_to(0.4);
        assert_eq!(often.pose(), once.pose());
    }

    #[test]
    fn a_sensor_over_the_line_reads_lower_than_one_over_the_floor() {
        let track = Track::demonstration().unwrap();
        let on = track.course().pose_at(0.0);
        let mut robot = Robot::new(Pose { position: on.offset(-ROW_AHEAD, -ROW_PLACES[0]), ..on }, 3);
        let [far_left, mid_left, mid_right, far_right] = robot.light_sensors(&track).row();
        assert!(far_left < 150, "{far_left}");
        assert!([mid_left, mid_right, far_right].iter().all(|value| *value > 400));
    }

    #[test]
    fn at_the_edge_of_the_line_a_sensor_reads_between_floor_and_line() {
        let track = Track::demonstration().unwrap();
        let on = track.course().pose_at(0.0);
        let half = track.settings().line_width / 2.0;
        let pose = Pose { position: on.offset(-ROW_AHEAD, half - ROW_PLACES[1]), ..on };
        let mut robot = Robot::made(Making::EXACT, pose, 3);
        let value = robot.light_sensors(&track).row()[1];
        assert!((230..370).contains(&value), "{value}");
    }

    #[test]
    fn readings_are_noisy_but_the_same_for_the_same_seed() {
        let track = Track::demonstration().unwrap();
        let read = |seed| {
            let mut robot = Robot::new(track.course().pose_at(0.0), seed);
            [robot.light_sensors(&track), robot.light_sensors(&track)]
        };
        assert_eq!(read(5), read(5));
        assert_ne!(read(5), read(6));
        assert_ne!(read(5)[0], read(5)[1]);
    }

    #[test]
    fn a_switch_springs_back_after_the_time_it_was_held() {
        let mut robot = Robot::new(Pose::default(), 1);
        robot.press(Switch::Middle, 0.1);
        assert_eq!(robot.switches(), Switches { switch1: true, ..Switches::default() });
        robot.advance_to(0.099);
        assert!(robot.switches().switch1);
        robot.advance_to(0.1);
        assert!(!robot.switches().any());
    }

    #[test]
    fn the_buzzer_takes_no_negative_frequency() {
        let mut robot = Robot::new(Pose::default(), 1);
        robot.set_buzzer(440);
        assert_eq!(robot.buzzer(), 440);
        robot.set_buzzer(-440);
        assert_eq!(robot.buzzer(), 0);
    }
}
