//! Conversions between the library's types and the messages.

use crate::geometry::{Point, Pose};
use crate::signals::{Leds, LightSensors, Switches, Velocity};
use runnel::msgs::geometry_msgs::msg::{Quaternion, Twist, Vector3};
use runnel::msgs::{geometry_msgs, raspimouse_msgs};

macro_rules! same_fields {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl From<$name> for raspimouse_msgs::msg::$name {
            fn from($name { $($field),* }: $name) -> Self {
                Self { $($field),* }
            }
        }

        impl From<&raspimouse_msgs::msg::$name> for $name {
            fn from(message: &raspimouse_msgs::msg::$name) -> Self {
                Self { $($field: message.$field),* }
            }
        }
    )*};
}
same_fields! {
    LightSensors { forward_r, forward_l, left, right }
    Switches { switch0, switch1, switch2 }
    Leds { led0, led1, led2, led3 }
}

impl From<Velocity> for Twist {
    fn from(velocity: Velocity) -> Self {
        Self {
            linear: Vector3 { x: velocity.linear, ..Vector3::default() },
            angular: Vector3 { z: velocity.angular, ..Vector3::default() },
        }
    }
}

impl From<&Twist> for Velocity {
    fn from(message: &Twist) -> Self {
        Self { linear: message.linear.x, angular: message.angular.z }
    }
}

impl From<Pose> for geometry_msgs::msg::Pose {
    fn from(Pose { position, heading }: Pose) -> Self {
        let half = heading / 2.0;
        Self {
            position: geometry_msgs::msg::Point { x: position.x, y: position.y, z: 0.0 },
            orientation: Quaternion { z: half.sin(), w: half.cos(), ..Quaternion::default() },
        }
    }
}

impl From<&geometry_msgs::msg::Pose> for Pose {
    /// The pose on the floor; height and tilt are dropped.
    fn from(message: &geometry_msgs::msg::Pose) -> Self {
        let Quaternion { x, y, z, w } = message.orientation;
        let heading = (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (y * y + z * z));
        Self { position: Point::new(message.position.x, message.position.y), heading }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_survive_conversion() {
        let sensors = LightSensors::from_row([1, 2, 3, 4]);
        assert_eq!(LightSensors::from(&raspimouse_msgs::msg::LightSensors::from(sensors)), sensors);
        let switches = Switches { switch1: true, ..Switches::default() };
        assert_eq!(Switches::from(&raspimouse_msgs::msg::Switches::from(switches)), switches);
        let leds = Leds::from_row([true, false, false, true]);
        assert_eq!(Leds::from(&raspimouse_msgs::msg::Leds::from(leds)), leds);
        let velocity = Velocity { linear: 0.25, angular: -1.5 };
        assert_eq!(Velocity::from(&Twist::from(velocity)), velocity);
    }

    #[test]
    fn pose_survives_conversion_in_every_quadrant() {
        for heading in [-3.1, -1.0, 0.0, 0.7, 2.5] {
            let pose = Pose { position: Point::new(0.4, 0.8), heading };
            let back = Pose::from(&geometry_msgs::msg::Pose::from(pose));
            assert_eq!(back.position, pose.position);
            assert!((back.heading - heading).abs() < 1e-12, "{} {heading}", back.heading);
        }
    }
}
