//! A simulated Raspberry Pi Mouse behind the driver's files: a control node reads its sensors and drives its wheels;
//! a simulated operator places it and presses its switches.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use line_trace::geometry::Pose;
use line_trace::lap::LapMeter;
use line_trace::operator::{Beginning, Operator};
use line_trace::robot::{Robot, TREAD, WHEEL_RADIUS};
use line_trace::signals::{Leds, Velocity};
use line_trace::track::Track;
use tempfile::TempDir;

/// Period of the simulation. No test waits for it.
const PERIOD: Duration = Duration::from_millis(2);

/// Longest step of the simulation: if the host stalls, the robot stalls too.
const LONGEST_STEP: Duration = Duration::from_millis(20);

/// The left and the right motor.
const MOTORS: [&str; 2] = ["rtmotor_raw_l0", "rtmotor_raw_r0"];

/// Motor steps for one turn of its wheel.
const STEPS_A_TURN: f64 = 400.0;

/// The robot; dropping it ends the simulation.
pub struct Mouse {
    folder: TempDir,
    ended: Arc<AtomicBool>,
    laps: Arc<AtomicU32>,
    trouble: Arc<Mutex<Option<String>>>,
    living: Option<JoinHandle<()>>,
}

impl Mouse {
    /// Starts a robot that is not placed on the demonstration's track yet.
    pub fn start() -> Self {
        let folder = TempDir::with_prefix("runnel-mouse-").expect("a temporary folder");
        let mut files = Files::of(folder.path());
        files.make().expect("the driver's files");
        let (ended, laps) = (Arc::<AtomicBool>::default(), Arc::<AtomicU32>::default());
        let trouble = Arc::<Mutex<Option<String>>>::default();
        let living = thread::spawn({
            let (ended, laps, trouble) = (Arc::clone(&ended), Arc::clone(&laps), Arc::clone(&trouble));
            move || {
                if let Err(error) = live(&mut files, &ended, &laps) {
                    *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                }
            }
        });
        Self { folder, ended, laps, trouble, living: Some(living) }
    }

    /// The folder of the driver's files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Number of completed laps.
    ///
    /// # Panics
    /// If its files cannot be read or written.
    pub fn laps(&self) -> u32 {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(*trouble, None, "the robot behind the files");
        self.laps.load(Ordering::Relaxed)
    }
}

impl Drop for Mouse {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = self.living.take().map(JoinHandle::join);
    }
}

fn live(files: &mut Files, ended: &AtomicBool, laps: &AtomicU32) -> io::Result<()> {
    let track = Track::demonstration().expect("the track of the demonstration");
    let beginning = Beginning::seed(1);
    let mut robot = Robot::new(Pose::default(), beginning.seed);
    let mut operator = Operator::new(&track, beginning).expect("places to sample floor and line");
    let mut meter = LapMeter::new(track.course().length());
    let (mut lived, mut polled) = (Duration::ZERO, Instant::now());
    while !ended.load(Ordering::Relaxed) {
        lived += polled.elapsed().min(LONGEST_STEP);
        polled = Instant::now();
        robot.advance_to(lived.as_secs_f64());
        // The operator waits until a node has powered motors or LEDs.
        let leds = files.leds()?;
        robot.set_leds(leds.unwrap_or_default());
        if leds.is_some() {
            operator.attend(&mut robot);
        }
        files.steer(&mut robot)?;
        robot.set_motor_power(files.number("rtmotoren0")? == Some(1));
        files.show(&mut robot, &track)?;
        if robot.motor_power() {
            let place = meter.place(track.course(), robot.row_centre());
            if meter.update(robot.now(), place).is_some() {
                laps.fetch_add(1, Ordering::Relaxed);
            }
        }
        thread::sleep(PERIOD);
    }
    Ok(())
}

/// The driver's files in a folder.
struct Files {
    folder: PathBuf,
    /// The last number read from each file.
    last: HashMap<String, i32>,
    /// The last motor speeds, and when they were written.
    steered: [(i32, Option<SystemTime>); 2],
}

