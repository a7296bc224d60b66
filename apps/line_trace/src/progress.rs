//! Progress of a drive as seen from outside: from the LEDs, the commands and the robot's pose.

use crate::course::{Course, Nearest};
use crate::geometry::{Point, Pose};
use crate::lap::{Lap, LapMeter};
use crate::robot::ROW_AHEAD;
use crate::signals::{Leds, LightSensors, Switches, Velocity};
use crate::tracer::Stage;

/// Most points of a path: more than two hours at 20 a second. The oldest half is then dropped.
const LONGEST_PATH: usize = 150_000;

/// A publisher that has been silent for this long, seconds, no longer has control.
const RELEASE: f64 = 0.5;

/// One point of a driven path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathPoint {
    /// Seconds on the watcher's clock.
    pub seconds: f64,
    /// Position of the middle of the sensor row.
    pub position: Point,
    /// Metres along the line from its start.
    pub progress: f64,
    /// Metres from the line, positive to the left.
    pub deviation: f64,
    /// Speed, metres per second.
    pub speed: f64,
}

/// Most laps that are kept.
const MOST_LAPS: usize = 10_000;

/// A drive along a [`Course`].
#[derive(Clone, Debug)]
pub struct Progress {
    course: Course,
    meter: LapMeter,
    leds: Option<Leds>,
    sensors: Option<LightSensors>,
    switches: Option<Switches>,
    buzzer: i16,
    follows: bool,
    /// The node that last drove instead of the tracer, and the time of the pose before that.
    driver: Option<(String, f64)>,
    now: f64,
    robot: Option<Pose>,
    speed: f64,
    deviation: f64,
    path: Vec<PathPoint>,
    laps: Vec<Lap>,
}

impl Progress {
    /// A drive without any data yet.
    pub fn new(course: Course) -> Self {
        Self {
            meter: LapMeter::new(course.length()),
            course,
            leds: None,
            sensors: None,
            switches: None,
            buzzer: 0,
            follows: false,
            driver: None,
            now: 0.0,
            robot: None,
            speed: 0.0,
            deviation: 0.0,
            path: Vec::new(),
            laps: Vec::new(),
        }
    }

    /// Handles the LEDs that the tracer shows (`leds`).
    pub fn handle_leds(&mut self, leds: Leds) {
        self.leds = Some(leds);
    }

    /// Handles the robot's sensor values (`light_sensors`).
    pub fn handle_light_sensors(&mut self, sensors: LightSensors) {
        self.sensors = Some(sensors);
    }

    /// Handles the switches (`switches`).
    pub fn handle_switches(&mut self, switches: Switches) {
        self.switches = Some(switches);
    }

    /// Handles the buzzer's frequency (`buzzer`), hertz.
    pub fn handle_buzzer(&mut self, hertz: i16) {
        self.buzzer = hertz;
    }

    /// Handles a command of the tracer (`cmd_vel`).
    pub fn handle_command(&mut self, velocity: Velocity) {
        self.follows = velocity != Velocity::default();
    }

    /// Handles a command of another node, which the robot obeys instead of the tracer's.
    pub fn handle_foreign_command(&mut self, node: &str) {
        match &mut self.driver {
            Some((driver, at)) if driver == node => *at = self.now,
            driver => *driver = Some((node.to_owned(), self.now)),
        }
    }

    /// Handles the robot's pose at `now`, in seconds (`odom`). The lap begins when the robot first follows the line.
    pub fn handle_pose(&mut self, now: f64, pose: Pose, velocity: Velocity) {
        self.now = now;
        (self.speed, self.robot) = (velocity.linear, Some(pose));
        if !self.follows && self.path.is_empty() {
            return;
        }
        let position = pose.offset(ROW_AHEAD, 0.0);
        let place = self.meter.place(&self.course, position);
        self.deviation = place.deviation;
        let Nearest { deviation, progress } = place;
        if self.path.len() == LONGEST_PATH {
            self.path.drain(..LONGEST_PATH / 2);
        }
        self.path.push(PathPoint { seconds: now, position, progress, deviation, speed: self.speed });
        let lap = self.meter.update(now, place);
        self.laps.extend(lap.filter(|_| self.laps.len() < MOST_LAPS));
    }

    /// What the tracer is doing; `None` before it shows LEDs, and while it shows LEDs of the stage "follow" without
    /// driving.
    pub fn stage(&self) -> Option<Stage> {
        if self.follows {
            return Some(Stage::Follow);
        }
        Stage::of_leds(self.leds?)
    }

    /// The node that drives instead of the tracer, if any.
    pub fn driver(&self) -> Option<&str> {
        let (node, at) = self.driver.as_ref()?;
        (self.now - at < RELEASE).then_some(node)
    }

