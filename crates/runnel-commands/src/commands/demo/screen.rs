//! The terminal as a screen: the track with the robot, and next to it the data of both nodes.

use std::io::{self, IsTerminal, Stdout};

use line_trace::geometry::{Point, Pose};
use line_trace::latency::Statistics;
use line_trace::signals::{Leds, LightSensors, Switches};
use line_trace::track::Track;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::canvas::{self, Canvas, Context, Points};
use ratatui::widgets::{Paragraph, Widget};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

use super::display::{DriveState, activity};
use crate::logging::{self, LogBuffer};

/// Rows of title and progress.
const HEAD: u16 = 2;
/// Rows of the gauges.
const BODY: u16 = 17;
/// Minimum rows of the hints below.
const FOOT: u16 = 5;
/// Columns of the gauges.
const GAUGES: u16 = 34;
/// The smallest part of the screen on which the track is drawn.
const SMALLEST: (u16, u16) = (24, 8);
/// Metres between two points of the drawn line.
const STRIDE: f64 = 0.004;
/// If two points of the path are farther apart than this, someone carried the robot. Metres.
const CARRIED: f64 = 0.1;
/// Cells of a sensor's bar.
const BAR: usize = 14;
/// The value of a full bar: more than the floor gives.
const BRIGHTEST: f64 = 600.0;

/// Disables a special character of the terminal.
const DISABLED: u8 = 0;

const FAINT: Style = Style::new().fg(Color::DarkGray);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// The terminal in the demo's mode, until this is dropped.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    picture: Picture,
    _mode: TerminalMode,
    // Dropped after the terminal is restored, so that lines logged meanwhile are visible.
    log: LogBuffer,
}

impl Screen {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn take(track: &Track, title: String, foot: Vec<String>) -> io::Result<Self> {
        let mode = TerminalMode::new()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Self {
            terminal,
            picture: Picture::new(track, title, foot),
            _mode: mode,
            log: logging::buffer_lines(),
        })
    }

    /// Draws the state in the current size of the terminal.
    ///
    /// # Errors
    /// As [`Screen::take`].
    pub fn draw(&mut self, state: &DriveState) -> io::Result<()> {
        let (picture, warning) = (&self.picture, self.log.warning());
        self.terminal
            .draw(|frame| picture.draw(state, warning.as_deref(), frame.area(), frame.buffer_mut()))?;
        Ok(())
    }
}

/// True if a person watches: standard output is a terminal, and the process is in the foreground.
pub fn is_terminal() -> bool {
    let in_front = |group| group == rustix::process::getpgrp();
    io::stdout().is_terminal() && tcgetpgrp(io::stdin()).is_ok_and(in_front)
}

/// True if the terminal can be drawn on: it is not a dumb one.
pub fn can_be_drawn_on() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    is_terminal() && !dumb
}

/// The terminal's alternate screen, without echo. Dropping it restores the terminal.
struct TerminalMode {
    before: Termios,
}

impl TerminalMode {
    /// Ctrl-C stays a signal. Ctrl-Z and Ctrl-\, which would leave the terminal in this mode, are disabled.
    fn new() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mode = Self { before };
        let mut quiet = mode.before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        quiet.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
        quiet.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
        tcsetattr(io::stdin(), OptionalActions::Now, &quiet)?;
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        Ok(mode)
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        // If the terminal is gone, nothing can be reported. Input typed meanwhile is discarded.
        let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

/// The content of the screen, independent of the terminal.
struct Picture {
    title: String,
    foot: Vec<String>,
    size: [f64; 2],
    line: Vec<(f64, f64)>,
}

impl Picture {
    fn new(track: &Track, title: String, foot: Vec<String>) -> Self {
        let steps = (track.course().length() / STRIDE) as u32;
        let along = (0..steps).map(|step| f64::from(step) * STRIDE);
        let drawn = along.filter(|progress| !track.gaps().iter().any(|gap| gap.contains(progress)));
        let line = drawn.map(|progress| coordinates(track.course().pose_at(progress).position)).collect();
        Self { title, foot, size: [track.settings().width, track.settings().height], line }
    }

