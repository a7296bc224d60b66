//! Track: the floor with the line on it, as an image for the light sensors.

mod text;

pub use text::TrackError;

use crate::course::Course;
use crate::geometry::Point;
use std::ops::Range;

/// Brightness of the bare floor in the image.
pub const FLOOR: u8 = 235;
/// Brightness of the line in the image.
pub const LINE: u8 = 25;

/// The tracks that are included, the demonstration's first.
pub const TRACKS: [(&str, &str); 5] = [
    ("course", include_str!("../../tracks/course.track")),
    ("oval", include_str!("../../tracks/oval.track")),
    ("corners", include_str!("../../tracks/corners.track")),
    ("gap", include_str!("../../tracks/gap.track")),
    ("crossing", include_str!("../../tracks/crossing.track")),
];

/// Finest and coarsest resolution, metres per pixel; it bounds the image at 64 MB.
const RESOLUTIONS: std::ops::RangeInclusive<f64> = 0.000_5..=0.01;

/// Size and appearance of a track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackSettings {
    /// Metres of floor from left to right, at most 4.
    pub width: f64,
    /// Metres of floor from bottom to top, at most 4.
    pub height: f64,
    /// Metres per pixel, 0.5 mm to 10 mm.
    pub resolution: f64,
    /// Width of the line, metres.
    pub line_width: f64,
    /// Width of the blurred edge of the line, metres.
    pub edge: f64,
}

impl Default for TrackSettings {
    fn default() -> Self {
        Self { width: 1.2, height: 0.9, resolution: 0.001, line_width: 0.02, edge: 0.002 }
    }
}

/// A floor with a dark line along a [`Course`].
#[derive(Clone, Debug)]
pub struct Track {
    course: Course,
    /// Gaps in the line: metres along the course.
    gaps: Vec<Range<f64>>,
    settings: TrackSettings,
    columns: usize,
    rows: usize,
    /// Brightness, row by row from the bottom.
    pixels: Vec<u8>,
}

impl Track {
    /// Draws the line along `course` without these gaps, metres along it. Settings are clamped to their limits.
    pub fn new(course: Course, gaps: Vec<Range<f64>>, settings: TrackSettings) -> Self {
        let settings = within_limits(settings);
        let columns = (settings.width / settings.resolution).round() as usize;
        let rows = (settings.height / settings.resolution).round() as usize;
        let pixels = Vec::with_capacity(columns * rows);
        let mut track = Self { course, gaps, settings, columns, rows, pixels };
        (0..rows).for_each(|row| track.draw_row(row));
        track
    }

    /// Parses a track such as those in `tracks/`: floor, line width, corners and gaps, one item per line.
    ///
    /// # Errors
    /// [`TrackError`] for a line that cannot be parsed, and for content that is not a track.
    pub fn parse(text: &str) -> Result<Self, TrackError> {
        text::parse(text)
    }

    /// The track of the demonstration, 1.2 m by 0.9 m: straights, curves to both sides and a chicane.
    ///
    /// # Errors
    /// None; the text is part of the program.
    pub fn demonstration() -> Result<Self, TrackError> {
        Self::parse(TRACKS[0].1)
    }

    /// Gaps in the line: metres along the course.
    pub fn gaps(&self) -> &[Range<f64>] {
        &self.gaps
    }

    /// The line's course.
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// Size and appearance, within their limits.
    pub fn settings(&self) -> TrackSettings {
        self.settings
    }

    /// Brightness at `point`, 0.0 (black) to 255.0, bilinearly interpolated. Outside the image the floor continues.
    pub fn sample(&self, point: Point) -> f64 {
        let x = point.x / self.settings.resolution - 0.5;
        let y = point.y / self.settings.resolution - 0.5;
        let (column, row) = (x.floor(), y.floor());
        let (right, up) = (x - column, y - row);
        let lower = mix(self.pixel(column, row), self.pixel(column + 1.0, row), right);
        let upper = mix(self.pixel(column, row + 1.0), self.pixel(column + 1.0, row + 1.0), right);
        mix(lower, upper, up)
    }

    fn pixel(&self, column: f64, row: f64) -> f64 {
        let inside = (0.0..self.columns as f64).contains(&column) && (0.0..self.rows as f64).contains(&row);
        let index = inside.then(|| row as usize * self.columns + column as usize);
        f64::from(index.and_then(|index| self.pixels.get(index)).copied().unwrap_or(FLOOR))
    }

    fn centre_of(&self, column: usize, row: usize) -> Point {
        let metres = |index: usize| (index as f64 + 0.5) * self.settings.resolution;
        Point::new(metres(column), metres(row))
    }

    /// Appends a row of pixels. Pixels that are certainly off the line are filled without computing distances.
    fn draw_row(&mut self, row: usize) {
        let end = self.pixels.len() + self.columns;
        while self.pixels.len() < end {
            let point = self.centre_of(self.columns - (end - self.pixels.len()), row);
            let nearest = self.course.nearest(point);
            let beyond = nearest.deviation.abs() - self.settings.line_width / 2.0;
            let clear = ((beyond - self.settings.edge) / self.settings.resolution).floor() as usize;
            if clear > 0 {
                self.pixels.resize(end.min(self.pixels.len() + clear), FLOOR);
            } else if self.gaps.iter().any(|gap| gap.contains(&nearest.progress)) {
                self.pixels.push(FLOOR);
            } else {
                self.pixels.push(self.shade(beyond));
            }
        }
    }

