//! The person beside the track: sets the robot down, presses a switch, and watches the lamps.

use crate::geometry::Pose;
use crate::noise::Noise;
use crate::robot::{ROW_AHEAD, ROW_PLACES, Robot, Switch};
use crate::signals::Leds;
use crate::tracer::Stage;
use crate::track::{FLOOR, LINE, Track};
use std::f64::consts::FRAC_PI_2;
use std::{error, fmt};

/// Between setting the robot down and the press, seconds.
const SETTLE: f64 = 0.3;
/// How long a switch is held, seconds.
const HOLD: f64 = 0.15;
/// If the lamps do not show that a press was taken within this time, the person begins again. Seconds.
const PATIENCE: f64 = 3.0;
/// How far beside the line the floor is sampled, metres.
const BESIDE: f64 = 0.09;
/// Between two places at which the person looks whether floor or line can be sampled there, metres.
const STRIDE: f64 = 0.01;
/// How far from that of floor or line a brightness is that is neither's.
const UNLIKE: f64 = 30.0;

/// How a drive begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beginning {
    /// What chance is drawn from: how the robot's parts are, what its sensors and the floor add, how it is set down.
    pub seed: u64,
    /// Where the robot is set down, metres along the line from the middle of the first straight. Beyond the line's end it
    /// is counted on from the start.
    pub at: f64,
}

impl Beginning {
    /// At the start.
    pub const fn seed(seed: u64) -> Self {
        Self { seed, at: 0.0 }
    }
}

/// A track that has no place for what a person does on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// Nowhere beside the line all sensors see the floor.
    ForFloor,
    /// Nowhere all sensors see the line when the robot stands across it.
    ForLine,
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = (ROW_PLACES[0] - ROW_PLACES[3]) * 1e3;
        match self {
            Self::ForFloor => {
                write!(f, "nowhere beside the line is {row:.0} mm of floor for the sensors to see")
            }
            Self::ForLine => {
                write!(f, "nowhere is the line straight for the {row:.0} mm that the sensors see")
            }
        }
    }
}

impl error::Error for NoPlace {}

/// Brings a robot from its box to its first lap: off the line, press; on the line, press; at the start, press.
#[derive(Clone, Debug)]
pub struct Operator {
    errands: [Errand; 3],
    state: State,
}

/// Where to set the robot down, and what its lamps must show after the press before the next errand; after the last it
/// drives.
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
    /// It drives, or has stood without power since then.
    Drive {
        stood_since: Option<f64>,
    },
}

impl Operator {
    /// A person for this track. The seed decides how exactly the robot is set down: within 4 mm and 0.1 radians.
    ///
    /// # Errors
    /// When there is no place where the robot can be shown the floor, or none where it can be shown the line.
    pub fn new(track: &Track, Beginning { seed, at }: Beginning) -> Result<Self, NoPlace> {
        let on = track.course().pose_at(at);
        let beside = place_on(track, FLOOR, |on| {
            [BESIDE, -BESIDE].map(|aside| Pose { position: on.offset(0.0, aside), ..on })
        });
        let across =
            place_on(track, LINE, |on| [with_row_at(Pose { heading: on.heading + FRAC_PI_2, ..on })]);
        let (beside, across) = (beside.ok_or(NoPlace::ForFloor)?, across.ok_or(NoPlace::ForLine)?);
        let mut noise = Noise::new(seed);
        let mut about = |reach: f64| reach * (2.0 * noise.uniform() - 1.0);
        let start = Pose { position: on.offset(0.0, about(0.004)), heading: on.heading + about(0.1) };
        let errands = [
            Errand { place: beside, shown: Stage::AwaitLine.lamps() },
            Errand { place: across, shown: Stage::AwaitStart.lamps() },
            Errand { place: with_row_at(start), shown: None },
        ];
        Ok(Self { errands, state: State::SetDown { errand: 0 } })
    }

    /// Does what is due at the robot's own time. To be called at least every 0.1 s.
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