    /// Driven fraction of the current lap, 0.0 to 1.0.
    pub fn lap_fraction(&self) -> f64 {
        (self.meter.driven() / self.course.length()).clamp(0.0, 1.0)
    }

    /// Speed over the floor, metres per second.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Metres from the centre of the line, positive to the left; 0 before the drive.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The robot's pose, once known.
    pub fn robot(&self) -> Option<Pose> {
        self.robot
    }

    /// The sensor values.
    pub fn sensors(&self) -> Option<LightSensors> {
        self.sensors
    }

    /// Which switches are held.
    pub fn switches(&self) -> Option<Switches> {
        self.switches
    }

    /// Which LEDs are lit.
    pub fn leds(&self) -> Option<Leds> {
        self.leds
    }

    /// The buzzer's frequency, hertz; 0 is silence.
    pub fn buzzer(&self) -> i16 {
        self.buzzer
    }

    /// The completed laps, at most the first 10 000.
    pub fn laps(&self) -> &[Lap] {
        &self.laps
    }

    /// Takes the completed laps; they are no longer kept.
    pub fn take_laps(&mut self) -> Vec<Lap> {
        std::mem::take(&mut self.laps)
    }

    /// Positions of the middle of the sensor row since the robot set off.
    pub fn path(&self) -> &[PathPoint] {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Track;

    const DRIVE: Velocity = Velocity { linear: 0.2, angular: 0.0 };

    fn progress() -> Progress {
        Progress::new(Track::demonstration().unwrap().course().clone())
    }

    /// The pose of a robot whose sensor row is `aside` metres left of the line, `along` metres from its start.
    fn robot_at(progress: &Progress, along: f64, aside: f64) -> Pose {
        let on = progress.course.pose_at(along);
        Pose { position: on.offset(-ROW_AHEAD, aside), ..on }
    }

    #[test]
    fn leds_show_the_stage_before_the_drive() {
        let mut progress = progress();
        assert_eq!(progress.stage(), None);
        let stages = [
            ([false; 4], Some(Stage::AwaitFloor)),
            ([false, false, false, true], Some(Stage::SampleFloor)),
            ([true, false, false, false], Some(Stage::AwaitLine)),
            ([true, false, false, true], Some(Stage::SampleLine)),
            ([true, true, false, false], Some(Stage::AwaitStart)),
            ([false, true, true, false], None),
        ];
        for (leds, stage) in stages {
            progress.handle_leds(Leds::from_row(leds));
            assert_eq!(progress.stage(), stage, "{leds:?}");
        }
    }

    #[test]
    fn driving_tracer_is_following_despite_leds() {
        let mut progress = progress();
        progress.handle_leds(Leds::from_row([true, true, false, false]));
        progress.handle_command(DRIVE);
        assert_eq!(progress.stage(), Some(Stage::Follow));
        progress.handle_command(Velocity::default());
        assert_eq!(progress.stage(), Some(Stage::AwaitStart));
    }

    #[test]
    fn other_node_is_driver_until_silent() {
        let mut progress = progress();
        let at = robot_at(&progress, 0.0, 0.0);
        progress.handle_pose(7.0, at, DRIVE);
        assert_eq!(progress.driver(), None);
        progress.handle_foreign_command("/teleop");
        progress.handle_pose(7.4, at, DRIVE);
        assert_eq!(progress.driver(), Some("/teleop"));
        progress.handle_pose(7.5, at, DRIVE);
        assert_eq!(progress.driver(), None);
    }

    #[test]
    fn carried_robot_completes_no_lap() {
        let mut progress = progress();
        for (second, along) in [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)] {
            progress.handle_pose(second, robot_at(&progress, along, 0.0), Velocity::default());
        }
        assert!(progress.path().is_empty() && progress.lap_fraction() == 0.0);
    }

    #[test]
    fn lap_begins_at_set_off_and_uses_stamps() {
        let mut progress = progress();
        let length = progress.course.length();
        progress.handle_command(DRIVE);
        let steps = (length / 0.01).ceil() as u32 + 1;
        for step in 0..=steps {
            if step == steps / 2 {
                assert!((progress.lap_fraction() - 0.5).abs() < 0.01, "{}", progress.lap_fraction());
            }
            let along = f64::from(step) * 0.01;
            progress.handle_pose(1e9 + along / 0.2, robot_at(&progress, along, 0.002), DRIVE);
        }
        let [lap] = progress.laps() else { panic!("{:?}", progress.laps()) };
        assert!((lap.speed - 0.2).abs() < 0.001 && (lap.deviation.mean() - 0.002).abs() < 1e-4, "{lap:?}");
        assert!((progress.deviation() - 0.002).abs() < 1e-4 && progress.speed() == 0.2);
        assert_eq!(progress.path().len(), steps as usize + 1);
    }
}
