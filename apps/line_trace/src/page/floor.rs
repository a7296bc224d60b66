//! Drawing of the floor from above: the line, the driven path coloured by speed, the start and a scale.

use crate::geometry::{Point, Pose};
use crate::progress::PathPoint;
use crate::track::Track;
use std::fmt::Write;

/// Units per metre of floor.
const SCALE: f64 = 600.0;
/// Space below the floor for the scale and the colour legend.
const BELOW: f64 = 44.0;
/// Distance between two points of the drawn line, metres.
const STRIDE: f64 = 0.005;
/// Colour steps between slow and fast.
const SHADES: usize = 16;
/// Speeds of the colour scale end at multiples of this, metres per second.
const SPEED_TICK: f64 = 0.05;

/// The drawing of a path on its track, with the legend of its speeds.
pub fn svg(track: &Track, path: &[PathPoint]) -> String {
    let settings = track.settings();
    let (width, height) = (settings.width * SCALE, settings.height * SCALE);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {}\" role=\"img\" aria-label=\"the driven path over the line, seen from above\">\n\
         <rect class=\"floor\" width=\"{width}\" height=\"{height}\"/>\n",
        height + BELOW
    );
    let frame = Frame { height };
    draw_line(&mut svg, frame, track);
    let speeds = Speeds::of(path);
    draw_path(&mut svg, frame, path, speeds);
    draw_start(&mut svg, frame, track.course().pose_at(0.0));
    draw_scale(&mut svg, height);
    draw_colours(&mut svg, (width, height), speeds);
    svg.push_str("</svg>\n");
    svg
}

/// Transformation from floor to drawing.
#[derive(Clone, Copy)]
struct Frame {
    height: f64,
}

impl Frame {
    fn place(self, point: Point) -> String {
        format!("{:.1},{:.1}", point.x * SCALE, self.height - point.y * SCALE)
    }
}

/// The range of speeds that the colours show. Slower speeds have the colour of the low end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Speeds {
    low: f64,
    high: f64,
}

impl Speeds {
    /// The range without the slowest twentieth, so that the start does not take up half of the colours.
    fn of(path: &[PathPoint]) -> Self {
        let mut speeds: Vec<f64> = path.iter().map(|point| point.speed).collect();
        speeds.sort_by(f64::total_cmp);
        let slow = speeds.get(speeds.len() / 20).copied().unwrap_or(0.0);
        let fast = speeds.last().copied().unwrap_or(0.0);
        let low = (slow / SPEED_TICK + 1e-6).floor() * SPEED_TICK;
        let high = (fast / SPEED_TICK - 1e-6).ceil() * SPEED_TICK;
        Self { low, high: high.max(low + SPEED_TICK) }
    }

