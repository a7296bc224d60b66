//! A picture of a drive: the track, the path over it coloured by speed, the start, and a scale.

mod canvas;
mod glyphs;

use crate::geometry::{Point, Pose};
use crate::track::{FLOOR, LINE, Track};
use canvas::{Canvas, Colour, Spot, mix, text_width};
use std::io::{self, Write};

/// Pixels for a metre of floor.
const SCALE: f64 = 1000.0;
/// Pixels left and right of the floor, above it and below it.
const SIDE: f64 = 40.0;
const ABOVE: f64 = 104.0;
const BELOW: f64 = 76.0;

const PAPER: Colour = [255, 255, 255];
const FLOOR_COLOUR: Colour = [246, 245, 241];
/// Lighter than the real line, so that the path stands out on it.
const LINE_COLOUR: Colour = [196, 199, 204];
const FRAME: Colour = [205, 205, 200];
const INK: Colour = [40, 42, 48];
const FAINT_INK: Colour = [96, 100, 108];
const START: Colour = [10, 120, 85];
/// From slow to fast.
const RAMP: [Colour; 3] = [[52, 24, 140], [205, 30, 105], [245, 140, 10]];

/// Speeds of the colour scale end at multiples of this, metres per second.
const SPEED_TICK: f64 = 0.05;

/// One point of a driven path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathPoint {
    /// Where.
    pub position: Point,
    /// How fast, metres per second.
    pub speed: f64,
}

/// Draws `path` over `track` and writes it as PNG. The title stands above it, with `detail` below the title in
/// smaller letters.
///
/// # Errors
/// Those of the writer.
pub fn write_png(
    track: &Track,
    path: &[PathPoint],
    title: &str,
    detail: &str,
    writer: impl Write,
) -> io::Result<()> {
    draw(track, path, title, detail).write_png(writer)
}

fn draw(track: &Track, path: &[PathPoint], title: &str, detail: &str) -> Canvas {
    let frame = Frame { height: track.settings().height };
    let width = track.settings().width * SCALE + 2.0 * SIDE;
    let height = track.settings().height * SCALE + ABOVE + BELOW;
    let mut canvas = Canvas::new(width as usize, height as usize, PAPER);
    let speeds = SpeedScale::of(path);
    draw_floor(&mut canvas, frame, track);
    draw_path(&mut canvas, frame, path, speeds);
    draw_start(&mut canvas, frame, track.course().pose_at(0.0));
    canvas.text((SIDE, 46.0), 3.6, title, INK);
    canvas.text((SIDE, 84.0), 2.4, detail, FAINT_INK);
    draw_scale_bar(&mut canvas);
    if !path.is_empty() {
        draw_speeds(&mut canvas, speeds);
    }
    canvas
}

/// Where the floor lies on the canvas.
#[derive(Clone, Copy)]
struct Frame {
    /// Metres of floor from bottom to top.
    height: f64,
}

impl Frame {
    fn spot(self, point: Point) -> Spot {
        (SIDE + point.x * SCALE, ABOVE + (self.height - point.y) * SCALE)
    }

    fn point(self, (x, y): Spot) -> Point {
        Point::new((x - SIDE) / SCALE, self.height - (y - ABOVE) / SCALE)
    }
}

/// The range of speeds that the colours show. What is slower than its low end has the colour of the low end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SpeedScale {
    low: f64,
    high: f64,
}

impl SpeedScale {
    /// The range of all but the slowest twentieth, so that setting off does not take up half of the colours.
    fn of(path: &[PathPoint]) -> Self {
        let mut speeds: Vec<f64> = path.iter().map(|point| point.speed).collect();
        speeds.sort_by(f64::total_cmp);
        let slow = speeds.get(speeds.len() / 20).copied().unwrap_or(0.0);
        let fast = speeds.last().copied().unwrap_or(0.0);
        let low = (slow / SPEED_TICK + 1e-6).floor() * SPEED_TICK;
        let high = (fast / SPEED_TICK - 1e-6).ceil() * SPEED_TICK;
        Self { low, high: high.max(low + SPEED_TICK) }
    }

    fn colour(self, speed: f64) -> Colour {
        ramp((speed - self.low) / (self.high - self.low))
    }
}

fn ramp(share: f64) -> Colour {
    let [slow, middle, fast] = RAMP;
    let share = 2.0 * share.clamp(0.0, 1.0);
    if share < 1.0 { mix(slow, middle, share) } else { mix(middle, fast, share - 1.0) }
}

fn draw_floor(canvas: &mut Canvas, frame: Frame, track: &Track) {
    let (left, right) = (SIDE as usize, canvas.width() - SIDE as usize);
    let (top, bottom) = (ABOVE as usize, canvas.height() - BELOW as usize);
    for row in top..bottom {
        for column in left..right {
            let brightness = track.sample(frame.point((column as f64 + 0.5, row as f64 + 0.5)));
            let share = (brightness - f64::from(LINE)) / f64::from(FLOOR - LINE);
            canvas.set(column, row, mix(LINE_COLOUR, FLOOR_COLOUR, share));
        }
    }
    let [left, right, top, bottom] = [left, right, top, bottom].map(|edge| edge as f64);
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    canvas.polyline(&corners, 1.0, FRAME);
}

