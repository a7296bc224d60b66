//! Geometry of the line: a closed course of straights and arcs, measured along and across.

use crate::geometry::{Point, Pose, wrap_angle};
use std::f64::consts::PI;
use std::fmt;
use std::ops::RangeInclusive;

/// Metres along the line, in both directions, within which a follower is searched for near its last position.
const REACH: f64 = 0.1;
/// Metres from the line beyond which the whole course is searched: the robot was carried, or has lost the line.
const ASTRAY: f64 = 0.1;

/// A corner of the course: the two straights that meet here are joined by an arc.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corner {
    /// The intersection of the two straights.
    pub at: Point,
    /// Radius of the arc, metres.
    pub radius: f64,
}

impl Corner {
    /// A corner at (x, y), rounded with `radius`; metres.
    pub const fn new(x: f64, y: f64, radius: f64) -> Self {
        Self { at: Point::new(x, y), radius }
    }
}

/// Why a list of corners is not a course.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CourseError {
    /// Fewer than three corners.
    TooFewCorners(usize),
    /// The corner of this index has a radius that is not positive, or a coordinate that is not a number.
    BadCorner(usize),
    /// The arcs at the corner of this index and at the next one overlap.
    NoRoomAfter(usize),
}

impl fmt::Display for CourseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewCorners(count) => write!(f, "a course needs three corners, not {count}"),
            Self::BadCorner(index) => write!(f, "corner {index} of the course has a bad radius or place"),
            Self::NoRoomAfter(index) => write!(f, "the arcs after corner {index} of the course overlap"),
        }
    }
}

impl std::error::Error for CourseError {}

/// Position of a point relative to the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Metres from the centre of the line, positive to the left of the direction of travel.
    pub deviation: f64,
    /// Metres along the line from the start, `0.0..length`.
    pub progress: f64,
}

/// A closed line; it starts, with progress 0, in the middle of the straight between the first two corners.
#[derive(Clone, Debug)]
pub struct Course {
    pieces: Vec<Piece>,
    length: f64,
}

impl Course {
    /// The course around these corners, in their order.
    ///
    /// # Errors
    /// [`CourseError`] for fewer than three corners, a corner without a positive radius, or arcs that overlap.
    pub fn new(corners: &[Corner]) -> Result<Self, CourseError> {
        if corners.len() < 3 {
            return Err(CourseError::TooFewCorners(corners.len()));
        }
        let arcs = arcs(corners)?;
        let mut pieces = Vec::with_capacity(2 * arcs.len() + 1);
        for (index, arc) in arcs.iter().enumerate() {
            let next = arcs[(index + 1) % arcs.len()];
            pieces.push(straight_between(arc, &next).ok_or(CourseError::NoRoomAfter(index))?);
            pieces.push(Piece::Arc(next));
        }
        move_start_to_middle_of_first(&mut pieces);
        let length = pieces.iter().map(Piece::length).sum();
        Ok(Self { pieces, length })
    }

    /// Metres once around.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// The pose on the line `progress` metres from the start, in the direction of travel; wraps around.
    pub fn pose_at(&self, progress: f64) -> Pose {
        let mut rest = progress.rem_euclid(self.length);
        for piece in &self.pieces {
            if rest <= piece.length() {
                return piece.pose_at(rest);
            }
            rest -= piece.length();
        }
        self.pieces[0].pose_at(0.0)
    }

    /// The nearest position on the line to `point`.
    pub fn nearest(&self, point: Point) -> Nearest {
        self.nearest_of(point, |before, piece| Some(before..=before + piece.length()))
    }

    /// The nearest position near `progress`, the last known one: where the line crosses itself, the follower stays on
    /// its part.
    pub fn nearest_to(&self, point: Point, progress: f64) -> Nearest {
        let around = self.nearest_of(point, |before, piece| {
            // The search range wraps around the start.
            let laps = [-self.length, 0.0, self.length];
            let windows = laps.map(|lap| progress + lap - REACH..=progress + lap + REACH);
            windows.into_iter().find_map(|window| common(window, before..=before + piece.length()))
        });
        if around.deviation.abs() <= ASTRAY { around } else { self.nearest(point) }
    }

    /// The nearest position within the wanted stretches of the pieces; each piece comes with its start.
    fn nearest_of(
        &self,
        point: Point,
        wanted: impl Fn(f64, &Piece) -> Option<RangeInclusive<f64>>,
    ) -> Nearest {
        let mut best = Nearest { deviation: f64::INFINITY, progress: 0.0 };
        let mut before = 0.0;
        for piece in &self.pieces {
            if let Some(stretch) = wanted(before, piece) {
                let found = piece.nearest(point, stretch.start() - before..=stretch.end() - before);
                if found.deviation.abs() < best.deviation.abs() {
                    best = Nearest { progress: (before + found.progress) % self.length, ..found };
                }
            }
            before += piece.length();
        }
        best
    }
}

