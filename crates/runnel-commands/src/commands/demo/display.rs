//! How far the drive has come: a screen on a terminal, a line now and then elsewhere.

use std::borrow::Cow;

use line_trace::geometry::{Point, Pose};
use line_trace::latency::Statistics;
use line_trace::signals::{Leds, LightSensors, Switches};
use line_trace::tracer::Stage;
use line_trace::track::Track;

use super::place::Place;
use super::screen::{self, Screen};
use crate::error::CliError;
use crate::output::Output;

/// Lines for each lap, where lines do not change.
const LINES_A_LAP: f64 = 5.0;

/// What is to be seen of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// What the tracer does, once it has shown.
    pub stage: Option<Stage>,
    /// The node that drives in place of the tracer, if one does.
    pub driver: Option<String>,
    /// The present lap, 1 for the first.
    pub lap: u32,
    /// Laps to drive, if there is a last one.
    pub laps: Option<u32>,
    /// Share of the lap that is driven, 0.0 to 1.0.
    pub share: f64,
    /// Metres per second.
    pub speed: f64,
    /// Metres beside the line, positive to the left.
    pub deviation: f64,
    /// Messages a second of `/light_sensors` and `/cmd_vel`, once they are known.
    pub rates: Option<[f64; 2]>,
    /// Latencies of the newest messages of the same, once there are any.
    pub latencies: [Option<Statistics>; 2],
    /// Where the robot is.
    pub robot: Option<Pose>,
    /// Where it has been lately.
    pub path: Vec<Point>,
    /// What its sensors see.
    pub sensors: Option<LightSensors>,
    /// Which switches are held.
    pub switches: Option<Switches>,
    /// Which lamps are lit.
    pub leds: Option<Leds>,
    /// Frequency of the buzzer in hertz, 0 for silence.
    pub buzzer: i16,
}

/// Where it is shown.
pub struct Display {
    output: Output,
    form: Form,
}

enum Form {
    /// A program reads the answer alone.
    Silent,
    Screen(Box<Screen>),
    Lines {
        last: Option<Line>,
    },
}

/// What makes a new line: another driver, another stage, another lap, another part of it.
type Line = (Option<String>, Option<Stage>, u32, u32);

impl Display {
    /// A display on standard output: a screen if that is a terminal and `headless` is false.
    ///
    /// # Errors
    /// When standard output cannot be written, as all of these.
    pub fn begin(
        output: Output,
        headless: bool,
        track: (&Track, &str),
        place: &Place,
    ) -> Result<Self, CliError> {
        let form = match (output.json, headless || !screen::can_be_drawn_on()) {
            (true, _) => Form::Silent,
            (false, true) => {
                output.text(&introduction(place))?;
                Form::Lines { last: None }
            }
            (false, false) => {
                let (track, name) = track;
                let title = format!("Line tracer, track {name}");
                Form::Screen(Box::new(Screen::take(track, title, foot(place))?))
            }
        };
        Ok(Self { output, form })
    }

    /// Shows this.
    ///
    /// # Errors
    /// As [`Display::begin`].
    pub fn show(&mut self, seen: &Seen) -> Result<(), CliError> {
        match &mut self.form {
            Form::Silent => Ok(()),
            Form::Screen(screen) => Ok(screen.draw(seen)?),
            Form::Lines { last } => {
                let part = (seen.share * LINES_A_LAP) as u32;
                let line = match &seen.driver {
                    Some(driver) => (Some(driver.clone()), None, 0, 0),
                    None => (None, seen.stage, seen.lap, part),
                };
                if last.as_ref() == Some(&line) {
                    return Ok(());
                }
                *last = Some(line);
                self.output.line(&text(seen))
            }
        }
    }
}

/// What is about to be seen.
fn introduction(place: &Place) -> String {
    let text = "A simulated Raspberry Pi Mouse traces a line. Robot and tracer are nodes in a\n\
                process each. In another terminal:\n";
    let lines = commands(place).into_iter().map(|line| format!("  {line}\n"));
    text.to_owned() + &lines.collect::<String>()
}