fn draw_path(canvas: &mut Canvas, frame: Frame, path: &[PathPoint], speeds: SpeedScale) {
    for pair in path.windows(2) {
        let (from, to) = (frame.spot(pair[0].position), frame.spot(pair[1].position));
        canvas.stroke(from, to, 4.0, speeds.colour(pair[1].speed));
    }
}

/// A bar across the line, an arrow beside it in the direction of travel, and a word.
fn draw_start(canvas: &mut Canvas, frame: Frame, start: Pose) {
    let spot = |ahead, left| frame.spot(start.offset(ahead, left));
    canvas.stroke(spot(0.0, 0.022), spot(0.0, -0.022), 3.0, START);
    canvas.stroke(spot(0.0, -0.030), spot(0.05, -0.030), 2.5, START);
    canvas.polyline(&[spot(0.038, -0.022), spot(0.05, -0.030), spot(0.038, -0.038)], 2.5, START);
    canvas.centred_text(spot(0.0, -0.066), 2.6, "start", START);
}

fn draw_scale_bar(canvas: &mut Canvas) {
    let y = canvas.height() as f64 - 28.0;
    let (left, right) = (SIDE, SIDE + 0.1 * SCALE);
    canvas.stroke((left, y), (right, y), 2.0, INK);
    canvas.stroke((left, y - 6.0), (left, y + 6.0), 2.0, INK);
    canvas.stroke((right, y - 6.0), (right, y + 6.0), 2.0, INK);
    canvas.text((right + 14.0, y + 7.0), 2.4, "100 mm", INK);
}

/// The colours with the speeds at their ends, at the lower right.
fn draw_speeds(canvas: &mut Canvas, speeds: SpeedScale) {
    const LENGTH: usize = 220;
    let y = canvas.height() as f64 - 28.0;
    let fast = format!("{:.2} m/s", speeds.high);
    let slow = format!("speed: {:.2} or less", speeds.low);
    let right = canvas.width() as f64 - SIDE - text_width(2.4, &fast) - 14.0;
    let left = right - LENGTH as f64;
    for column in 0..LENGTH {
        let colour = ramp(column as f64 / LENGTH as f64);
        for row in (y as usize - 7)..(y as usize + 7) {
            canvas.set(left as usize + column, row, colour);
        }
    }
    canvas.text((right + 14.0, y + 7.0), 2.4, &fast, INK);
    canvas.text((left - 14.0 - text_width(2.4, &slow), y + 7.0), 2.4, &slow, INK);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn straight_path(track: &Track, speeds: [f64; 2]) -> Vec<PathPoint> {
        let at = |progress, speed| PathPoint { position: track.course().pose_at(progress).position, speed };
        vec![at(0.05, speeds[0]), at(0.1, speeds[0]), at(0.15, speeds[1])]
    }

    #[test]
    fn the_path_lies_on_the_track_in_the_colours_of_its_speeds() {
        let track = Track::demonstration().unwrap();
        let canvas = draw(&track, &straight_path(&track, [0.1, 0.2]), "", "");
        let frame = Frame { height: track.settings().height };
        let pixel = |progress| {
            let (x, y) = frame.spot(track.course().pose_at(progress).position);
            canvas.pixel(x as usize, y as usize)
        };
        assert_eq!(pixel(0.075), RAMP[0]);
        assert_eq!(pixel(0.125), RAMP[2]);
        assert_eq!(pixel(0.3), LINE_COLOUR);
    }

    #[test]
    fn a_picture_without_a_path_shows_the_track() {
        let track = Track::demonstration().unwrap();
        let canvas = draw(&track, &[], "nothing driven", "");
        assert_eq!((canvas.width(), canvas.height()), (1280, 1080));
        assert_eq!(canvas.pixel(640, 200), FLOOR_COLOUR);
    }

    #[test]
    fn floor_and_canvas_agree_about_places() {
        let frame = Frame { height: 0.9 };
        let point = Point::new(0.3, 0.7);
        assert!(frame.point(frame.spot(point)).distance(point) < 1e-12);
    }

    #[test]
    fn the_colour_scale_ends_at_round_speeds_around_the_path() {
        let path: Vec<PathPoint> = (0..100)
            .map(|i| PathPoint { position: Point::default(), speed: 0.12 + f64::from(i) * 0.001 })
            .collect();
        let scale = SpeedScale::of(&path);
        assert!((scale.low - 0.1).abs() < 1e-9 && (scale.high - 0.25).abs() < 1e-9, "{scale:?}");
        assert_eq!(scale.colour(0.0), RAMP[0]);
        assert_eq!(scale.colour(1.0), RAMP[2]);
    }
}