    /// Draws the state. A warning replaces the last line of the hints.
    fn draw(&self, state: &DriveState, warning: Option<&str>, area: Rect, buffer: &mut Buffer) {
        let lines: Vec<String> = self.foot.iter().flat_map(|line| wrapped(line, area.width)).collect();
        let left = area.height.saturating_sub(HEAD + BODY).max(FOOT);
        let height = left.min(u16::try_from(lines.len()).unwrap_or(u16::MAX));
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(HEAD), Constraint::Min(0), Constraint::Length(height)])
                .areas(area);
        Paragraph::new(vec![self.headline(state, head.width), progress_line(state, head.width)])
            .render(head, buffer);
        let fits = body.width >= SMALLEST.0 + GAUGES && body.height >= SMALLEST.1;
        let track = if fits { body.width - GAUGES } else { 0 };
        let [left, right] = Layout::horizontal([Constraint::Length(track), Constraint::Min(0)]).areas(body);
        if fits {
            self.draw_track(state, left, buffer);
        }
        Paragraph::new(gauges(state)).render(right, buffer);
        let mut lines: Vec<Line<'_>> =
            lines.into_iter().take(foot.height.into()).map(|line| Line::styled(line, FAINT)).collect();
        if let (Some(warning), Some(last)) = (warning, lines.last_mut()) {
            *last = Line::styled(warning, Color::Yellow);
        }
        Paragraph::new(lines).render(foot, buffer);
    }

    /// The title and the stage of the drive; without the title if there is no space for both.
    fn headline(&self, state: &DriveState, width: u16) -> Line<'_> {
        let of = state.laps.map_or(String::new(), |laps| format!(" of {laps}"));
        let stage = format!("lap {}{of}, {}", state.lap, activity(state));
        let both = format!("  {stage}");
        match self.title.chars().count() + both.chars().count() <= usize::from(width) {
            true => Line::from(vec![Span::styled(self.title.as_str(), BOLD), Span::raw(both)]),
            false => Line::raw(stage),
        }
    }

    fn draw_track(&self, state: &DriveState, area: Rect, buffer: &mut Buffer) {
        let [x, y] = bounds(self.size, area);
        let canvas = Canvas::default().marker(Marker::Braille).x_bounds(x).y_bounds(y);
        canvas.paint(|context| self.paint(state, context)).render(area, buffer);
    }

    fn paint(&self, state: &DriveState, context: &mut Context<'_>) {
        context.draw(&Points { coords: &self.line, color: Color::DarkGray });
        context.layer();
        let steps = state.path.array_windows().filter(|[from, to]| from.distance(*to) < CARRIED);
        for [from, to] in steps {
            context.draw(&canvas::Line::new(from.x, from.y, to.x, to.y, Color::Cyan));
        }
        if let Some(robot) = state.robot {
            context.layer();
            let (x, y) = coordinates(robot.position);
            context.print(x, y, Span::styled(arrow(robot), BOLD.fg(Color::Magenta)));
        }
    }
}

/// A line split at spaces into pieces of at most `width` columns; later pieces are indented like the first.
fn wrapped(line: &str, width: u16) -> Vec<String> {
    let width = usize::from(width).max(1);
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    let mut pieces = vec![indent.to_owned()];
    for word in text.split(' ') {
        let is_first = pieces.last().is_some_and(|piece| piece.trim().is_empty());
        let long = pieces.last().map_or(0, |piece| piece.chars().count()) + 1 + word.chars().count();
        match pieces.last_mut() {
            Some(piece) if is_first => piece.push_str(word),
            Some(piece) if long <= width => *piece += &format!(" {word}"),
            _ => pieces.push(format!("{indent}{word}")),
        }
    }
    pieces
}

fn coordinates(point: Point) -> (f64, f64) {
    (point.x, point.y)
}

/// The bounds of the canvas: all of the floor is visible, and a metre has the same length in both directions. A cell
/// has two by four dots at equal distances.
fn bounds([width, height]: [f64; 2], area: Rect) -> [[f64; 2]; 2] {
    let (across, up) = (f64::from(area.width) * 2.0, f64::from(area.height) * 4.0);
    let dot = (width / across).max(height / up);
    let about = |middle: f64, dots: f64| [middle - dots * dot / 2.0, middle + dots * dot / 2.0];
    [about(width / 2.0, across), about(height / 2.0, up)]
}

/// An arrow in the robot's direction.
fn arrow(Pose { heading, .. }: Pose) -> &'static str {
    const ARROWS: [&str; 8] = ["→", "↗", "↑", "↖", "←", "↙", "↓", "↘"];
    let eighth = (heading / std::f64::consts::FRAC_PI_4).round() as i64;
    ARROWS[eighth.rem_euclid(8) as usize]
}