/// What to type next, below the drawing.
fn foot(place: &Place) -> Vec<String> {
    let first = "Ctrl-C ends the drive and shows its figures. In another terminal:".to_owned();
    let commands = commands(place).into_iter().map(|line| format!("  {line}"));
    [first].into_iter().chain(commands).collect()
}

/// What a person types in another terminal to see the topics and to drive.
fn commands(place: &Place) -> Vec<String> {
    let program = std::env::args_os().next().unwrap_or_else(|| "runnel".into());
    let program = program.display();
    let twist = if matches!(place, Place::Ros2) { "geometry_msgs/msg/Twist" } else { "geometry_msgs/Twist" };
    let remark = place.remark().map(|remark| format!("# {remark}"));
    remark
        .into_iter()
        .chain(place.export())
        .chain([
            format!("{program} topic echo /light_sensors"),
            format!("{program} topic pub -r 10 /cmd_vel {twist} '{{linear: {{x: 0.2}}}}'"),
        ])
        .collect()
}

/// What the tracer does, in words.
pub fn stage_name(stage: Option<Stage>) -> &'static str {
    match stage {
        None => "waiting for the tracer",
        Some(Stage::AwaitFloor) => "pressing switch 1",
        Some(Stage::SampleFloor) => "sampling the floor",
        Some(Stage::AwaitLine) => "pressing switch 2",
        Some(Stage::SampleLine) => "sampling the line",
        Some(Stage::AwaitStart) => "pressing switch 3",
        Some(Stage::Follow) => "following the line",
    }
}

/// What moves the robot, in words.
pub fn activity(seen: &Seen) -> Cow<'_, str> {
    match &seen.driver {
        Some(node) => format!("driven by {node}").into(),
        None => stage_name(seen.stage).into(),
    }
}

/// A line for where lines do not change.
fn text(seen: &Seen) -> String {
    if seen.driver.is_some() {
        return activity(seen).into_owned();
    }
    if seen.stage != Some(Stage::Follow) {
        return stage_name(seen.stage).to_owned();
    }
    let Seen { lap, speed, .. } = seen;
    let (share, beside) = (percent(seen), millimetres(seen));
    let [sensors, commands] = rates(seen);
    format!(
        "lap {lap}: {share:>3} %, {speed:.2} m/s, {beside:.1} mm beside the line, sensors {sensors} Hz, commands {commands} Hz"
    )
}

fn percent(seen: &Seen) -> u32 {
    (seen.share * 100.0) as u32
}

fn millimetres(seen: &Seen) -> f64 {
    seen.deviation.abs() * 1e3
}

/// The rates, or dashes while they are not known.
fn rates(seen: &Seen) -> [String; 2] {
    seen.rates.map_or(["-".into(), "-".into()], |rates| rates.map(|hertz| format!("{hertz:.0}")))
}

#[cfg(test)]
impl Seen {
    /// A robot in the midst of its second lap, a little to the right of the line.
    pub(super) fn example() -> Self {
        Self {
            stage: Some(Stage::Follow),
            driver: None,
            lap: 2,
            laps: Some(3),
            share: 0.437,
            speed: 0.284,
            deviation: -0.00126,
            rates: Some([59.7, 60.2]),
            latencies: [Statistics::of(&[93_000, 210_000]), None],
            robot: Some(Pose { position: Point::new(0.3, 0.11), heading: 0.1 }),
            path: vec![Point::new(0.2, 0.11), Point::new(0.3, 0.11)],
            sensors: Some(LightSensors::from_row([500, 120, 110, 490])),
            switches: Some(Switches::default()),
            leds: Some(Leds::from_row([false, true, true, false])),
            buzzer: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_lap_speed_distance_and_rates() {
        let expected = "lap 2:  43 %, 0.28 m/s, 1.3 mm beside the line, sensors 60 Hz, commands 60 Hz";
        assert_eq!(text(&Seen::example()), expected);
        assert_eq!(text(&Seen { stage: Some(Stage::SampleLine), ..Seen::example() }), "sampling the line");
        assert_eq!(text(&Seen { driver: Some("/teleop".into()), ..Seen::example() }), "driven by /teleop");
        let unknown = text(&Seen { rates: None, ..Seen::example() });
        assert!(unknown.ends_with("1.3 mm beside the line, sensors - Hz, commands - Hz"), "{unknown}");
    }
}