    fn shade(self, speed: f64) -> usize {
        let share = ((speed - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        (share * (SHADES - 1) as f64).round() as usize
    }
}

/// The style sheet's variable of a shade.
fn colour(shade: usize) -> String {
    let percent = shade * 100 / (SHADES - 1);
    format!("color-mix(in oklab, var(--fast) {percent}%, var(--slow))")
}

/// Draws the line without its gaps.
fn draw_line(svg: &mut String, frame: Frame, track: &Track) {
    let width = track.settings().line_width * SCALE;
    let steps = (track.course().length() / STRIDE).ceil() as u32;
    let mut piece = String::new();
    let mut end = |piece: &mut String| {
        if !piece.is_empty() {
            let _ = writeln!(
                svg,
                "<polyline class=\"line\" stroke-width=\"{width:.1}\" points=\"{}\"/>",
                piece.trim()
            );
            piece.clear();
        }
    };
    for step in 0..=steps {
        let progress = (f64::from(step) * STRIDE).min(track.course().length());
        if track.gaps().iter().any(|gap| gap.contains(&progress)) {
            end(&mut piece);
        } else {
            let _ = write!(piece, " {}", frame.place(track.course().pose_at(progress).position));
        }
    }
    end(&mut piece);
}

/// Draws one polyline per run of equal shade, each beginning at the last point of the run before.
fn draw_path(svg: &mut String, frame: Frame, path: &[PathPoint], speeds: Speeds) {
    let mut last: Option<&PathPoint> = None;
    for run in path.chunk_by(|a, b| speeds.shade(a.speed) == speeds.shade(b.speed)) {
        let points = last.into_iter().chain(run).map(|point| frame.place(point.position));
        let points = points.collect::<Vec<_>>().join(" ");
        let colour = colour(speeds.shade(run[0].speed));
        let _ = writeln!(svg, "<polyline class=\"path\" style=\"stroke:{colour}\" points=\"{points}\"/>");
        last = run.last();
    }
}

/// Draws a bar across the line, with an arrow in the direction of travel.
fn draw_start(svg: &mut String, frame: Frame, start: Pose) {
    let [left, right, tip] = [(0.0, 0.03), (0.0, -0.03), (0.035, 0.0)]
        .map(|(ahead, aside)| frame.place(start.offset(ahead, aside)));
    let _ = writeln!(
        svg,
        "<polygon class=\"start\" points=\"{left} {right} {tip}\"><title>start</title></polygon>"
    );
}

fn draw_scale(svg: &mut String, height: f64) {
    let (length, y) = (0.1 * SCALE, height + 18.0);
    let _ = writeln!(svg, "<path class=\"axis\" d=\"M2 {}V{y}H{}V{}\"/>", y - 6.0, 2.0 + length, y - 6.0);
    let _ = writeln!(svg, "<text class=\"figure\" x=\"2\" y=\"{}\">100 mm</text>", y + 18.0);
}

fn draw_colours(svg: &mut String, (width, height): (f64, f64), Speeds { low, high }: Speeds) {
    let (cell, y) = (12.0, height + 12.0);
    let left = width - cell * SHADES as f64;
    for shade in 0..SHADES {
        let x = left + cell * shade as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{cell}\" height=\"10\" style=\"fill:{}\"/>",
            colour(shade)
        );
    }
    let y = y + 26.0;
    let _ = writeln!(svg, "<text class=\"figure\" x=\"{left}\" y=\"{y}\">{low:.2} m/s</text>");
    let _ = writeln!(
        svg,
        "<text class=\"figure\" x=\"{width}\" y=\"{y}\" text-anchor=\"end\">{high:.2} m/s</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::TRACKS;

    fn point(x: f64, speed: f64) -> PathPoint {
        PathPoint { position: Point::new(x, 0.3), speed, ..PathPoint::default() }
    }

    #[test]
    fn line_is_drawn_without_its_gaps() {
        let lines = |name: &str| {
            let (_, text) = TRACKS.iter().find(|(known, _)| *known == name).unwrap();
            svg(&Track::parse(text).unwrap(), &[]).matches("class=\"line\"").count()
        };
        assert_eq!((lines("oval"), lines("gap")), (1, 3));
    }

    #[test]
    fn colours_omit_slowest_and_end_at_round_speeds() {
        let mut path = vec![point(0.0, 0.0); 2];
        path.extend((0..98).map(|index| point(0.01 * f64::from(index), 0.21 + 0.001 * f64::from(index))));
        let speeds = Speeds::of(&path);
        assert!((speeds.low - 0.2).abs() < 1e-9 && (speeds.high - 0.35).abs() < 1e-9, "{speeds:?}");
        assert_eq!((speeds.shade(0.0), speeds.shade(0.2), speeds.shade(9.0)), (0, 0, SHADES - 1));
    }

    #[test]
    fn runs_of_one_shade_are_connected() {
        let track = Track::demonstration().unwrap();
        let path = [point(0.1, 0.2), point(0.2, 0.2), point(0.3, 0.3), point(0.4, 0.3)];
        let drawn = svg(&track, &path);
        let runs: Vec<&str> = drawn.lines().filter(|line| line.contains("class=\"path\"")).collect();
        assert_eq!(runs.len(), 2, "{drawn}");
        assert!(runs[0].contains("points=\"60.0,360.0 120.0,360.0\""), "{}", runs[0]);
        assert!(runs[1].contains("points=\"120.0,360.0 180.0,360.0 240.0,360.0\""), "{}", runs[1]);
    }
}
