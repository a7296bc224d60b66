//! Points and poses on the floor.

use std::f64::consts::{PI, TAU};
use std::ops::{Add, Sub};

/// A point on the floor in metres: x to the right, y up, seen from above.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Metres to the right.
    pub x: f64,
    /// Metres up.
    pub y: f64,
}

impl Point {
    /// The point at these coordinates, in metres.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The point `distance` metres away in direction `heading` (radians, counter-clockwise from x).
    pub fn towards(self, heading: f64, distance: f64) -> Self {
        Self::new(self.x + distance * heading.cos(), self.y + distance * heading.sin())
    }

    /// The direction from this point to `other`, in radians.
    pub fn heading_to(self, other: Self) -> f64 {
        (other.y - self.y).atan2(other.x - self.x)
    }

    /// The distance to `other`, in metres.
    pub fn distance(self, other: Self) -> f64 {
        (other - self).length()
    }

    /// The length of this vector, in metres.
    pub fn length(self) -> f64 {
        self.x.hypot(self.y)
    }

    /// The component of this vector in direction `heading`, in metres.
    pub fn along(self, heading: f64) -> f64 {
        self.x * heading.cos() + self.y * heading.sin()
    }
}

impl Add for Point {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y)
    }
}

impl Sub for Point {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y)
    }
}

/// Position and orientation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    /// The place.
    pub position: Point,
    /// The direction in radians, counter-clockwise from x.
    pub heading: f64,
}

impl Pose {
    /// The point `ahead` metres in front and `left` metres to the left of this pose.
    pub fn offset(self, ahead: f64, left: f64) -> Point {
        self.position.towards(self.heading, ahead).towards(self.heading + PI / 2.0, left)
    }
}

/// The angle normalized to `-π..π`.
pub fn wrap_angle(angle: f64) -> f64 {
    (angle + PI).rem_euclid(TAU) - PI
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_of_upward_pose_is_smaller_x() {
        let pose = Pose { position: Point::new(1.0, 1.0), heading: PI / 2.0 };
        assert!(pose.offset(0.2, 0.1).distance(Point::new(0.9, 1.2)) < 1e-12);
    }

    #[test]
    fn angles_are_normalized_to_one_turn() {
        assert!((wrap_angle(1.5 * TAU + 0.25) - (0.25 - PI)).abs() < 1e-12);
        assert!((wrap_angle(-0.25) + 0.25).abs() < 1e-12);
    }

    #[test]
    fn along_is_the_component_in_that_direction() {
        assert!((Point::new(3.0, 4.0).along(PI / 2.0) - 4.0).abs() < 1e-12);
        assert_eq!(Point::new(3.0, 4.0).length(), 5.0);
    }
}
