//! How far the drive has come: a line that changes on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use line_trace::nodes::LIGHT_SENSORS;
use line_trace::tracer::Stage;
use runnel::ros1::rpc::Uri;
use rustix::termios::tcgetwinsize;

use crate::error::CliError;
use crate::output::Output;

/// A lap in units of the bar.
const LAP: u64 = 1000;

/// Lines for each lap, where lines do not change.
const LINES_A_LAP: f64 = 5.0;

/// Width of the longest name of a stage.
const STAGE_WIDTH: usize = 23;

/// Columns of a terminal in which figures are told with what they are.
const WIDE: u16 = 130;

/// Columns of a terminal in which no figures but one have room beside the bar.
const NARROW: u16 = 70;

/// What the figures beside the bar are.
const LEGEND: &str = "\
Below: how much of the lap is driven, how fast, how far beside the line, and\n\
how often /light_sensors and /cmd_vel come.\n";

/// What is to be seen of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// What the tracer does, once it has shown.
    pub stage: Option<Stage>,
    /// The present lap, 1 for the first.
    pub lap: u32,
    /// Laps to drive.
    pub laps: u32,
    /// Share of the lap that is driven, 0.0 to 1.0.
    pub share: f64,
    /// Metres per second.
    pub speed: f64,
    /// Metres beside the line, positive to the left.
    pub deviation: f64,
    /// Messages a second of `/light_sensors` and `/cmd_vel`, once they are known.
    pub rates: Option<[f64; 2]>,
}

/// Where it is shown.
pub struct Display {
    output: Output,
    form: Form,
}

enum Form {
    /// A program reads the answer alone.
    Silent,
    Bar(ProgressBar),
    Lines {
        last: Option<Line>,
    },
}

/// What makes a new line: another stage, another lap, another part of it.
type Line = (Option<Stage>, u32, u32);

impl Display {
    /// A display on standard output.
    pub fn new(output: Output) -> Self {
        let form = match (output.json, io::stdout().is_terminal()) {
            (true, _) => Form::Silent,
            (false, true) => Form::Bar(bar()),
            (false, false) => Form::Lines { last: None },
        };
        Self { output, form }
    }

    /// Says what is about to be seen.
    ///
    /// # Errors
    /// When standard output cannot be written, as all of these.
    pub fn begin(&self, master: &Uri) -> Result<(), CliError> {
        let program = std::env::args().next().unwrap_or_else(|| "runnel".into());
        let text = format!(
            "A simulated Raspberry Pi Mouse traces a line: robot and tracer are nodes in a\n\
             process each, and their master is in this one. To look on from elsewhere:\n\
             ROS_MASTER_URI={master} {program} topic echo {LIGHT_SENSORS}\n"
        );
        match &self.form {
            Form::Silent => Ok(()),
            Form::Lines { .. } => self.output.text(&text),
            Form::Bar(_) if room() == Room::Middling => self.output.text(&format!("{text}{LEGEND}\n")),
            Form::Bar(_) => self.output.text(&format!("{text}\n")),
        }
    }

    /// Shows this.
    ///
    /// # Errors
    /// As [`Display::begin`].
    pub fn show(&mut self, seen: &Seen) -> Result<(), CliError> {
        match &mut self.form {
            Form::Silent => Ok(()),
            Form::Bar(bar) => {
                show_on(bar, seen);
                Ok(())
            }
            Form::Lines { last } => {
                let line = (seen.stage, seen.lap, (seen.share * LINES_A_LAP) as u32);
                if last.replace(line) == Some(line) { Ok(()) } else { self.output.line(&text(seen)) }
            }
        }
    }

    /// Takes away what was shown for the moment.
    pub fn end(&self) {
        if let Form::Bar(bar) = &self.form {
            bar.finish_and_clear();
        }
    }
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

fn bar() -> ProgressBar {
    let template = format!("{{msg:{STAGE_WIDTH}}} [{{wide_bar}}] {{prefix}}");
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(LAP), ProgressDrawTarget::stdout());
    bar.with_message(stage_name(None)).with_style(style.progress_chars("=> "))
}

fn show_on(bar: &ProgressBar, seen: &Seen) {
    bar.set_prefix(match room() {
        Room::Wide => wide_figures(seen),
        Room::Middling => figures(seen),
        Room::Narrow => format!("{:>3}%", percent(seen)),
    });
    bar.set_message(stage_name(seen.stage));
    bar.set_position((seen.share * LAP as f64) as u64);
}

