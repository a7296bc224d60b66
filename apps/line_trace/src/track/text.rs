//! Text format of a track, one item per line:
//!
//! ```text
//! # Everything after this sign is a comment.
//! floor 1.2 0.9            # metres from left to right, and from bottom to top
//! line 0.02                # its width, metres; default 0.02
//! corner 0.07 0.11 0.12    # x and y of a corner, metres, and the radius of its curve; without one it is sharp
//! gap 0.12 0.16            # no line between these, metres along it from the middle of the first straight
//! ```
//! The line connects the corners in their order, and the last one with the first.

use super::{Track, TrackSettings};
use crate::course::{Corner, Course, CourseError};
use std::fmt;
use std::ops::{Range, RangeInclusive};

/// Limits of a track: bytes, corners and gaps.
const LONGEST: usize = 1 << 16;
const MOST_CORNERS: usize = 100;
const MOST_GAPS: usize = 100;

/// Permitted lengths, metres.
const FLOOR: RangeInclusive<f64> = 0.2..=4.0;
const LINE: RangeInclusive<f64> = 0.005..=0.1;

/// The shortest permitted line, metres.
const SHORTEST: f64 = 0.5;

/// Radius of a corner without a given one, metres.
const SHARP: f64 = 0.001;

/// Distance between two points at which the line is checked against the floor, metres.
const STRIDE: f64 = 0.01;

/// Why a text is not a track.
#[derive(Clone, Debug, PartialEq)]
pub enum TrackError {
    /// It has more bytes than permitted.
    TooLong(usize),
    /// The line of this number, counted from 1, cannot be parsed.
    Line(usize, String),
    /// The line with this keyword is missing.
    Lacks(&'static str),
    /// The corners are not a valid course.
    Course(CourseError),
    /// The line is only this many metres long.
    TooShort(f64),
    /// The line leaves the floor this many metres from its start.
    LeavesFloor(f64),
    /// The gap that starts at this many metres ends beyond the line.
    GapBeyond(f64),
}

impl fmt::Display for TrackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(bytes) => write!(f, "it has {bytes} bytes, and a track has {LONGEST} at most"),
            Self::Line(number, why) => write!(f, "line {number}: {why}"),
            Self::Lacks(keyword) => write!(f, "it has no line '{keyword} ...'"),
            Self::Course(error) => error.fmt(f),
            Self::TooShort(length) => {
                write!(f, "the line is {length:.2} m long, and a track has {SHORTEST} m at least")
            }
            Self::LeavesFloor(progress) => {
                write!(f, "the line leaves the floor {progress:.2} m from its start")
            }
            Self::GapBeyond(from) => write!(f, "the gap from {from} m on ends beyond the line"),
        }
    }
}

impl std::error::Error for TrackError {}

impl From<CourseError> for TrackError {
    fn from(error: CourseError) -> Self {
        Self::Course(error)
    }
}

/// The items of a text.
#[derive(Default)]
struct Description {
    floor: Option<[f64; 2]>,
    line: Option<f64>,
    corners: Vec<Corner>,
    /// The line number of each corner.
    lines: Vec<usize>,
    gaps: Vec<Range<f64>>,
}

pub(super) fn parse(text: &str) -> Result<Track, TrackError> {
    if text.len() > LONGEST {
        return Err(TrackError::TooLong(text.len()));
    }
    let mut description = Description::default();
    for (index, line) in text.lines().enumerate() {
        description.parse_line(line).map_err(|why| TrackError::Line(index + 1, why))?;
        description.lines.resize(description.corners.len(), index + 1);
    }
    let [width, height] = description.floor.ok_or(TrackError::Lacks("floor"))?;
    let course = Course::new(&description.corners).map_err(|error| description.corner_error(error))?;
    if course.length() < SHORTEST {
        return Err(TrackError::TooShort(course.length()));
    }
    check_floor(&course, [width, height])?;
    if let Some(gap) = description.gaps.iter().find(|gap| gap.end > course.length()) {
        return Err(TrackError::GapBeyond(gap.start));
    }
    let usual = TrackSettings::default();
    let line_width = description.line.unwrap_or(usual.line_width);
    Ok(Track::new(course, description.gaps, TrackSettings { width, height, line_width, ..usual }))
}

impl Description {
    fn parse_line(&mut self, line: &str) -> Result<(), String> {
        let line = line.split('#').next().unwrap_or_default();
        let mut fields = line.split_whitespace();
        let Some(keyword) = fields.next() else { return Ok(()) };
        let numbers = fields.map(number).collect::<Result<Vec<f64>, String>>()?;
        match (keyword, numbers.as_slice()) {
            ("floor" | "line", _) if self.has(keyword) => return Err(format!("a second {keyword}")),
            ("floor", &[width, height]) => {
                self.floor = Some([within(width, FLOOR)?, within(height, FLOOR)?]);
            }
            ("line", &[width]) => self.line = Some(within(width, LINE)?),
            ("corner", &[x, y]) => self.corner(Corner::new(x, y, SHARP))?,
            ("corner", &[x, y, radius]) => self.corner(Corner::new(x, y, radius))?,
            ("gap", &[from, to]) if 0.0 <= from && from < to => {
                add(&mut self.gaps, from..to, MOST_GAPS, "gaps")?;
            }
            ("gap", &[_, _]) => return Err("a gap begins at 0 or later and ends behind its beginning".into()),
            ("floor" | "line" | "corner" | "gap", _) => {
                return Err(format!("{keyword} with {} numbers", numbers.len()));
            }
            _ => return Err(format!("{keyword:?} is none of floor, line, corner and gap")),
        }
        Ok(())
    }