/// The intersection of two stretches.
fn common(a: RangeInclusive<f64>, b: RangeInclusive<f64>) -> Option<RangeInclusive<f64>> {
    let (start, end) = (a.start().max(*b.start()), a.end().min(*b.end()));
    (start <= end).then_some(start..=end)
}

/// A piece of the line of constant curvature.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Straight(Straight),
    Arc(Arc),
}

impl Piece {
    fn length(&self) -> f64 {
        match self {
            Self::Straight(straight) => straight.length,
            Self::Arc(arc) => arc.radius * arc.sweep.abs(),
        }
    }

    fn pose_at(&self, progress: f64) -> Pose {
        match self {
            Self::Straight(straight) => straight.pose_at(progress),
            Self::Arc(arc) => arc.pose_at(progress),
        }
    }

    /// [`Course::nearest`] within a stretch of this piece; progress counts from the piece's start.
    fn nearest(&self, point: Point, stretch: RangeInclusive<f64>) -> Nearest {
        let progress = match self {
            Self::Straight(straight) => straight.progress_of(point),
            Self::Arc(arc) => arc.progress_of(point),
        };
        let progress = progress.clamp(*stretch.start(), *stretch.end());
        let foot = self.pose_at(progress);
        let away = point - foot.position;
        let deviation = away.length().copysign(away.along(foot.heading + PI / 2.0));
        Nearest { deviation, progress }
    }
}

#[derive(Clone, Copy, Debug)]
struct Straight {
    from: Pose,
    length: f64,
}

impl Straight {
    fn pose_at(&self, progress: f64) -> Pose {
        Pose { position: self.from.offset(progress, 0.0), ..self.from }
    }

    fn progress_of(&self, point: Point) -> f64 {
        (point - self.from.position).along(self.from.heading).clamp(0.0, self.length)
    }
}

#[derive(Clone, Copy, Debug)]
struct Arc {
    centre: Point,
    radius: f64,
    /// Direction from the centre to where the arc begins.
    begin: f64,
    /// Angle of the arc, positive to the left.
    sweep: f64,
}

impl Arc {
    fn pose_at(&self, progress: f64) -> Pose {
        let side = self.sweep.signum();
        let angle = self.begin + side * progress / self.radius;
        Pose { position: self.centre.towards(angle, self.radius), heading: angle + side * PI / 2.0 }
    }

    fn progress_of(&self, point: Point) -> f64 {
        let middle = self.begin + self.sweep / 2.0;
        let half = self.sweep.abs() / 2.0;
        let from_middle = wrap_angle(self.centre.heading_to(point) - middle) * self.sweep.signum();
        (from_middle.clamp(-half, half) + half) * self.radius
    }

    fn end(&self) -> Pose {
        self.pose_at(self.radius * self.sweep.abs())
    }
}

/// One arc per corner. A corner without a turn gives an arc of length 0.
fn arcs(corners: &[Corner]) -> Result<Vec<Arc>, CourseError> {
    let count = corners.len();
    let fine =
        |corner: &Corner| corner.radius > 0.0 && corner.radius.is_finite() && corner.at.length().is_finite();
    if let Some(index) = corners.iter().position(|corner| !fine(corner)) {
        return Err(CourseError::BadCorner(index));
    }
    let adjacent = |i: usize| (corners[(i + count - 1) % count].at, corners[(i + 1) % count].at);
    Ok((0..count).map(|i| arc_at(corners[i], adjacent(i))).collect())
}

fn arc_at(corner: Corner, (previous, next): (Point, Point)) -> Arc {
    let heading = previous.heading_to(corner.at);
    let sweep = wrap_angle(corner.at.heading_to(next) - heading);
    let cut = corner.radius * (sweep.abs() / 2.0).tan();
    let side = 1f64.copysign(sweep);
    let first = corner.at.towards(heading, -cut);
    let centre = first.towards(heading + side * PI / 2.0, corner.radius);
    Arc { centre, radius: corner.radius, begin: heading - side * PI / 2.0, sweep }
}

/// The straight from the end of one arc to the start of the next; `None` if it would run backwards.
fn straight_between(arc: &Arc, next: &Arc) -> Option<Piece> {
    let (from, to) = (arc.end(), next.pose_at(0.0).position);
    let length = (to - from.position).along(from.heading);
    (length >= 0.0).then_some(Piece::Straight(Straight { from, length }))
}