/// How much room there is beside the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Narrow,
    Middling,
    Wide,
}

impl Room {
    fn of(columns: u16) -> Self {
        match columns {
            // A terminal that does not say how wide it is.
            0 => Self::Middling,
            1..NARROW => Self::Narrow,
            WIDE.. => Self::Wide,
            _ => Self::Middling,
        }
    }
}

/// The room in the terminal at the moment.
fn room() -> Room {
    tcgetwinsize(io::stdout()).map_or(Room::Middling, |size| Room::of(size.ws_col))
}

/// The figures beside the bar.
fn figures(seen: &Seen) -> String {
    let lap = if seen.laps > 1 { format!("{}/{} ", seen.lap, seen.laps) } else { String::new() };
    let (share, beside) = (percent(seen), millimetres(seen));
    let [sensors, commands] = rates(seen);
    format!("{lap}{share:>3}%  {:.2} m/s {beside:>4.1} mm  {sensors:>3}, {commands:>3} Hz", seen.speed)
}

/// The same where there is room to say what they are.
fn wide_figures(seen: &Seen) -> String {
    let Seen { lap, laps, speed, .. } = seen;
    let (share, beside) = (percent(seen), millimetres(seen));
    let [sensors, commands] = rates(seen);
    format!(
        "{share:>3} % of lap {lap}/{laps}  {speed:.2} m/s  {beside:>4.1} mm beside the line  \
         /light_sensors {sensors:>3} Hz  /cmd_vel {commands:>3} Hz"
    )
}

/// A line for where lines do not change.
fn text(seen: &Seen) -> String {
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
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen {
            stage: Some(Stage::Follow),
            lap: 2,
            laps: 3,
            share: 0.437,
            speed: 0.284,
            deviation: -0.00126,
            rates: Some([99.7, 100.2]),
        }
    }

    #[test]
    fn a_line_says_lap_speed_distance_and_rates() {
        let expected = "lap 2:  43 %, 0.28 m/s, 1.3 mm beside the line, sensors 100 Hz, commands 100 Hz";
        assert_eq!(text(&seen()), expected);
        assert_eq!(text(&Seen { stage: Some(Stage::SampleLine), ..seen() }), "sampling the line");
        let unknown = text(&Seen { rates: None, ..seen() });
        assert!(unknown.ends_with("1.3 mm beside the line, sensors - Hz, commands - Hz"), "{unknown}");
    }

    #[test]
    fn the_figures_beside_the_bar_keep_their_places() {
        assert_eq!(figures(&seen()), "2/3  43%  0.28 m/s  1.3 mm  100, 100 Hz");
        let other = Seen { share: 1.0, deviation: 0.0123, rates: None, ..seen() };
        assert_eq!(figures(&other), "2/3 100%  0.28 m/s 12.3 mm    -,   - Hz");
        assert_eq!(figures(&Seen { laps: 1, ..seen() }), " 43%  0.28 m/s  1.3 mm  100, 100 Hz");
    }

    #[test]
    fn a_wide_terminal_is_told_what_the_figures_are_and_keeps_room_for_the_bar() {
        let wide = wide_figures(&seen());
        let expected =
            " 43 % of lap 2/3  0.28 m/s   1.3 mm beside the line  /light_sensors 100 Hz  /cmd_vel 100 Hz";
        assert_eq!(wide, expected);
        assert!(STAGE_WIDTH + wide.len() + 10 < usize::from(WIDE));
    }

    #[test]
    fn what_stands_beside_the_bar_has_room() {
        assert_eq!([0, 40, 69, 70, 129, 130].map(Room::of), {
            use Room::{Middling, Narrow, Wide};
            [Middling, Narrow, Narrow, Middling, Middling, Wide]
        });
        let longest = Seen { share: 1.0, deviation: 0.0123, ..seen() };
        assert!(STAGE_WIDTH + figures(&longest).len() + 4 <= usize::from(NARROW));
    }

    #[test]
    fn every_stage_fits_before_the_bar() {
        let stages = [
            Stage::AwaitFloor,
            Stage::SampleFloor,
            Stage::AwaitLine,
            Stage::SampleLine,
            Stage::AwaitStart,
            Stage::Follow,
        ];
        let names = stages.map(Some).into_iter().chain([None]).map(stage_name);
        assert!(names.clone().all(|name| name.len() <= STAGE_WIDTH), "{:?}", names.collect::<Vec<_>>());
    }
}