impl Files {
    fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), last: HashMap::new(), steered: [(0, None); 2] }
    }

    fn make(&self) -> io::Result<()> {
        self.put("rtlightsensor0", "0 0 0 0\n")?;
        (0..3).try_for_each(|switch| self.put(&format!("rtswitch{switch}"), "1\n"))?;
        (0..4).try_for_each(|led| self.put(&format!("rtled{led}"), ""))?;
        ["rtmotoren0", MOTORS[0], MOTORS[1], "rtbuzzer0"].iter().try_for_each(|name| self.put(name, ""))
    }

    /// Writes the current values of sensors and switches.
    fn show(&self, robot: &mut Robot, track: &Track) -> io::Result<()> {
        let [forward_r, right, left, forward_l] = robot.light_sensors(track).row();
        self.put("rtlightsensor0", &format!("{forward_r} {right} {left} {forward_l}\n"))?;
        let switches = robot.switches();
        for (index, held) in [switches.switch0, switches.switch1, switches.switch2].into_iter().enumerate() {
            self.put(&format!("rtswitch{index}"), if held { "0\n" } else { "1\n" })?;
        }
        Ok(())
    }

    /// The LEDs that are lit, once a node has set them.
    fn leds(&mut self) -> io::Result<Option<Leds>> {
        let mut lit = [false; 4];
        for (index, lit) in lit.iter_mut().enumerate() {
            let Some(number) = self.number(&format!("rtled{index}"))? else { return Ok(None) };
            *lit = number == 1;
        }
        Ok(Some(Leds::from_row(lit)))
    }

    /// Sets the motor speeds if they have been written since: like the real robot, it stops when a starved control
    /// node writes no more commands.
    fn steer(&mut self, robot: &mut Robot) -> io::Result<()> {
        let steered = [self.motor(MOTORS[0])?, self.motor(MOTORS[1])?];
        if steered == self.steered {
            return Ok(());
        }
        self.steered = steered;
        let [left, right] =
            steered.map(|(steps, _)| f64::from(steps) / STEPS_A_TURN * std::f64::consts::TAU * WHEEL_RADIUS);
        robot.set_velocity(Velocity { linear: (left + right) / 2.0, angular: (right - left) / TREAD });
        Ok(())
    }

    /// The number in a file, and when it was written.
    fn motor(&mut self, name: &str) -> io::Result<(i32, Option<SystemTime>)> {
        let written = fs::metadata(self.folder.join(name)).and_then(|file| file.modified());
        Ok((self.number(name)?.unwrap_or(0), written.ok()))
    }

    /// The number in a file: the previous one while the file is being written or missing, and `None` before the
    /// first.
    fn number(&mut self, name: &str) -> io::Result<Option<i32>> {
        match fs::read_to_string(self.folder.join(name)) {
            Ok(text) => self.last.extend(text.trim().parse().map(|number| (name.to_owned(), number))),
            // A test has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(self.last.get(name).copied())
    }

    /// Writes a file atomically.
    fn put(&self, name: &str, text: &str) -> io::Result<()> {
        let unfinished = self.folder.join(format!(".{name}"));
        fs::write(&unfinished, text)?;
        fs::rename(unfinished, self.folder.join(name))
    }
}

#[cfg(test)]
mod tests {
    use line_trace::robot::VELOCITY_TIMEOUT;

    use super::*;

    /// Simulation period of the tests, seconds.
    const POLL: f64 = 0.01;

    /// Writes the same speed for both motors again, this many seconds after the start.
    fn repeat_speed(files: &Files, at: u64) {
        for motor in MOTORS {
            files.put(motor, "200").unwrap();
            let file = fs::File::options().write(true).open(files.folder.join(motor)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(at)).unwrap();
        }
    }

    /// Metres that the robot drives in this many seconds.
    fn driven(files: &mut Files, robot: &mut Robot, seconds: f64) -> f64 {
        let (before, until) = (robot.pose().position, robot.now() + seconds);
        while robot.now() < until {
            files.steer(robot).unwrap();
            robot.advance_to(robot.now() + POLL);
        }
        let moved = robot.pose().position - before;
        moved.x.hypot(moved.y)
    }

    #[test]
    fn robot_stops_without_motor_commands() {
        let folder = TempDir::new().unwrap();
        let mut files = Files::of(folder.path());
        files.make().unwrap();
        let mut robot = Robot::new(Pose::default(), 1);
        robot.set_motor_power(true);
        for at in [1, 2] {
            repeat_speed(&files, at);
            assert!(driven(&mut files, &mut robot, VELOCITY_TIMEOUT / 2.0) > 0.005);
            driven(&mut files, &mut robot, VELOCITY_TIMEOUT * 2.0);
            assert!(driven(&mut files, &mut robot, 1.0) < 0.001);
        }
    }
}