fn move_start_to_middle_of_first(pieces: &mut Vec<Piece>) {
    if let Some(Piece::Straight(first)) = pieces.first_mut() {
        first.length /= 2.0;
        let first_half = *first;
        first.from.position = first.from.offset(first.length, 0.0);
        pieces.push(Piece::Straight(first_half));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 m by 0.6 m, corners of 0.1 m, counter-clockwise from the lower left.
    fn rectangle() -> Course {
        let corner = |x, y| Corner::new(x, y, 0.1);
        Course::new(&[corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 0.6), corner(0.0, 0.6)]).unwrap()
    }

    #[test]
    fn rectangle_is_straights_and_one_circle() {
        let expected = 2.0 * 0.8 + 2.0 * 0.4 + PI * 0.2;
        assert!((rectangle().length() - expected).abs() < 1e-9);
    }

    #[test]
    fn course_starts_mid_first_straight() {
        let start = rectangle().pose_at(0.0);
        assert!(start.position.distance(Point::new(0.5, 0.0)) < 1e-9);
        assert!(start.heading.abs() < 1e-9);
    }

    #[test]
    fn left_of_the_line_is_positive() {
        let course = rectangle();
        let left = course.nearest(Point::new(0.6, 0.03));
        assert!((left.deviation - 0.03).abs() < 1e-9 && (left.progress - 0.1).abs() < 1e-9, "{left:?}");
        let right = course.nearest(Point::new(1.04, 0.3));
        assert!((right.deviation + 0.04).abs() < 1e-9, "{right:?}");
    }

    #[test]
    fn corner_distance_is_to_the_arc() {
        let corner = rectangle().nearest(Point::new(1.0, 0.0));
        assert!((corner.deviation + 0.1 * (2f64.sqrt() - 1.0)).abs() < 1e-9, "{corner:?}");
    }

    #[test]
    fn pose_on_the_line_is_nearest_to_itself() {
        let course = rectangle();
        for step in 0..300 {
            let progress = f64::from(step) * course.length() / 300.0;
            let found = course.nearest(course.pose_at(progress).position);
            assert!(
                found.deviation.abs() < 1e-9 && (found.progress - progress).abs() < 1e-6,
                "{step}: {found:?}"
            );
        }
    }

    #[test]
    fn follower_stays_on_its_part_at_a_crossing() {
        let corner = |x, y| Corner::new(x, y, 0.05);
        let eight = [corner(0.0, 0.0), corner(1.0, 1.0), corner(1.0, 0.0), corner(0.0, 1.0)];
        let course = Course::new(&eight).unwrap();
        let step = 0.01;
        let mut progress = 0.0;
        // Off the line, and so nearer to its other part at the crossing.
        for index in 0..(course.length() / step) as u32 {
            let along = f64::from(index) * step;
            let found = course.nearest_to(course.pose_at(along).offset(0.0, 0.01), progress);
            assert!((found.progress - along).abs() < 0.02, "{along}: {found:?}");
            progress = found.progress;
        }
    }

    #[test]
    fn follower_passes_the_start_and_is_found_after_carrying() {
        let course = rectangle();
        let near_the_end = course.length() - 0.02;
        let beyond = course.nearest_to(course.pose_at(0.01).position, near_the_end);
        assert!((beyond.progress - 0.01).abs() < 1e-9, "{beyond:?}");
        let before = course.nearest_to(course.pose_at(near_the_end).position, 0.01);
        assert!((before.progress - near_the_end).abs() < 1e-9, "{before:?}");
        let ahead = course.nearest_to(course.pose_at(0.15).position, 0.0);
        assert!((ahead.progress - REACH).abs() < 1e-9, "the search ends at REACH: {ahead:?}");
        let carried = course.nearest_to(course.pose_at(1.5).position, 0.0);
        assert!((carried.progress - 1.5).abs() < 1e-9, "{carried:?}");
    }

    #[test]
    fn line_is_continuous_in_position_and_heading() {
        let course = rectangle();
        let step = course.length() / 10_000.0;
        for index in 0..10_000 {
            let (a, b) =
                (course.pose_at(f64::from(index) * step), course.pose_at(f64::from(index + 1) * step));
            assert!(a.position.distance(b.position) < step * 1.001);
            assert!(wrap_angle(a.heading - b.heading).abs() <= step / 0.1 * 1.001);
        }
    }

    #[test]
    fn invalid_corners_are_refused() {
        let corner = |x, y, radius| Corner::new(x, y, radius);
        assert_eq!(Course::new(&[corner(0.0, 0.0, 0.1)]).unwrap_err(), CourseError::TooFewCorners(1));
        let flat = [corner(0.0, 0.0, 0.1), corner(1.0, 0.0, 0.0), corner(0.0, 1.0, 0.1)];
        assert_eq!(Course::new(&flat).unwrap_err(), CourseError::BadCorner(1));
        let tight = [corner(0.0, 0.0, 0.4), corner(1.0, 0.0, 0.4), corner(0.0, 1.0, 0.4)];
        assert_eq!(Course::new(&tight).unwrap_err(), CourseError::NoRoomAfter(0));
    }
}
