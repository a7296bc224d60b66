//! Robot body backed by the device files of the Raspberry Pi Mouse driver (`/dev/rtlightsensor0` and others).
//!
//! | File | Text |
//! |---|---|
//! | `rtlightsensor0` | four numbers, those of `forward_r`, `right`, `left` and `forward_l` |
//! | `rtswitch0` to `rtswitch2` | 0 while held, 1 otherwise |
//! | `rtmotoren0` | 1 for power, 0 for none |
//! | `rtmotor_raw_l0`, `rtmotor_raw_r0` | steps a second, negative backwards |
//! | `rtled0` to `rtled3` | 1 for light, 0 for none |
//! | `rtbuzzer0` | hertz, 0 for silence |

use super::Body;
use crate::robot::{VELOCITY_TIMEOUT, wheel_speeds};
use crate::signals::{Leds, LightSensors, Switches, Velocity};
use std::f64::consts::TAU;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Motor steps for one turn of its wheel.
const STEPS_A_TURN: f64 = 400.0;

/// Most bytes read from a file; no sensor writes more.
const LONGEST: u64 = 64;

const SENSORS: &str = "rtlightsensor0";
const SWITCHES: [&str; 3] = ["rtswitch0", "rtswitch1", "rtswitch2"];
const POWER: &str = "rtmotoren0";
const MOTORS: [&str; 2] = ["rtmotor_raw_l0", "rtmotor_raw_r0"];
const LED_FILES: [&str; 4] = ["rtled0", "rtled1", "rtled2", "rtled3"];
const BUZZER: &str = "rtbuzzer0";

/// A robot controlled by the device files in one folder. Dropping it stops the motors and turns off LEDs and buzzer.
#[derive(Debug)]
pub struct Devices {
    folder: PathBuf,
    now: f64,
    /// When the current velocity expires; `None` while the robot stands.
    driving_until: Option<f64>,
}

impl Devices {
    /// Opens the driver's files in this folder, usually `/dev`. The robot stands, without motor power.
    ///
    /// # Errors
    /// If a file cannot be read or written; the error names the file.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let mut devices = Self { folder: folder.to_owned(), now: 0.0, driving_until: None };
        devices.light_sensors()?;
        devices.switches()?;
        devices.rest()?;
        Ok(devices)
    }

    /// Stops the robot: motor power, LEDs and buzzer off. Each is attempted even if another one fails.
    fn rest(&mut self) -> io::Result<()> {
        let tried = [
            self.set_motor_power(false),
            self.set_velocity(Velocity::default()),
            self.set_leds(Leds::default()),
            self.set_buzzer(0),
        ];
        tried.into_iter().collect()
    }

    fn turn_wheels(&mut self, velocity: Velocity) -> io::Result<()> {
        let steps = wheel_speeds(velocity).map(|speed| (speed / TAU * STEPS_A_TURN).round() as i32);
        // Set both even if the first fails: else the other wheel would keep turning.
        let [left, right] = [0, 1].map(|side| self.write(MOTORS[side], steps[side]));
        left.and(right)
    }

    /// Reads a file. The driver takes a new reading each time the file is opened.
    fn read(&self, name: &str) -> io::Result<String> {
        let path = self.folder.join(name);
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
        read.map(|_| text).map_err(|error| named(&path, &error))
    }

    /// Writes a text in one system call, as the driver requires.
    fn write(&self, name: &str, text: impl Display) -> io::Result<()> {
        let path = self.folder.join(name);
        let opened = OpenOptions::new().write(true).truncate(true).open(&path);
        let written = opened.and_then(|mut file| file.write(text.to_string().as_bytes()));
        written.map(drop).map_err(|error| named(&path, &error))
    }

    fn unexpected(&self, name: &str, text: &str) -> io::Error {
        io::Error::new(
            ErrorKind::InvalidData,
            format!("{}: unexpected value {text:?}", self.folder.join(name).display()),
        )
    }
}

