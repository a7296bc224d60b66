//! The progress of a drive: a screen on a terminal, lines otherwise.

use std::borrow::Cow;

use line_trace::geometry::{Point, Pose};
use line_trace::latency::Statistics;
use line_trace::signals::{Leds, LightSensors, Switches};
use line_trace::tracer::Stage;
use line_trace::track::Track;

use super::graph::DemoGraph;
use super::screen::{self, Screen};
use crate::error::CliError;
use crate::output::Output;

/// Lines per lap, if there is no screen.
const LINES_A_LAP: f64 = 5.0;

/// State of a drive, as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveState {
    /// What the tracer does, once known.
    pub stage: Option<Stage>,
    /// The node that drives instead of the tracer, if any.
    pub driver: Option<String>,
    /// The current lap, from 1.
    pub lap: u32,
    /// Laps to drive; `None` for no limit.
    pub laps: Option<u32>,
    /// Driven fraction of the lap, 0.0 to 1.0.
    pub lap_fraction: f64,
    /// Metres per second.
    pub speed: f64,
    /// Metres from the line, positive to the left.
    pub deviation: f64,
    /// Messages a second on `/light_sensors` and `/cmd_vel`, once known.
    pub rates: Option<[f64; 2]>,
    /// Latencies of the newest messages on the same topics, once there are any.
    pub latencies: [Option<Statistics>; 2],
    /// Where the robot is.
    pub robot: Option<Pose>,
    /// Its recent path.
    pub path: Vec<Point>,
    /// Values of its light sensors.
    pub sensors: Option<LightSensors>,
    /// Which switches are pressed.
    pub switches: Option<Switches>,
    /// Which LEDs are lit.
    pub leds: Option<Leds>,
    /// Frequency of the buzzer in hertz, 0 for silence.
    pub buzzer: i16,
}

/// Where and how the state is shown.
pub struct Display {
    output: Output,
    form: Form,
}

enum Form {
    /// Nothing, since a program reads only the final JSON.
    Silent,
    Screen(Box<Screen>),
    Lines {
        last: Option<Line>,
    },
}

/// A new line is printed when the driver, the stage, the lap or the part of it changes.
type Line = (Option<String>, Option<Stage>, u32, u32);

impl Display {
    /// A display on standard output: a screen if that is a terminal and `headless` is false.
    ///
    /// # Errors
    /// When standard output cannot be written; the same holds for all methods.
    pub fn begin(
        output: Output,
        headless: bool,
        track: (&Track, &str),
        graph: &DemoGraph,
    ) -> Result<Self, CliError> {
        let form = match (output.json, headless || !screen::can_be_drawn_on()) {
            (true, _) => Form::Silent,
            (false, true) => {
                output.text(&introduction(graph))?;
                Form::Lines { last: None }
            }
            (false, false) => {
                let (track, name) = track;
                let title = format!("Line tracer, track {name}");
                Form::Screen(Box::new(Screen::take(track, title, foot(graph))?))
            }
        };
        Ok(Self { output, form })
    }

    /// Shows this state.
    ///
    /// # Errors
    /// As [`Display::begin`].
    pub fn show(&mut self, state: &DriveState) -> Result<(), CliError> {
        match &mut self.form {
            Form::Silent => Ok(()),
            Form::Screen(screen) => Ok(screen.draw(state)?),
            Form::Lines { last } => {
                let part = (state.lap_fraction * LINES_A_LAP) as u32;
                let line = match &state.driver {
                    Some(driver) => (Some(driver.clone()), None, 0, 0),
                    None => (None, state.stage, state.lap, part),
                };
                if last.as_ref() == Some(&line) {
                    return Ok(());
                }
                *last = Some(line);
                self.output.line(&text(state))
            }
        }
    }
}

/// Text before the first line.
fn introduction(graph: &DemoGraph) -> String {
    let text = "A simulated Raspberry Pi Mouse follows a line. Robot and tracer are nodes in a\n\
                process each. In another terminal:\n";
    let lines = commands(graph).into_iter().map(|line| format!("  {line}\n"));
    text.to_owned() + &lines.collect::<String>()
}

/// Hints below the drawing.
fn foot(graph: &DemoGraph) -> Vec<String> {
    let first = "Ctrl-C ends the drive and shows its figures. In another terminal:".to_owned();
    let commands = commands(graph).into_iter().map(|line| format!("  {line}"));
    [first].into_iter().chain(commands).collect()
}

/// Commands to type in another terminal to see the topics and to drive.
fn commands(graph: &DemoGraph) -> Vec<String> {
    let program = std::env::args_os().next().unwrap_or_else(|| "runnel".into());
    let program = program.display();
    let twist =
        if matches!(graph, DemoGraph::Ros2) { "geometry_msgs/msg/Twist" } else { "geometry_msgs/Twist" };
    let remark = graph.remark().map(|remark| format!("# {remark}"));
    remark
        .into_iter()
        .chain(graph.export())
        .chain([
            format!("{program} topic echo /light_sensors"),
            format!("{program} topic pub -r 10 /cmd_vel {twist} '{{linear: {{x: 0.2}}}}'"),
        ])
        .collect()
}

/// What the tracer does, as text.
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

/// What moves the robot, as text.
pub fn activity(state: &DriveState) -> Cow<'_, str> {
    match &state.driver {
        Some(node) => format!("driven by {node}").into(),
        None => stage_name(state.stage).into(),
    }
}

/// One line about the state.
fn text(state: &DriveState) -> String {
    if state.driver.is_some() {
        return activity(state).into_owned();
    }
    if state.stage != Some(Stage::Follow) {
        return stage_name(state.stage).to_owned();
    }
    let DriveState { lap, speed, .. } = state;
    let (percent, deviation) = (percent(state), millimetres(state));
    let [sensors, commands] = rates(state);
    format!(
        "lap {lap}: {percent:>3} %, {speed:.2} m/s, {deviation:.1} mm from the line, sensors {sensors} Hz, commands {commands} Hz"
    )
}

fn percent(state: &DriveState) -> u32 {
    (state.lap_fraction * 100.0) as u32
}

fn millimetres(state: &DriveState) -> f64 {
    state.deviation.abs() * 1e3
}

/// The rates, or dashes while unknown.
fn rates(state: &DriveState) -> [String; 2] {
    state.rates.map_or(["-".into(), "-".into()], |rates| rates.map(|hertz| format!("{hertz:.0}")))
}

#[cfg(test)]
impl DriveState {
    /// A robot in its second lap, slightly right of the line.
    pub(super) fn example() -> Self {
        Self {
            stage: Some(Stage::Follow),
            driver: None,
            lap: 2,
            laps: Some(3),
            lap_fraction: 0.437,
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
    fn line_shows_lap_speed_distance_and_rates() {
        let expected = "lap 2:  43 %, 0.28 m/s, 1.3 mm from the line, sensors 60 Hz, commands 60 Hz";
        assert_eq!(text(&DriveState::example()), expected);
        assert_eq!(
            text(&DriveState { stage: Some(Stage::SampleLine), ..DriveState::example() }),
            "sampling the line"
        );
        assert_eq!(
            text(&DriveState { driver: Some("/teleop".into()), ..DriveState::example() }),
            "driven by /teleop"
        );
        let unknown = text(&DriveState { rates: None, ..DriveState::example() });
        assert!(unknown.ends_with("1.3 mm from the line, sensors - Hz, commands - Hz"), "{unknown}");
    }
}
