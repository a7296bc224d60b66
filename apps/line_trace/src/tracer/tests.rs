//! Tests of switches, LEDs and tones.

use super::*;

const FLOOR: [i16; 4] = [500, 480, 520, 510];
const LINE: [i16; 4] = [100, 90, 110, 100];

/// A tracer with a clock that moves 10 ms with each reading.
struct Bench {
    tracer: Tracer,
    now: f64,
}

impl Bench {
    fn new() -> Self {
        Self { tracer: Tracer::default(), now: 0.0 }
    }

    fn read(&mut self, row: [i16; 4], times: u32) -> &mut Self {
        for _ in 0..times {
            self.now += 0.01;
            self.tracer.handle_light_sensors(self.now, LightSensors::from_row(row));
        }
        self
    }

    fn hold(&mut self, held: bool, seconds: f64) -> &mut Self {
        self.tracer.handle_switches(self.now, Switches { switch1: held, ..Switches::default() });
        self.now += seconds;
        self
    }

    fn press(&mut self) -> &mut Self {
        self.hold(true, 0.2).hold(false, 0.2)
    }

    /// Takes both samples, up to the stage before setting off.
    fn prepare(&mut self) -> &mut Self {
        self.press().read(FLOOR, 20).press().read(LINE, 20)
    }

    fn command(&self) -> Command {
        self.tracer.command(self.now)
    }
}

#[test]
fn three_presses_sample_floor_and_line_then_drive() {
    let mut bench = Bench::new();
    assert_eq!(bench.tracer.stage(), Stage::AwaitFloor);
    bench.press();
    assert_eq!(bench.tracer.stage(), Stage::SampleFloor);
    bench.read(FLOOR, 20);
    assert_eq!(bench.tracer.stage(), Stage::AwaitLine);
    bench.press();
    assert_eq!(bench.tracer.stage(), Stage::SampleLine);
    bench.read(LINE, 20);
    assert_eq!(bench.tracer.stage(), Stage::AwaitStart);
    assert_eq!(bench.tracer.calibration().unwrap().thresholds(), [300.0, 285.0, 315.0, 305.0]);
    assert!(!bench.command().motor_power);
    bench.press();
    assert_eq!(bench.tracer.stage(), Stage::Follow);
    assert!(bench.command().motor_power);
}

#[test]
fn tracer_drives_only_while_following() {
    let mut bench = Bench::new();
    let middle = [500, 200, 220, 510];
    bench.prepare().read(middle, 1);
    assert_eq!(bench.command().velocity, Velocity::default());
    bench.press().read(middle, 1);
    assert!(bench.command().velocity.linear > 0.2);
    bench.press().read(middle, 1);
    assert_eq!((bench.tracer.stage(), bench.command().velocity), (Stage::AwaitStart, Velocity::default()));
    bench.press().read(middle, 1);
    assert!(bench.command().velocity.linear > 0.2, "the next press sets off again");
}

#[test]
fn held_and_bouncing_switch_is_one_press() {
    let mut bench = Bench::new();
    bench.prepare().hold(true, 0.003).hold(false, 0.002).hold(true, 0.1).hold(true, 0.1);
    assert_eq!(bench.tracer.stage(), Stage::Follow);
    bench.hold(false, 0.002).hold(true, 0.001).hold(false, 0.3);
    assert_eq!(bench.tracer.stage(), Stage::Follow);
    bench.hold(true, 0.1);
    assert_eq!(bench.tracer.stage(), Stage::AwaitStart);
}

#[test]
fn press_while_sampling_is_ignored() {
    let mut bench = Bench::new();
    bench.press().read(FLOOR, 10).press().read(FLOOR, 10);
    assert_eq!(bench.tracer.stage(), Stage::AwaitLine);
}

#[test]
fn indistinct_line_restarts_calibration() {
    let mut bench = Bench::new();
    bench.press().read(FLOOR, 20).press().read(FLOOR, 20);
    assert_eq!(bench.tracer.stage(), Stage::AwaitFloor);
    assert_eq!(bench.command().buzzer, 220);
    assert_eq!(bench.tracer.calibration(), None);
}

#[test]
fn leds_show_stage_then_sensors() {
    let mut bench = Bench::new();
    let leds = |bench: &Bench| bench.command().leds;
    assert_eq!(leds(&bench), Leds::from_row([false; 4]));
    bench.press();
    assert_eq!(leds(&bench), Leds::from_row([false, false, false, true]));
    bench.read(FLOOR, 20);
    assert_eq!(leds(&bench), Leds::from_row([true, false, false, false]));
    bench.press().read(LINE, 20);
    assert_eq!(leds(&bench), Leds::from_row([true, true, false, false]));
    bench.press().read([500, 100, 100, 510], 1);
    assert_eq!(leds(&bench), Leds::from_row([false, true, true, false]));
    bench.read([500, 480, 100, 100], 1);
    assert_eq!(leds(&bench), Leds::from_row([false, false, true, true]));
}

#[test]
fn tone_ends_by_itself() {
    let mut bench = Bench::new();
    bench.hold(true, 0.05);
    assert!(bench.command().buzzer > 0);
    bench.now += 0.1;
    assert_eq!(bench.command().buzzer, 0);
}

#[test]
fn tracer_stops_while_sensors_are_silent() {
    let mut bench = Bench::new();
    bench.prepare().press().read([500, 200, 220, 510], 1);
    bench.now += SENSOR_TIMEOUT + 0.01;
    assert_eq!(bench.command().velocity, Velocity::default());
    bench.read([500, 200, 220, 510], 1);
    assert!(bench.command().velocity.linear > 0.2);
}

#[test]
fn line_lost_too_long_ends_the_drive() {
    let mut bench = Bench::new();
    bench.prepare().press().read(FLOOR, 50);
    assert_eq!(bench.tracer.stage(), Stage::Follow);
    bench.read(FLOOR, 20);
    assert_eq!((bench.tracer.stage(), bench.command().motor_power), (Stage::AwaitStart, false));
    assert_eq!(bench.command().buzzer, 220);
}
