//! A Raspberry Pi Mouse behind the files of its driver: what a control node reads and writes is sensors and wheels of a
//! simulated robot, with the person who sets it down and presses its switches.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use line_trace::geometry::Pose;
use line_trace::lap::LapMeter;
use line_trace::operator::{Beginning, Operator};
use line_trace::robot::{Robot, TREAD, WHEEL_RADIUS};
use line_trace::signals::{Leds, Velocity};
use line_trace::track::Track;
use tempfile::TempDir;

/// Between two looks at the files: the pace at which the robot's world goes on. Nobody waits for anything by it.
const PERIOD: Duration = Duration::from_millis(2);

/// How far the robot's world goes on at most between two looks: where the host stands still, so does the robot.
const LONGEST_STEP: Duration = Duration::from_millis(20);

/// Steps with which a motor turns its wheel once.
const STEPS_A_TURN: f64 = 400.0;

/// The robot, which lives while this does.
pub struct Mouse {
    folder: TempDir,
    ended: Arc<AtomicBool>,
    laps: Arc<AtomicU32>,
    trouble: Arc<Mutex<Option<String>>>,
    living: Option<JoinHandle<()>>,
}

impl Mouse {
    /// A robot in its box beside the track of the demonstration.
    pub fn start() -> Self {
        let folder = TempDir::with_prefix("runnel-mouse-").expect("a temporary folder");
        let mut files = Files { folder: folder.path().to_owned(), last: HashMap::new() };
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

    /// Laps that it has driven.
    ///
    /// # Panics
    /// When its files cannot be read or written.
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
    let (mut lived, mut looked) = (Duration::ZERO, Instant::now());
    while !ended.load(Ordering::Relaxed) {
        lived += looked.elapsed().min(LONGEST_STEP);
        looked = Instant::now();
        robot.advance_to(lived.as_secs_f64());
        // Nobody presses a switch before somebody has powered motors or lamps.
        let leds = files.leds()?;
        robot.set_leds(leds.unwrap_or_default());
        if leds.is_some() {
            operator.attend(&mut robot);
        }
        robot.set_velocity(files.velocity()?);
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
    /// What was last read of each.
    last: HashMap<String, i32>,
}

impl Files {
    fn make(&self) -> io::Result<()> {
        self.put("rtlightsensor0", "0 0 0 0\n")?;
        (0..3).try_for_each(|switch| self.put(&format!("rtswitch{switch}"), "1\n"))?;
        (0..4).try_for_each(|led| self.put(&format!("rtled{led}"), ""))?;
        ["rtmotoren0", "rtmotor_raw_l0", "rtmotor_raw_r0", "rtbuzzer0"]
            .iter()
            .try_for_each(|name| self.put(name, ""))
    }

    /// What the sensors and switches say now.
    fn show(&self, robot: &mut Robot, track: &Track) -> io::Result<()> {
        let [forward_r, right, left, forward_l] = robot.light_sensors(track).row();
        self.put("rtlightsensor0", &format!("{forward_r} {right} {left} {forward_l}\n"))?;
        let switches = robot.switches();
        for (index, held) in [switches.switch0, switches.switch1, switches.switch2].into_iter().enumerate() {
            self.put(&format!("rtswitch{index}"), if held { "0\n" } else { "1\n" })?;
        }
        Ok(())
    }

    /// Which lamps are lit, once somebody has set them.
    fn leds(&mut self) -> io::Result<Option<Leds>> {
        let mut lit = [false; 4];
        for (index, lit) in lit.iter_mut().enumerate() {
            let Some(number) = self.number(&format!("rtled{index}"))? else { return Ok(None) };
            *lit = number == 1;
        }
        Ok(Some(Leds::from_row(lit)))
    }

    fn velocity(&mut self) -> io::Result<Velocity> {
        let mut rim = |name: &str| -> io::Result<f64> {
            let steps = self.number(name)?.unwrap_or(0);
            Ok(f64::from(steps) / STEPS_A_TURN * std::f64::consts::TAU * WHEEL_RADIUS)
        };
        let (left, right) = (rim("rtmotor_raw_l0")?, rim("rtmotor_raw_r0")?);
        Ok(Velocity { linear: (left + right) / 2.0, angular: (right - left) / TREAD })
    }

    /// The number in a file: the one before while somebody is writing it or it is gone, and none before the first.
    fn number(&mut self, name: &str) -> io::Result<Option<i32>> {
        match fs::read_to_string(self.folder.join(name)) {
            Ok(text) => self.last.extend(text.trim().parse().map(|number| (name.to_owned(), number))),
            // A test has taken it away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(self.last.get(name).copied())
    }

    /// A file's new text, of which nobody sees a part.
    fn put(&self, name: &str, text: &str) -> io::Result<()> {
        let unfinished = self.folder.join(format!(".{name}"));
        fs::write(&unfinished, text)?;
        fs::rename(unfinished, self.folder.join(name))
    }
}
