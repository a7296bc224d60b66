//! The simulated operator: places the robot, presses a switch, and watches the LEDs.

use crate::geometry::Pose;
use crate::noise::Noise;
use crate::robot::{ROW_AHEAD, ROW_PLACES, Robot, Switch};
use crate::signals::Leds;
use crate::tracer::Stage;
use crate::track::{FLOOR, LINE, Track};
use std::f64::consts::FRAC_PI_2;
use std::{error, fmt};

/// Seconds between placing the robot and the press.
const SETTLE: f64 = 0.3;
/// Seconds for which a switch is held.
const HOLD: f64 = 0.15;
/// If the LEDs do not confirm a press within this time, the operator starts again. Seconds.
const PRESS_TIMEOUT: f64 = 3.0;
/// Distance from the line at which the floor is sampled, metres.
const FLOOR_OFFSET: f64 = 0.09;
/// Distance between two candidate positions for sampling floor or line, metres.
const STRIDE: f64 = 0.01;
/// Largest difference from the brightness of floor or line that still counts as it.
const UNLIKE: f64 = 30.0;

/// Start of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beginning {
    /// Seed of all randomness: the robot's tolerances, the noise of sensors and floor, and how it is placed.
    pub seed: u64,
    /// Where the robot is placed, metres along the line from the middle of the first straight; wraps around.
    pub at: f64,
}

impl Beginning {
    /// At the start of the line.
    pub const fn seed(seed: u64) -> Self {
        Self { seed, at: 0.0 }
    }
}

/// Why a track does not suit the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// Nowhere off the line do all sensors see the floor.
    ForFloor,
    /// Nowhere do all sensors see the line when the robot stands across it.
    ForLine,
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = (ROW_PLACES[0] - ROW_PLACES[3]) * 1e3;
        match self {
            Self::ForFloor => {
                write!(f, "there is no {row:.0} mm of bare floor next to the line for the sensors")
            }
            Self::ForLine => {
                write!(f, "nowhere is the line straight for the {row:.0} mm that the sensors see")
            }
        }
    }
}

impl error::Error for NoPlace {}

/// Takes the robot to its first lap: place it off the line, press; on the line, press; at the start, press.
#[derive(Clone, Debug)]
pub struct Operator {
    errands: [Errand; 3],
    state: State,
}

/// Where to place the robot, and the LEDs expected after the press; after the last errand the robot drives.
#[derive(Clone, Copy, Debug)]
struct Errand {
    place: Pose,
    shown: Option<Leds>,
}

/// The errand that sets the robot off.
const LAST: usize = 2;

#[derive(Clone, Copy, Debug)]
enum State {
    SetDown {
        errand: usize,
    },
    Press {
        errand: usize,
        at: f64,
    },
    Watch {
        errand: usize,
        since: f64,
    },
    /// The robot drives, or has stood without power since then.
    Drive {
        stood_since: Option<f64>,
    },
}

impl Operator {
    /// An operator for this track. The seed decides how exactly the robot is placed: within 4 mm and 0.1 radians.
    ///
    /// # Errors
    /// If there is no position at which the sensors see only floor, or none at which they see only line.
    pub fn new(track: &Track, Beginning { seed, at }: Beginning) -> Result<Self, NoPlace> {
        let on = track.course().pose_at(at);
        let off_line = place_on(track, FLOOR, |on| {
            [FLOOR_OFFSET, -FLOOR_OFFSET].map(|aside| Pose { position: on.offset(0.0, aside), ..on })
        });
        let across =
            place_on(track, LINE, |on| [with_row_at(Pose { heading: on.heading + FRAC_PI_2, ..on })]);
        let (off_line, across) = (off_line.ok_or(NoPlace::ForFloor)?, across.ok_or(NoPlace::ForLine)?);
        let mut noise = Noise::new(seed);
        let mut about = |reach: f64| reach * (2.0 * noise.uniform() - 1.0);
        let start = Pose { position: on.offset(0.0, about(0.004)), heading: on.heading + about(0.1) };
        let errands = [
            Errand { place: off_line, shown: Stage::AwaitLine.leds() },
            Errand { place: across, shown: Stage::AwaitStart.leds() },
            Errand { place: with_row_at(start), shown: None },
        ];
        Ok(Self { errands, state: State::SetDown { errand: 0 } })
    }

    /// Does what is due at the robot's time. Call it at least every 0.1 s.
    pub fn attend(&mut self, robot: &mut Robot) {
        let now = robot.now();
        self.state = match self.state {
            State::SetDown { errand } => {
                robot.place(self.errands[errand].place);
                State::Press { errand, at: now + SETTLE }
            }
            State::Press { errand, at } if now >= at => {
                robot.press(Switch::Front, HOLD);
                State::Watch { errand, since: now }
            }
            State::Watch { errand, since } => self.watch(errand, since, robot),
            State::Drive { stood_since } => watch_drive(stood_since, robot),
            waiting @ State::Press { .. } => waiting,
        };
    }

    /// True while the robot drives.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Drive { .. })
    }

    fn watch(&self, errand: usize, since: f64, robot: &Robot) -> State {
        let timed_out = robot.now() - since > PRESS_TIMEOUT;
        match self.errands[errand].shown {
            None if robot.motor_power() => State::Drive { stood_since: None },
            None if timed_out => State::SetDown { errand },
            Some(leds) if robot.leds() == leds => State::SetDown { errand: errand + 1 },
            Some(_) if timed_out => State::SetDown { errand: 0 },
            _ => State::Watch { errand, since },
        }
    }
}