    fn has(&self, keyword: &str) -> bool {
        if keyword == "floor" { self.floor.is_some() } else { self.line.is_some() }
    }

    /// The error of a corner, with its line number.
    fn corner_error(&self, error: CourseError) -> TrackError {
        let line = |index: usize| self.lines.get(index).copied().unwrap_or_default();
        match error {
            CourseError::BadCorner(index) => {
                TrackError::Line(line(index), "a radius is greater than 0".into())
            }
            CourseError::NoRoomAfter(index) => {
                TrackError::Line(line(index), "the curves of this corner and the next overlap".into())
            }
            CourseError::TooFewCorners(_) => error.into(),
        }
    }

    fn corner(&mut self, corner: Corner) -> Result<(), String> {
        add(&mut self.corners, corner, MOST_CORNERS, "corners")
    }
}

fn number(keyword: &str) -> Result<f64, String> {
    let number = keyword.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("{keyword:?} is no number"))
}

fn within(number: f64, range: RangeInclusive<f64>) -> Result<f64, String> {
    let error = || format!("{number} m is not from {} to {} m", range.start(), range.end());
    if range.contains(&number) { Ok(number) } else { Err(error()) }
}

fn add<T>(list: &mut Vec<T>, item: T, most: usize, what: &str) -> Result<(), String> {
    if list.len() == most {
        return Err(format!("more than {most} {what}"));
    }
    list.push(item);
    Ok(())
}

fn check_floor(course: &Course, [width, height]: [f64; 2]) -> Result<(), TrackError> {
    let strides = (course.length() / STRIDE) as u32;
    let off = (0..=strides).map(|stride| f64::from(stride) * STRIDE).find(|progress| {
        let place = course.pose_at(*progress).position;
        !((0.0..=width).contains(&place.x) && (0.0..=height).contains(&place.y))
    });
    off.map_or(Ok(()), |progress| Err(TrackError::LeavesFloor(progress)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Point;

    const SQUARE: &str =
        "floor 1 1\ncorner 0.2 0.2 0.1\ncorner 0.8 0.2\ncorner 0.8 0.8 0.1\ncorner 0.2 0.8 0.1\n";

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn described_track_is_drawn() {
        let track = parse(&format!("# a square\n{SQUARE}\nline 0.04  # wide\ngap 0.1 0.15\n")).unwrap();
        let settings = track.settings();
        assert_eq!((settings.width, settings.height, settings.line_width), (1.0, 1.0, 0.04));
        // The first straight begins at 0.3 and ends at the sharp corner.
        assert!(track.course().pose_at(0.0).position.distance(Point::new(0.55, 0.2)) < 0.001);
        let dark = |progress: f64| track.sample(track.course().pose_at(progress).position) < 100.0;
        assert!(dark(0.09) && !dark(0.11) && !dark(0.14) && dark(0.16));
    }

    #[test]
    fn invalid_line_is_named_by_number() {
        assert_eq!(refused("floor 1 1\nround 3"), "line 2: \"round\" is none of floor, line, corner and gap");
        assert_eq!(refused("floor 1"), "line 1: floor with 1 numbers");
        assert_eq!(refused("\n\nline thin"), "line 3: \"thin\" is no number");
        assert_eq!(refused("corner NaN 1"), "line 1: \"NaN\" is no number");
        assert_eq!(refused("floor 100 1"), "line 1: 100 m is not from 0.2 to 4 m");
        assert_eq!(refused("gap 2 1"), "line 1: a gap begins at 0 or later and ends behind its beginning");
        assert_eq!(refused("floor 1 1\nfloor 2 2"), "line 2: a second floor");
        let corners =
            |second: &str| format!("floor 1 1\n\ncorner 0.2 0.2\ncorner 0.8 0.2 {second}\ncorner 0.2 0.8\n");
        assert_eq!(refused(&corners("0")), "line 4: a radius is greater than 0");
        let overlap = "line 3: the curves of this corner and the next overlap";
        assert_eq!(refused(&corners("5")), overlap);
        assert_eq!(
            refused(&format!("floor 1 1\n{}", "corner 0.5 0.5\n".repeat(3))),
            "the line is 0.00 m long, and a track has 0.5 m at least"
        );
    }

    #[test]
    fn incomplete_track_is_refused() {
        assert_eq!(refused(""), "it has no line 'floor ...'");
        assert_eq!(refused("floor 1 1\ncorner 0 0"), "a course needs three corners, not 1");
        let off = refused(&SQUARE.replace("0.2 0.2", "0.2 -0.2"));
        assert_eq!(off, "the line leaves the floor 2.19 m from its start");
        assert_eq!(refused(&format!("{SQUARE}gap 1 3")), "the gap from 1 m on ends beyond the line");
        assert!(refused(&" ".repeat(LONGEST + 1)).starts_with("it has 65537 bytes"));
        let many = "corner 0 0\n".repeat(MOST_CORNERS + 1);
        assert_eq!(refused(&many), "line 101: more than 100 corners");
    }
}