impl Body for Devices {
    fn advance_to(&mut self, now: f64) -> io::Result<()> {
        self.now = now;
        if self.driving_until.is_some_and(|until| now >= until) {
            self.set_velocity(Velocity::default())?;
        }
        Ok(())
    }

    fn light_sensors(&mut self) -> io::Result<LightSensors> {
        let text = self.read(SENSORS)?;
        let numbers: Result<Vec<i16>, _> = text.split_whitespace().map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[forward_r, right, left, forward_l]) => {
                Ok(LightSensors { forward_r, forward_l, left, right })
            }
            _ => Err(self.unexpected(SENSORS, &text)),
        }
    }

    fn switches(&mut self) -> io::Result<Switches> {
        let mut held = [false; 3];
        for (name, held) in SWITCHES.iter().zip(&mut held) {
            let text = self.read(name)?;
            *held = match text.trim() {
                "0" => true,
                "1" => false,
                _ => return Err(self.unexpected(name, &text)),
            };
        }
        let [switch0, switch1, switch2] = held;
        Ok(Switches { switch0, switch1, switch2 })
    }

    fn set_velocity(&mut self, velocity: Velocity) -> io::Result<()> {
        let drives = velocity != Velocity::default();
        if drives {
            // Set the timeout first: if only one wheel takes the velocity, it must still stop in time.
            self.driving_until = Some(self.now + VELOCITY_TIMEOUT);
        }
        self.turn_wheels(velocity)?;
        if !drives {
            self.driving_until = None;
        }
        Ok(())
    }

    fn set_motor_power(&mut self, on: bool) -> io::Result<()> {
        self.write(POWER, u8::from(on))
    }

    fn set_leds(&mut self, Leds { led0, led1, led2, led3 }: Leds) -> io::Result<()> {
        let lit = LED_FILES.iter().zip([led0, led1, led2, led3]);
        let tried: Vec<io::Result<()>> = lit.map(|(led, lit)| self.write(led, u8::from(lit))).collect();
        tried.into_iter().collect()
    }

    fn set_buzzer(&mut self, hertz: i16) -> io::Result<()> {
        self.write(BUZZER, hertz.max(0))
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        if let Err(error) = self.rest() {
            log::error!("the robot may not rest: {error}");
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::WHEEL_RADIUS;
    use std::fs;

    /// A folder with the files of a driver; nothing in it changes by itself.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = Self(std::env::temp_dir().join(format!("line-trace-{name}-{}", std::process::id())));
            fs::create_dir_all(&folder.0).unwrap();
            folder.set(SENSORS, "500 490 480 510\n");
            SWITCHES.iter().for_each(|switch| folder.set(switch, "1\n"));
            [POWER, BUZZER].iter().chain(&MOTORS).chain(&LED_FILES).for_each(|name| folder.set(name, ""));
            folder
        }

        fn set(&self, name: &str, text: &str) {
            fs::write(self.0.join(name), text).unwrap();
        }

        fn get(&self, name: &str) -> String {
            fs::read_to_string(self.0.join(name)).unwrap()
        }

        fn motors(&self) -> [i32; 2] {
            MOTORS.map(|motor| self.get(motor).parse().unwrap())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn sensors_and_switches_are_read_each_time() {
        let folder = Folder::new("reads");
        let mut devices = Devices::open(&folder.0).unwrap();
        let expected = LightSensors { forward_r: 500, right: 490, left: 480, forward_l: 510 };
        assert_eq!(devices.light_sensors().unwrap(), expected);
        folder.set(SENSORS, "100 -2 4095 0\n");
        assert_eq!(devices.light_sensors().unwrap().row(), [100, -2, 4095, 0]);
        assert!(!devices.switches().unwrap().any());
        folder.set("rtswitch1", "0\n");
        assert_eq!(devices.switches().unwrap(), Switches { switch1: true, ..Switches::default() });
    }

    #[test]
    fn wheels_turn_at_the_requested_velocity() {
        let folder = Folder::new("drives");
        let mut devices = Devices::open(&folder.0).unwrap();
        assert_eq!(folder.motors(), [0, 0]);
        // One turn per second.
        devices.set_velocity(Velocity { linear: TAU * WHEEL_RADIUS, angular: 0.0 }).unwrap();
        assert_eq!(folder.motors(), [400, 400]);
        devices.set_velocity(Velocity { linear: 0.0, angular: 1.0 }).unwrap();
        assert_eq!(folder.motors(), [-122, 122]);
        for value in [f64::NAN, f64::INFINITY] {
            devices.set_velocity(Velocity { linear: value, angular: 0.0 }).unwrap();
            assert!(folder.motors().iter().all(|steps| (0..=2000).contains(steps)), "{value}");
        }
    }

    #[test]
    fn robot_stops_when_velocities_stop_coming() {
        let folder = Folder::new("stands");
        let mut devices = Devices::open(&folder.0).unwrap();
        devices.advance_to(1.0).unwrap();
        devices.set_velocity(Velocity { linear: 0.1, angular: 0.0 }).unwrap();
        devices.advance_to(1.0 + VELOCITY_TIMEOUT - 0.01).unwrap();
        assert_ne!(folder.motors(), [0, 0]);
        devices.advance_to(1.0 + VELOCITY_TIMEOUT).unwrap();
        assert_eq!(folder.motors(), [0, 0]);
    }

    #[test]
    fn wheel_stops_although_the_other_fails() {
        let folder = Folder::new("half");
        let mut devices = Devices::open(&folder.0).unwrap();
        let [_, right] = MOTORS.map(|motor| folder.0.join(motor));
        fs::remove_file(&right).unwrap();
        devices.set_velocity(Velocity { linear: 0.1, angular: 0.0 }).unwrap_err();
        assert_ne!(folder.get(MOTORS[0]), "0");
        devices.advance_to(VELOCITY_TIMEOUT).unwrap_err();
        assert_eq!(folder.get(MOTORS[0]), "0");
        fs::write(&right, "").unwrap();
        devices.advance_to(VELOCITY_TIMEOUT).unwrap();
        assert_eq!(folder.motors(), [0, 0]);
    }

    #[test]
    fn dropped_robot_turns_everything_off() {
        let folder = Folder::new("sets");
        let mut devices = Devices::open(&folder.0).unwrap();
        devices.set_leds(Leds::from_row([true, false, true, false])).unwrap();
        devices.set_buzzer(880).unwrap();
        devices.set_motor_power(true).unwrap();
        devices.set_velocity(Velocity { linear: 0.1, angular: 0.0 }).unwrap();
        assert_eq!(LED_FILES.map(|led| folder.get(led)), ["1", "0", "1", "0"]);
        assert_eq!([BUZZER, POWER].map(|name| folder.get(name)), ["880", "1"]);
        devices.set_buzzer(-5).unwrap();
        assert_eq!(folder.get(BUZZER), "0");
        drop(devices);
        assert_eq!(LED_FILES.map(|led| folder.get(led)), ["0"; 4]);
        assert_eq!((folder.motors(), folder.get(POWER).as_str()), ([0, 0], "0"));
    }

    #[test]
    fn missing_or_invalid_file_is_named() {
        let folder = Folder::new("errors");
        let error = |folder: &Folder| Devices::open(&folder.0).unwrap_err().to_string();
        for unexpected in ["1 2 3", "1 2 3 4 5", "a b c d", "99999 0 0 0", ""] {
            folder.set(SENSORS, unexpected);
            assert!(
                error(&folder).ends_with(&format!("/rtlightsensor0: unexpected value {unexpected:?}")),
                "{unexpected}"
            );
        }
        folder.set(SENSORS, "1 2 3 4");
        folder.set("rtswitch2", "2");
        assert!(error(&folder).ends_with("/rtswitch2: unexpected value \"2\""));
        folder.set("rtswitch2", "1");
        fs::remove_file(folder.0.join("rtled3")).unwrap();
        assert!(error(&folder).contains("/rtled3: No such file"), "{}", error(&folder));
    }
}