/// A robot that has lost the line waits for a press, and is carried back to the start.
fn watch_drive(stood_since: Option<f64>, robot: &Robot) -> State {
    let now = robot.now();
    match stood_since {
        _ if robot.motor_power() => State::Drive { stood_since: None },
        Some(since) if now - since > PRESS_TIMEOUT && Some(robot.leds()) == Stage::AwaitStart.leds() => {
            State::SetDown { errand: LAST }
        }
        _ => State::Drive { stood_since: stood_since.or(Some(now)) },
    }
}

/// The first of the poses, derived from places along the line, in which all sensors see this brightness.
fn place_on<const N: usize>(
    track: &Track,
    brightness: u8,
    poses: impl Fn(Pose) -> [Pose; N],
) -> Option<Pose> {
    let sees = |place: &Pose| {
        ROW_PLACES.iter().all(|aside| {
            let seen = track.sample(place.offset(ROW_AHEAD, *aside));
            (seen - f64::from(brightness)).abs() < UNLIKE
        })
    };
    let strides = (track.course().length() / STRIDE) as u32;
    let along = (0..strides).map(|stride| track.course().pose_at(f64::from(stride) * STRIDE));
    along.flat_map(poses).find(sees)
}

/// The robot pose whose sensor row has this centre and heading.
fn with_row_at(row: Pose) -> Pose {
    Pose { position: row.offset(-ROW_AHEAD, 0.0), ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs robot and operator for `seconds`.
    fn live(robot: &mut Robot, operator: &mut Operator, seconds: f64) {
        for _ in 0..(seconds * 100.0) as u32 {
            robot.advance_to(robot.now() + 0.01);
            operator.attend(robot);
        }
    }

    fn pair() -> (Track, Robot, Operator) {
        let track = Track::demonstration().unwrap();
        let operator = Operator::new(&track, Beginning::seed(1)).unwrap();
        (track, Robot::new(Pose::default(), 1), operator)
    }

    #[test]
    fn robot_is_placed_off_and_then_on_the_line() {
        let (track, mut robot, mut operator) = pair();
        live(&mut robot, &mut operator, 0.2);
        assert!(robot.light_sensors(&track).row().iter().all(|value| *value > 400));
        robot.set_leds(Stage::AwaitLine.leds().unwrap());
        live(&mut robot, &mut operator, 0.5);
        assert!(robot.light_sensors(&track).row().iter().all(|value| *value < 150));
    }

    #[test]
    fn track_without_a_straight_is_refused() {
        let corners = [(0.15, 0.15), (0.35, 0.15), (0.35, 0.35), (0.15, 0.35)];
        let corners = corners.map(|(x, y)| format!("corner {x} {y} 0.0999\n")).concat();
        let circle = |width: f64| Track::parse(&format!("floor 0.5 0.5\nline {width}\n{corners}")).unwrap();
        let begun = |width| Operator::new(&circle(width), Beginning::seed(1)).map(|_| ());
        assert_eq!((begun(0.02), begun(0.005)), (Ok(()), Err(NoPlace::ForLine)));
        assert_eq!(
            NoPlace::ForLine.to_string(),
            "nowhere is the line straight for the 52 mm that the sensors see"
        );
    }

    #[test]
    fn switch_is_pressed_after_robot_stands() {
        let (_, mut robot, mut operator) = pair();
        live(&mut robot, &mut operator, 0.2);
        assert!(!robot.switches().any());
        live(&mut robot, &mut operator, 0.15);
        assert!(robot.switches().any());
        live(&mut robot, &mut operator, 0.2);
        assert!(!robot.switches().any());
    }

    #[test]
    fn unconfirmed_press_is_repeated() {
        let (_, mut robot, mut operator) = pair();
        live(&mut robot, &mut operator, PRESS_TIMEOUT + 0.3);
        assert!(!robot.switches().any());
        live(&mut robot, &mut operator, 0.4);
        assert!(robot.switches().any());
    }

    #[test]
    fn third_press_is_repeated_until_robot_drives() {
        let (track, mut robot, mut operator) = pair();
        live(&mut robot, &mut operator, 0.6);
        robot.set_leds(Stage::AwaitLine.leds().unwrap());
        live(&mut robot, &mut operator, 0.6);
        assert!(!operator.is_done());
        robot.set_leds(Stage::AwaitStart.leds().unwrap());
        live(&mut robot, &mut operator, 0.6);
        assert!(!operator.is_done(), "the press is not confirmed yet");
        live(&mut robot, &mut operator, PRESS_TIMEOUT + 0.1);
        assert!(robot.switches().any(), "so it is pressed again");
        assert!(track.course().nearest(robot.row_centre()).deviation.abs() < 0.005);
        robot.set_motor_power(true);
        live(&mut robot, &mut operator, 0.1);
        assert!(operator.is_done());
        let lost = Pose::default();
        robot.place(lost);
        robot.set_motor_power(false);
        live(&mut robot, &mut operator, PRESS_TIMEOUT - 0.1);
        assert_eq!(robot.pose(), lost);
        live(&mut robot, &mut operator, 0.2);
        assert_ne!(robot.pose(), lost, "a robot that has lost the line is brought back");
    }
}
