//! Rigid transforms: a rotation, then a translation.

use core::ops::Mul;

use runnel_msgs::geometry_msgs::msg;

use crate::quaternion::Quaternion;
use crate::vector::Vector3;

/// The transform from a frame to another, such as a child to its parent: it takes the coordinates of a point in the
/// first frame to its coordinates in the second. It rotates, then moves.
///
/// Transforms are chained from right to left: `map_from_odom * odom_from_base` is `map_from_base`.
///
/// ```
/// use runnel_tf::{Quaternion, Transform, Vector3};
///
/// let map_from_robot =
///     Transform::new(Vector3::new(10.0, 0.0, 0.0), Quaternion::from_rpy(0.0, 0.0, std::f64::consts::FRAC_PI_2));
/// let ahead = map_from_robot * Vector3::new(1.0, 0.0, 0.0);
/// assert!((ahead - Vector3::new(10.0, 1.0, 0.0)).norm() < 1e-12);
/// assert!((map_from_robot.inverse() * ahead - Vector3::new(1.0, 0.0, 0.0)).norm() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transform {
    /// Position of the first frame's origin in the second, in metres.
    pub translation: Vector3,
    /// Orientation of the first frame in the second.
    pub rotation: Quaternion,
}

impl Transform {
    /// The transform of a frame to itself.
    pub const IDENTITY: Self = Self::new(Vector3::ZERO, Quaternion::IDENTITY);

    /// A transform of a position and an orientation.
    pub const fn new(translation: Vector3, rotation: Quaternion) -> Self {
        Self { translation, rotation }
    }

    /// The transform in the other direction.
    #[must_use]
    pub fn inverse(self) -> Self {
        let rotation = self.rotation.inverse();
        Self { translation: rotation.rotate(-self.translation), rotation }
    }

    /// The point in the second frame. A direction is only [rotated](Quaternion::rotate).
    pub fn apply(self, point: Vector3) -> Vector3 {
        self.rotation.rotate(point) + self.translation
    }

    /// The transform at `ratio` of the way to `other`: the position on a line, the orientation by spherical linear
    /// interpolation.
    #[must_use]
    pub fn interpolate(self, other: Self, ratio: f64) -> Self {
        Self {
            translation: self.translation.lerp(other.translation, ratio),
            rotation: self.rotation.slerp(other.rotation, ratio),
        }
    }
}

impl Mul for Transform {
    type Output = Self;

    /// The transform `other`, then this one.
    fn mul(self, other: Self) -> Self {
        Self { translation: self * other.translation, rotation: self.rotation * other.rotation }
    }
}

impl Mul<Vector3> for Transform {
    type Output = Vector3;

    /// As [`apply`](Transform::apply).
    fn mul(self, point: Vector3) -> Vector3 {
        self.apply(point)
    }
}

impl From<msg::Transform> for Transform {
    fn from(message: msg::Transform) -> Self {
        Self::new(message.translation.into(), message.rotation.into())
    }
}

impl From<Transform> for msg::Transform {
    fn from(transform: Transform) -> Self {
        Self { translation: transform.translation.into(), rotation: transform.rotation.into() }
    }
}

impl From<msg::Pose> for Transform {
    /// The transform from the body whose pose it is to the frame of the pose.
    fn from(message: msg::Pose) -> Self {
        Self::new(message.position.into(), message.orientation.into())
    }
}

impl From<Transform> for msg::Pose {
    fn from(transform: Transform) -> Self {
        Self { position: transform.translation.into(), orientation: transform.rotation.into() }
    }
}
