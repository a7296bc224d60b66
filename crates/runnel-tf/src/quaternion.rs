//! Rotations as quaternions.

use core::f64::consts::{FRAC_PI_2, PI};
use core::ops::Mul;

use runnel_msgs::geometry_msgs::msg;

use crate::vector::Vector3;

/// Cosine of an angle between quaternions above which their interpolation is linear: the sine of a smaller angle
/// divides by nearly nothing.
const NEARLY_EQUAL: f64 = 0.999_999;

/// Sine of a pitch above which roll and yaw turn about the same axis.
const GIMBAL_LOCK: f64 = 1.0 - 1e-12;

/// A rotation as a quaternion of length 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quaternion {
    /// First component of the axis, times the sine of half the angle.
    pub x: f64,
    /// Second component of the axis, times the sine of half the angle.
    pub y: f64,
    /// Third component of the axis, times the sine of half the angle.
    pub z: f64,
    /// Cosine of half the angle.
    pub w: f64,
}

impl Default for Quaternion {
    /// No rotation.
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Quaternion {
    /// No rotation.
    pub const IDENTITY: Self = Self::new(0.0, 0.0, 0.0, 1.0);

    /// A quaternion of these components.
    pub const fn new(x: f64, y: f64, z: f64, w: f64) -> Self {
        Self { x, y, z, w }
    }

    /// The rotation by these angles in radians about the fixed axes x, then y, then z, as `setRPY` of tf2.
    pub fn from_rpy(roll: f64, pitch: f64, yaw: f64) -> Self {
        let [(sr, cr), (sp, cp), (sy, cy)] = [roll, pitch, yaw].map(|angle| (angle / 2.0).sin_cos());
        Self {
            x: sr * cp * cy - cr * sp * sy,
            y: cr * sp * cy + sr * cp * sy,
            z: cr * cp * sy - sr * sp * cy,
            w: cr * cp * cy + sr * sp * sy,
        }
    }

    /// The rotation about an axis by an angle in radians. The axis may have any length; zero gives no rotation.
    pub fn from_axis_angle(axis: Vector3, angle: f64) -> Self {
        let length = axis.norm();
        if length == 0.0 {
            return Self::IDENTITY;
        }
        let (sine, cosine) = (angle / 2.0).sin_cos();
        let Vector3 { x, y, z } = axis * (sine / length);
        Self { x, y, z, w: cosine }
    }

    /// Roll, pitch and yaw in radians: the angles of [`from_rpy`](Self::from_rpy). If the pitch is a right angle, the
    /// yaw is 0, as in tf2.
    pub fn to_rpy(self) -> [f64; 3] {
        let Self { x, y, z, w } = self;
        let sine = 2.0 * (w * y - z * x);
        if sine.abs() > GIMBAL_LOCK {
            return [wrapped(2.0 * x.atan2(w)), FRAC_PI_2.copysign(sine), 0.0];
        }
        let roll = (2.0 * (w * x + y * z)).atan2(1.0 - 2.0 * (x * x + y * y));
        let yaw = (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (y * y + z * z));
        [roll, sine.asin(), yaw]
    }

    /// The opposite rotation.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self { x: -self.x, y: -self.y, z: -self.z, w: self.w }
    }

    /// The vector, rotated.
    pub fn rotate(self, vector: Vector3) -> Vector3 {
        let axis = Vector3::new(self.x, self.y, self.z);
        let twice = axis.cross(vector) * 2.0;
        vector + twice * self.w + axis.cross(twice)
    }

    /// The rotation at `ratio` of the shorter way to `other`, at constant angular velocity.
    #[must_use]
    pub fn slerp(self, other: Self, ratio: f64) -> Self {
        let cosine = self.dot(other);
        // A quaternion and its negative are the same rotation.
        let (other, cosine) = if cosine < 0.0 { (other.scaled(-1.0), -cosine) } else { (other, cosine) };
        if cosine > NEARLY_EQUAL {
            return self.sum(1.0 - ratio, other, ratio).normalized().unwrap_or(self);
        }
        let angle = cosine.acos();
        let weight = |part: f64| (part * angle).sin() / angle.sin();
        self.sum(weight(1.0 - ratio), other, weight(ratio))
    }

    /// The angle in radians between two rotations, 0 to pi.
    pub fn angle_to(self, other: Self) -> f64 {
        let Self { x, y, z, w } = self.inverse() * other;
        2.0 * Vector3::new(x, y, z).norm().atan2(w.abs())
    }

    /// The quaternion with length 1. `None` if its length is zero or not finite.
    pub fn normalized(self) -> Option<Self> {
        let length = self.norm_squared().sqrt();
        (length > 0.0 && length.is_finite()).then(|| self.scaled(1.0 / length))
    }

    pub(crate) fn norm_squared(self) -> f64 {
        self.dot(self)
    }

    pub(crate) fn is_finite(self) -> bool {
        [self.x, self.y, self.z, self.w].iter().all(|component| component.is_finite())
    }

    fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z + self.w * other.w
    }

    fn scaled(self, factor: f64) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor, self.w * factor)
    }

    fn sum(self, weight: f64, other: Self, other_weight: f64) -> Self {
        let (one, other) = (self.scaled(weight), other.scaled(other_weight));
        Self::new(one.x + other.x, one.y + other.y, one.z + other.z, one.w + other.w)
    }
}