    /// Mix of line and floor `beyond` metres outside the line, with a cubic edge.
    fn shade(&self, beyond: f64) -> u8 {
        let share = (beyond / self.settings.edge + 0.5).clamp(0.0, 1.0);
        mix(f64::from(LINE), f64::from(FLOOR), share * share * (3.0 - 2.0 * share)).round() as u8
    }
}

fn within_limits(settings: TrackSettings) -> TrackSettings {
    let resolution = settings.resolution.clamp(*RESOLUTIONS.start(), *RESOLUTIONS.end());
    TrackSettings {
        width: settings.width.clamp(resolution, 4.0),
        height: settings.height.clamp(resolution, 4.0),
        resolution,
        line_width: settings.line_width.max(resolution),
        edge: settings.edge.max(resolution / 2.0),
    }
}

fn mix(from: f64, to: f64, share: f64) -> f64 {
    from + (to - from) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A coarse track, quick to draw.
    fn track() -> Track {
        let demonstration = Track::demonstration().unwrap();
        let settings = TrackSettings { resolution: 0.002, edge: 0.003, ..TrackSettings::default() };
        Track::new(demonstration.course, Vec::new(), settings)
    }

    #[test]
    fn line_is_dark_and_floor_bright() {
        let track = track();
        let on = track.course().pose_at(0.3);
        assert_eq!(track.sample(on.position).round(), f64::from(LINE));
        assert_eq!(track.sample(on.offset(0.0, 0.03)).round(), f64::from(FLOOR));
        assert_eq!(track.sample(on.offset(0.0, -0.03)).round(), f64::from(FLOOR));
    }

    #[test]
    fn edge_is_soft_at_half_line_width() {
        let track = track();
        let on = track.course().pose_at(0.0);
        let across: Vec<f64> =
            (0..=20).map(|mm| track.sample(on.offset(0.0, f64::from(mm) / 1000.0))).collect();
        assert!(across.windows(2).all(|pair| pair[0] <= pair[1]), "{across:?}");
        let middle = f64::from(FLOOR / 2 + LINE / 2);
        assert!((across[10] - middle).abs() < 40.0, "{across:?}");
        assert!(across.iter().filter(|shade| (30.0..230.0).contains(*shade)).count() >= 2, "{across:?}");
    }

    #[test]
    fn pixel_shade_depends_on_line_distance() {
        let track = track();
        for (index, pixel) in track.pixels.iter().enumerate().step_by(7) {
            let centre = track.centre_of(index % track.columns, index / track.columns);
            let beyond = track.course().nearest(centre).deviation.abs() - track.settings().line_width / 2.0;
            assert_eq!(*pixel, track.shade(beyond), "{centre:?}");
        }
    }

    #[test]
    fn brightness_is_interpolated_between_pixels() {
        let track = track();
        let edge = track.course().pose_at(0.0).offset(0.0, track.settings().line_width / 2.0);
        let pixel = |metres: f64| (metres / track.settings().resolution) as usize;
        let (column, row) = (pixel(edge.x), pixel(edge.y) - 1);
        let (low, high) = (track.centre_of(column, row), track.centre_of(column, row + 1));
        let (a, b) = (track.sample(low), track.sample(high));
        let middle = track.sample(Point::new(low.x, (low.y + high.y) / 2.0));
        assert!(a != b && (middle - (a + b) / 2.0).abs() < 1e-6, "{a} {middle} {b}");
    }

    #[test]
    fn floor_continues_beyond_the_image() {
        let track = track();
        for point in [Point::new(-1.0, 0.12), Point::new(0.6, -0.01), Point::new(0.1, 50.0)] {
            assert_eq!(track.sample(point), f64::from(FLOOR), "{point:?}");
        }
    }

    #[test]
    fn course_curves_both_ways_inside_floor() {
        let track = track();
        let course = track.course();
        let step = course.length() / 1000.0;
        let poses: Vec<_> = (0..=1000).map(|i| course.pose_at(f64::from(i) * step)).collect();
        let turns: Vec<f64> =
            poses.windows(2).map(|p| crate::geometry::wrap_angle(p[1].heading - p[0].heading)).collect();
        assert!(turns.iter().any(|turn| *turn > 0.01) && turns.iter().any(|turn| *turn < -0.01));
        let clear = |p: &Point| (0.05..=1.15).contains(&p.x) && (0.05..=0.85).contains(&p.y);
        assert!(poses.iter().all(|pose| clear(&pose.position)));
    }

    #[test]
    fn every_included_track_can_be_drawn() {
        for (name, text) in TRACKS {
            let track = Track::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!((2.0..5.0).contains(&track.course().length()), "{name}: {}", track.course().length());
        }
    }

    #[test]
    fn settings_are_clamped_to_limits() {
        let settings =
            TrackSettings { width: 1e9, height: 1e9, resolution: 0.01, ..TrackSettings::default() };
        let track = Track::new(track().course, Vec::new(), settings);
        assert_eq!(track.pixels.len(), 400 * 400);
    }
}