fn progress_line(state: &DriveState, width: u16) -> Line<'static> {
    let cells = usize::from(width).saturating_sub(6);
    let done = (state.lap_fraction * cells as f64) as usize;
    let percent = (state.lap_fraction * 100.0) as u32;
    Line::from(vec![
        Span::styled("━".repeat(done), Style::new().fg(Color::Cyan)),
        Span::styled("─".repeat(cells - done.min(cells)), FAINT),
        Span::raw(format!(" {percent:>3} %")),
    ])
}

/// The gauges, line by line.
fn gauges(state: &DriveState) -> Vec<Line<'static>> {
    let mut lines = vec![Line::raw("")];
    lines.extend(sensor_lines(state.sensors));
    lines.push(Line::raw(""));
    lines.push(dots(
        "switches",
        state.switches.map(|Switches { switch0, switch1, switch2 }| [switch0, switch1, switch2]),
    ));
    lines.push(dots("leds", state.leds.map(|Leds { led0, led1, led2, led3 }| [led0, led1, led2, led3])));
    let buzzer = if state.buzzer > 0 { format!("{} Hz", state.buzzer) } else { "silent".into() };
    lines.push(value_line("buzzer", buzzer));
    lines.push(Line::raw(""));
    lines.push(value_line("speed", format!("{:.2} m/s", state.speed)));
    let side = if state.deviation < 0.0 { "right" } else { "left" };
    lines.push(value_line("line offset", format!("{:>4.1} mm {side}", state.deviation.abs() * 1e3)));
    lines.push(Line::raw(""));
    lines.push(Line::styled(row("topic", "Hz", "p50 us", "p99 us"), FAINT));
    for (index, topic) in ["/light_sensors", "/cmd_vel"].into_iter().enumerate() {
        lines.push(topic_line(topic, state.rates.map(|rates| rates[index]), state.latencies[index]));
    }
    lines
}

fn sensor_lines(sensors: Option<LightSensors>) -> Vec<Line<'static>> {
    let values = sensors.map(LightSensors::row);
    let names = ["forward_r", "right", "left", "forward_l"];
    let line = |(index, name): (usize, &str)| {
        let value = values.map(|row| row[index]);
        let cells = (f64::from(value.unwrap_or(0)) / BRIGHTEST * BAR as f64).clamp(0.0, BAR as f64) as usize;
        let text = value.map_or("-".to_owned(), |value| value.to_string());
        Line::from(vec![
            Span::styled(format!("  {name:<11} "), FAINT),
            Span::styled("█".repeat(cells), Style::new().fg(Color::Yellow)),
            Span::raw(format!("{}{text:>5}", " ".repeat(BAR - cells))),
        ])
    };
    names.into_iter().enumerate().map(line).collect()
}

fn dots<const N: usize>(name: &str, on: Option<[bool; N]>) -> Line<'static> {
    let dot = |on: bool| {
        if on { Span::styled("● ", Style::new().fg(Color::Red)) } else { Span::styled("○ ", FAINT) }
    };
    let name = Span::styled(format!("  {name:<11} "), FAINT);
    match on {
        Some(on) => Line::from_iter([name].into_iter().chain(on.map(dot))),
        None => Line::from(vec![name, Span::raw("-")]),
    }
}

fn value_line(name: &str, value: String) -> Line<'static> {
    Line::from(vec![Span::styled(format!("  {name:<11} "), FAINT), Span::raw(value)])
}

fn topic_line(topic: &str, rate: Option<f64>, latency: Option<Statistics>) -> Line<'static> {
    let rate = rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
    let [median, p99] = latency.map_or(["-".to_owned(), "-".to_owned()], |of| {
        [of.median, of.p99].map(|latency| format!("{latency:.0}"))
    });
    Line::raw(row(topic, &rate, &median, &p99))
}