/// The same angle within -pi to pi.
fn wrapped(angle: f64) -> f64 {
    if angle > PI {
        angle - 2.0 * PI
    } else if angle < -PI {
        angle + 2.0 * PI
    } else {
        angle
    }
}

impl Mul for Quaternion {
    type Output = Self;

    /// The rotation by `other`, then by this one.
    fn mul(self, other: Self) -> Self {
        Self {
            x: self.w * other.x + self.x * other.w + self.y * other.z - self.z * other.y,
            y: self.w * other.y - self.x * other.z + self.y * other.w + self.z * other.x,
            z: self.w * other.z + self.x * other.y - self.y * other.x + self.z * other.w,
            w: self.w * other.w - self.x * other.x - self.y * other.y - self.z * other.z,
        }
    }
}

impl From<msg::Quaternion> for Quaternion {
    fn from(message: msg::Quaternion) -> Self {
        Self::new(message.x, message.y, message.z, message.w)
    }
}

impl From<Quaternion> for msg::Quaternion {
    fn from(rotation: Quaternion) -> Self {
        Self { x: rotation.x, y: rotation.y, z: rotation.z, w: rotation.w }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_close(one: Quaternion, other: Quaternion) -> bool {
        one.angle_to(other) < 1e-9 && (one.norm_squared() - 1.0).abs() < 1e-9
    }

    #[test]
    fn quarter_turn_about_z_takes_x_to_y() {
        let turned = Quaternion::from_rpy(0.0, 0.0, FRAC_PI_2).rotate(Vector3::new(1.0, 0.0, 2.0));
        assert!((turned - Vector3::new(0.0, 1.0, 2.0)).norm() < 1e-12, "{turned:?}");
    }

    #[test]
    fn angles_turn_about_fixed_axes_in_order() {
        let [roll, pitch, yaw] = [0.3, -0.4, 1.2];
        let axes = [Vector3::new(1.0, 0.0, 0.0), Vector3::new(0.0, 1.0, 0.0), Vector3::new(0.0, 0.0, 5.0)];
        let [x, y, z] = [0, 1, 2].map(|i| Quaternion::from_axis_angle(axes[i], [roll, pitch, yaw][i]));
        assert!(is_close(z * y * x, Quaternion::from_rpy(roll, pitch, yaw)));
        assert_eq!(Quaternion::from_axis_angle(Vector3::ZERO, 1.0), Quaternion::IDENTITY);
    }

    #[test]
    fn angles_survive_a_round_trip() {
        for angles in [[0.0, 0.0, 0.0], [0.1, 0.2, 0.3], [-3.0, 1.5, 3.1], [2.0, -1.2, -2.5]] {
            let [roll, pitch, yaw] = angles;
            let back = Quaternion::from_rpy(roll, pitch, yaw).to_rpy();
            assert!(back.iter().zip(angles).all(|(one, other)| (one - other).abs() < 1e-9), "{back:?}");
        }
    }

    #[test]
    fn upright_pitch_has_no_yaw() {
        for pitch in [FRAC_PI_2, -FRAC_PI_2] {
            for (roll, yaw) in [(0.0, 0.0), (0.5, -0.25), (-3.0, 2.0)] {
                let rotation = Quaternion::from_rpy(roll, pitch, yaw);
                let [back_roll, back_pitch, back_yaw] = rotation.to_rpy();
                assert_eq!((back_pitch, back_yaw), (pitch, 0.0));
                // Half a billionth of a turn is lost here, since a sine is flat at its top.
                let back = Quaternion::from_rpy(back_roll, back_pitch, back_yaw);
                assert!(back.angle_to(rotation) < 1e-5 && back_roll.abs() <= PI, "{roll} {pitch} {yaw}");
            }
        }
    }

    #[test]
    fn slerp_takes_the_shorter_way_at_constant_speed() {
        let axis = Vector3::new(1.0, 2.0, -1.0);
        let [from, to] = [0.2, 2.2].map(|angle| Quaternion::from_axis_angle(axis, angle));
        for ratio in [0.0, 0.25, 0.5, 1.0] {
            let expected = Quaternion::from_axis_angle(axis, 0.2 + 2.0 * ratio);
            assert!(is_close(from.slerp(to, ratio), expected), "{ratio}");
            assert!(is_close(from.slerp(to.scaled(-1.0), ratio), expected), "{ratio}");
        }
    }

    #[test]
    fn slerp_of_nearly_equal_rotations_is_sound() {
        let from = Quaternion::from_rpy(0.1, 0.2, 0.3);
        for step in [0.0, 1e-12, 1e-6, 1e-3] {
            let to = Quaternion::from_rpy(0.0, 0.0, step) * from;
            let middle = from.slerp(to, 0.5);
            assert!((middle.angle_to(from) - step / 2.0).abs() < 1e-9, "{step}");
            assert!((middle.norm_squared() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn only_quaternion_with_a_length_is_normalized() {
        assert_eq!(Quaternion::new(0.0, 0.0, 0.0, 2.0).normalized(), Some(Quaternion::IDENTITY));
        assert_eq!(Quaternion::new(0.0, 0.0, 0.0, 0.0).normalized(), None);
        assert_eq!(Quaternion::new(f64::INFINITY, 0.0, 0.0, 1.0).normalized(), None);
        assert_eq!(Quaternion::new(f64::NAN, 0.0, 0.0, 1.0).normalized(), None);
    }
}
