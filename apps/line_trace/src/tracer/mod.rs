//! Line-tracing logic: switches and sensor values in; velocity, LEDs, buzzer and motor power out.
//!
//! The first press of a switch samples the bare floor, the second the line, the third sets off; each later press
//! stops or restarts. While the tracer follows, the LEDs show which sensors see the line. Before, they show the
//! preparation: first LED, floor known; second LED, line known; fourth LED, sampling.

mod calibration;
mod steering;

pub use calibration::Calibration;

use crate::signals::{Leds, LightSensors, Switches, Velocity};
use calibration::Sampling;
use steering::Steering;

/// Debounce time: a switch must have been released for this long before the next press counts. Seconds.
const DEBOUNCE: f64 = 0.05;
/// The tracer stops after this time without sensor values. Seconds.
const SENSOR_TIMEOUT: f64 = 0.2;

/// Stage of the tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Waits for the first press, with the sensors off the line.
    AwaitFloor,
    /// Averages sensor values off the line.
    SampleFloor,
    /// Waits for the second press, with all sensors on the line.
    AwaitLine,
    /// Averages sensor values on the line.
    SampleLine,
    /// Waits for the press that sets off.
    AwaitStart,
    /// Follows the line.
    Follow,
}

impl Stage {
    /// The LEDs of this stage; `None` while following, when they show the sensors.
    pub fn leds(self) -> Option<Leds> {
        let row = match self {
            Self::AwaitFloor => [false; 4],
            Self::SampleFloor => [false, false, false, true],
            Self::AwaitLine => [true, false, false, false],
            Self::SampleLine => [true, false, false, true],
            Self::AwaitStart => [true, true, false, false],
            Self::Follow => return None,
        };
        Some(Leds::from_row(row))
    }

    /// The stage that these LEDs show, if any.
    pub fn of_leds(leds: Leds) -> Option<Self> {
        let shown =
            [Self::AwaitFloor, Self::SampleFloor, Self::AwaitLine, Self::SampleLine, Self::AwaitStart];
        shown.into_iter().find(|stage| stage.leds() == Some(leds))
    }
}

/// Outputs of the tracer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// Velocity (`/cmd_vel`).
    pub velocity: Velocity,
    /// LEDs (`/leds`).
    pub leds: Leds,
    /// Frequency of the buzzer in hertz, 0 for silence (`/buzzer`).
    pub buzzer: i16,
    /// Motor power (`/motor_power`).
    pub motor_power: bool,
}

/// The tracer. Times are seconds on any monotonic clock.
#[derive(Clone, Debug)]
pub struct Tracer {
    state: State,
    /// When the last switch was released; `None` while one is held.
    up_since: Option<f64>,
    sensed_at: f64,
    velocity: Velocity,
    tone: Tone,
}

impl Tracer {
    /// Handles the switches; all three act alike. A press counts when it begins.
    pub fn handle_switches(&mut self, now: f64, switches: Switches) {
        if !switches.any() {
            self.up_since.get_or_insert(now);
        } else if self.up_since.take().is_some_and(|since| now - since >= DEBOUNCE) {
            self.handle_press(now);
        }
    }

    /// Handles sensor values.
    pub fn handle_light_sensors(&mut self, now: f64, sensors: LightSensors) {
        self.sensed_at = now;
        let row = sensors.row();
        match self.state {
            State::SampleFloor(sampling) => self.sample_floor(now, sampling.with(row)),
            State::SampleLine { floor, sampling } => self.sample_line(now, floor, sampling.with(row)),
            State::Follow { calibration, steering } => self.follow(now, calibration, steering, row),
            State::AwaitFloor | State::AwaitLine { .. } | State::AwaitStart(_) => {}
        }
    }

    /// The outputs at time `now`.
    pub fn command(&self, now: f64) -> Command {
        let follows = matches!(self.state, State::Follow { .. });
        let blind = now - self.sensed_at > SENSOR_TIMEOUT;
        Command {
            velocity: if follows && !blind { self.velocity } else { Velocity::default() },
            leds: self.leds(),
            buzzer: self.tone.at(now),
            motor_power: follows,
        }
    }

