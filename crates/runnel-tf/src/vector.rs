//! Vectors of three dimensions.

use core::ops::{Add, Mul, Neg, Sub};

use runnel_msgs::geometry_msgs::msg;

/// A point or a direction, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vector3 {
    /// Along the first axis.
    pub x: f64,
    /// Along the second axis.
    pub y: f64,
    /// Along the third axis.
    pub z: f64,
}

impl Vector3 {
    /// The origin.
    pub const ZERO: Self = Self::new(0.0, 0.0, 0.0);

    /// A vector of these coordinates.
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// The scalar product.
    pub fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// The vector product.
    pub fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    /// The length.
    pub fn norm(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The point at `ratio` of the way to `other`: 0 is this one, 1 the other.
    pub fn lerp(self, other: Self, ratio: f64) -> Self {
        self * (1.0 - ratio) + other * ratio
    }

    pub(crate) fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.z.is_finite()
    }
}

impl Add for Vector3 {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl Sub for Vector3 {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Neg for Vector3 {
    type Output = Self;

    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z)
    }
}

impl Mul<f64> for Vector3 {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor)
    }
}

impl From<msg::Vector3> for Vector3 {
    fn from(message: msg::Vector3) -> Self {
        Self::new(message.x, message.y, message.z)
    }
}

impl From<Vector3> for msg::Vector3 {
    fn from(vector: Vector3) -> Self {
        Self { x: vector.x, y: vector.y, z: vector.z }
    }
}

impl From<msg::Point> for Vector3 {
    fn from(message: msg::Point) -> Self {
        Self::new(message.x, message.y, message.z)
    }
}

impl From<Vector3> for msg::Point {
    fn from(vector: Vector3) -> Self {
        Self { x: vector.x, y: vector.y, z: vector.z }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_follow_the_right_hand() {
        let (x, y, z) =
            (Vector3::new(1.0, 0.0, 0.0), Vector3::new(0.0, 1.0, 0.0), Vector3::new(0.0, 0.0, 1.0));
        assert_eq!((x.cross(y), y.cross(z), z.cross(x)), (z, x, y));
        assert_eq!((x.dot(y), (x + y * 2.0).dot(y), (-x).dot(x)), (0.0, 2.0, -1.0));
        assert_eq!(Vector3::new(3.0, 0.0, -4.0).norm(), 5.0);
    }

    #[test]
    fn lerp_reaches_both_ends() {
        let (from, to) = (Vector3::new(1.0, 2.0, 3.0), Vector3::new(3.0, 2.0, -1.0));
        assert_eq!((from.lerp(to, 0.0), from.lerp(to, 1.0)), (from, to));
        assert_eq!(from.lerp(to, 0.25), Vector3::new(1.5, 2.0, 2.0));
    }
}