    /// True while the robot drives by itself.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Drive { .. })
    }

    fn watch(&self, errand: usize, since: f64, robot: &Robot) -> State {
        let impatient = robot.now() - since > PATIENCE;
        match self.errands[errand].shown {
            None if robot.motor_power() => State::Drive { stood_since: None },
            None if impatient => State::SetDown { errand },
            Some(lamps) if robot.leds() == lamps => State::SetDown { errand: errand + 1 },
            Some(_) if impatient => State::SetDown { errand: 0 },
            _ => State::Watch { errand, since },
        }
    }
}

/// A robot that has lost the line waits for a press, and is brought back to where it set off.
fn watch_drive(stood_since: Option<f64>, robot: &Robot) -> State {
    let now = robot.now();
    match stood_since {
        _ if robot.motor_power() => State::Drive { stood_since: None },
        Some(since) if now - since > PATIENCE && Some(robot.leds()) == Stage::AwaitStart.lamps() => {
            State::SetDown { errand: LAST }
        }
        _ => State::Drive { stood_since: stood_since.or(Some(now)) },
    }
}

/// The first of the poses that belong to places along the line in which all sensors see this brightness.
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

/// The pose in which the middle of the sensor row is where `row` is, and the robot looks where it looks.
fn with_row_at(row: Pose) -> Pose {
    Pose { position: row.offset(-ROW_AHEAD, 0.0), ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets robot and person live for `seconds`.
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
    fn the_robot_stands_off_the_line_first_and_then_with_all_sensors_on_it() {
        let (track, mut robot, mut operator) = pair();
        live(&mut robot, &mut operator, 0.2);
        assert!(robot.light_sensors(&track).row().iter().all(|value| *value > 400));
        robot.set_leds(Stage::AwaitLine.lamps().unwrap());
        live(&mut robot, &mut operator, 0.5);
        assert!(robot.light_sensors(&track).row().iter().all(|value| *value < 150));
    }

    #[test]
    fn a_track_without_a_straight_is_refused() {
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
    fn the_switch_is_pressed_after_the_robot_stands() {
        let (_, mut robot, mut operator) = pair();
        live(&mut robot, &mut operator, 0.2);
        assert!(!robot.switches().any());
        live(&mut robot, &mut operator, 0.15);
        assert!(robot.switches().any());
        live(&mut robot, &mut operator, 0.2);
        assert!(!robot.switches().any());
    }

    #[test]
    fn a_press_that_nobody_took_is_made_again() {
        let (_, mut robot, mut operator) = pair();
        live(&mut robot, &mut operator, PATIENCE + 0.3);
        assert!(!robot.switches().any());
        live(&mut robot, &mut operator, 0.4);
        assert!(robot.switches().any());
    }

    #[test]
    fn the_third_press_sets_off_from_the_line_and_is_made_until_the_robot_drives() {
        let (track, mut robot, mut operator) = pair();
        live(&mut robot, &mut operator, 0.6);
        robot.set_leds(Stage::AwaitLine.lamps().unwrap());
        live(&mut robot, &mut operator, 0.6);
        assert!(!operator.is_done());
        robot.set_leds(Stage::AwaitStart.lamps().unwrap());
        live(&mut robot, &mut operator, 0.6);
        assert!(!operator.is_done(), "nobody has heard the press yet");
        live(&mut robot, &mut operator, PATIENCE + 0.1);
        assert!(robot.switches().any(), "so it is pressed again");
        assert!(track.course().nearest(robot.row_centre()).deviation.abs() < 0.005);
        robot.set_motor_power(true);
        live(&mut robot, &mut operator, 0.1);
        assert!(operator.is_done());
        let lost = Pose::default();
        robot.place(lost);
        robot.set_motor_power(false);
        live(&mut robot, &mut operator, PATIENCE - 0.1);
        assert_eq!(robot.pose(), lost);
        live(&mut robot, &mut operator, 0.2);
        assert_ne!(robot.pose(), lost, "a robot that has lost the line is brought back");
    }
}