fn row(topic: &str, rate: &str, median: &str, p99: &str) -> String {
    format!("  {topic:<14}{rate:>4}{median:>7}{p99:>7}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a screen of this size.
    fn drawn(width: u16, height: u16) -> Vec<String> {
        drawn_with(None, width, height)
    }

    fn drawn_with(warning: Option<&str>, width: u16, height: u16) -> Vec<String> {
        let track = Track::demonstration().unwrap();
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let foot = [
            "Ctrl-C ends it. In another terminal:",
            "  export ROS_MASTER_URI=http://127.0.0.1:40001",
            "  runnel topic pub -r 10 /cmd_vel geometry_msgs/Twist '{linear: {x: 0.2}}'",
        ];
        let picture = Picture::new(&track, "track course".into(), foot.map(str::to_owned).into());
        picture.draw(&DriveState::example(), warning, area, &mut buffer);
        let cells = |row: u16| (0..width).map(move |column| (column, row));
        (0..height)
            .map(|row| cells(row).map(|cell| buffer[cell].symbol().to_owned()).collect::<String>())
            .collect()
    }

    #[test]
    fn screen_of_80_columns_shows_track_and_gauges() {
        let lines = drawn(80, 24);
        assert!(lines[0].starts_with("track course  lap 2 of 3, following the line"), "{}", lines[0]);
        assert!(lines[1].ends_with(" 43 %") && lines[1].starts_with("━━━"), "{}", lines[1]);
        let all = lines.join("\n");
        for part in ["forward_r", "500", "○ ● ● ○", "silent", "0.28 m/s", "1.3 mm right", "→", "Ctrl-C"]
        {
            assert!(all.contains(part), "{part}:\n{all}");
        }
        let line = lines.iter().find(|line| line.contains("/light_sensors")).unwrap();
        assert_eq!(line.split_whitespace().rev().take(3).collect::<Vec<_>>(), ["210", "93", "60"], "{all}");
        let braille = |line: &&String| line.chars().any(|cell| ('\u{2801}'..='\u{28ff}').contains(&cell));
        assert!(lines.iter().filter(braille).count() >= 10, "{all}");
    }

    #[test]
    fn newest_warning_is_in_the_last_line() {
        let lines = drawn_with(Some("[WARN] the wheels are off"), 80, 24);
        assert_eq!(lines[23].trim_end(), "[WARN] the wheels are off");
    }

    #[test]
    fn narrow_screen_shows_every_command_whole() {
        let lines = drawn(50, 12);
        assert_eq!(lines[8].trim_end(), "Ctrl-C ends it. In another terminal:");
        assert_eq!(lines[9].trim_end(), "  export ROS_MASTER_URI=http://127.0.0.1:40001");
        assert_eq!(lines[11].trim_end(), "  geometry_msgs/Twist '{linear: {x: 0.2}}'");
        assert!(drawn(36, 12)[0].starts_with("lap 2 of 3, following the line"), "no space for the title");
        let lines = drawn(50, 30);
        assert_eq!(lines[28].trim_end(), "  runnel topic pub -r 10 /cmd_vel");
        assert_eq!(lines[29].trim_end(), "  geometry_msgs/Twist '{linear: {x: 0.2}}'");
    }

    #[test]
    fn small_screen_is_drawn_without_the_track() {
        for (width, height) in [(0, 0), (1, 1), (20, 5), (57, 30), (80, 9), (200, 60), (500, 200)] {
            let _ = drawn(width, height);
        }
        let narrow = drawn(50, 24).join("\n");
        assert!(narrow.contains("forward_r") && !narrow.contains('→'), "{narrow}");
    }

    #[test]
    fn canvas_shows_the_floor_without_distortion() {
        for area in [Rect::new(0, 0, 40, 20), Rect::new(0, 0, 160, 20), Rect::new(0, 0, 30, 60)] {
            let [x, y] = bounds([1.2, 0.9], area);
            let across = (x[1] - x[0]) / f64::from(area.width * 2);
            let up = (y[1] - y[0]) / f64::from(area.height * 4);
            assert!((across - up).abs() < 1e-9, "{area:?}");
            assert!(x[0] <= 1e-9 && x[1] >= 1.2 - 1e-9 && y[0] <= 1e-9 && y[1] >= 0.9 - 1e-9, "{area:?}");
        }
    }

    #[test]
    fn arrow_points_in_the_robots_direction() {
        let towards =
            |degrees: f64| arrow(Pose { position: Point::default(), heading: degrees.to_radians() });
        assert_eq!(
            [0.0, 44.0, 90.0, 180.0, -180.0, -90.0, -30.0].map(towards),
            ["→", "↗", "↑", "←", "←", "↓", "↘"]
        );
    }
}