    /// The current stage.
    pub fn stage(&self) -> Stage {
        match self.state {
            State::AwaitFloor => Stage::AwaitFloor,
            State::SampleFloor(_) => Stage::SampleFloor,
            State::AwaitLine { .. } => Stage::AwaitLine,
            State::SampleLine { .. } => Stage::SampleLine,
            State::AwaitStart(_) => Stage::AwaitStart,
            State::Follow { .. } => Stage::Follow,
        }
    }

    /// The calibration, once both samples are taken.
    pub fn calibration(&self) -> Option<&Calibration> {
        match &self.state {
            State::AwaitStart(calibration) | State::Follow { calibration, .. } => Some(calibration),
            _ => None,
        }
    }

    fn leds(&self) -> Leds {
        match &self.state {
            State::Follow { steering, .. } => Leds::from_row(steering.seen()),
            _ => self.stage().leds().unwrap_or_default(),
        }
    }

    fn handle_press(&mut self, now: f64) {
        let next = match self.state {
            State::AwaitFloor => State::SampleFloor(Sampling::default()),
            State::AwaitLine { floor } => State::SampleLine { floor, sampling: Sampling::default() },
            State::AwaitStart(calibration) => State::Follow { calibration, steering: Steering::new(now) },
            State::Follow { calibration, .. } => State::AwaitStart(calibration),
            State::SampleFloor(_) | State::SampleLine { .. } => return,
        };
        self.enter(next, Tone::acknowledged(now));
    }

    fn sample_floor(&mut self, now: f64, sampling: Sampling) {
        match sampling.mean() {
            Some(floor) => self.enter(State::AwaitLine { floor }, Tone::done(now)),
            None => self.state = State::SampleFloor(sampling),
        }
    }

    fn sample_line(&mut self, now: f64, floor: [f64; 4], sampling: Sampling) {
        let Some(line) = sampling.mean() else {
            self.state = State::SampleLine { floor, sampling };
            return;
        };
        match Calibration::new(floor, line) {
            Some(calibration) => self.enter(State::AwaitStart(calibration), Tone::done(now)),
            None => self.enter(State::AwaitFloor, Tone::failed(now)),
        }
    }

    fn follow(&mut self, now: f64, calibration: Calibration, mut steering: Steering, row: [i16; 4]) {
        match steering.steer(now, calibration.darkness(row), calibration.sees_line(row)) {
            Some(velocity) => {
                self.velocity = velocity;
                self.state = State::Follow { calibration, steering };
            }
            None => self.enter(State::AwaitStart(calibration), Tone::failed(now)),
        }
    }

    fn enter(&mut self, state: State, tone: Tone) {
        self.state = state;
        self.tone = tone;
        self.velocity = Velocity::default();
    }
}

impl Default for Tracer {
    /// A tracer that waits for the first press.
    fn default() -> Self {
        Self {
            state: State::AwaitFloor,
            up_since: Some(f64::NEG_INFINITY),
            sensed_at: f64::NEG_INFINITY,
            velocity: Velocity::default(),
            tone: Tone::SILENCE,
        }
    }
}

/// A [`Stage`] with its data.
#[derive(Clone, Copy, Debug)]
enum State {
    AwaitFloor,
    SampleFloor(Sampling),
    AwaitLine { floor: [f64; 4] },
    SampleLine { floor: [f64; 4], sampling: Sampling },
    AwaitStart(Calibration),
    Follow { calibration: Calibration, steering: Steering },
}

/// A tone of limited duration.
#[derive(Clone, Copy, Debug)]
struct Tone {
    hertz: i16,
    until: f64,
}

impl Tone {
    const SILENCE: Self = Self { hertz: 0, until: f64::NEG_INFINITY };

    /// A press is acknowledged.
    fn acknowledged(now: f64) -> Self {
        Self { hertz: 880, until: now + 0.1 }
    }

    /// A sample is complete.
    fn done(now: f64) -> Self {
        Self { hertz: 1320, until: now + 0.1 }
    }

    /// Floor and line are too similar, or the line is lost.
    fn failed(now: f64) -> Self {
        Self { hertz: 220, until: now + 0.5 }
    }

    fn at(self, now: f64) -> i16 {
        if now < self.until { self.hertz } else { 0 }
    }
}

#[cfg(test)]
mod tests;
