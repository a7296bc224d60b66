//! Signals between robot and tracer, with the fields of their messages.

/// Brightness under the four sensors of the line-tracing unit; larger values are brighter.
///
/// The fields are those of `raspimouse_msgs/LightSensors`, named for the distance sensors that the unit replaces. Its
/// order differs: see [`LightSensors::row`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LightSensors {
    /// The left end of the row.
    pub forward_r: i16,
    /// The right end of the row.
    pub forward_l: i16,
    /// Right of the middle of the row.
    pub left: i16,
    /// Left of the middle of the row.
    pub right: i16,
}

impl LightSensors {
    /// The message for four values given from left to right, seen in the direction of travel.
    pub fn from_row([far_left, mid_left, mid_right, far_right]: [i16; 4]) -> Self {
        Self { forward_r: far_left, right: mid_left, left: mid_right, forward_l: far_right }
    }

    /// The values from left to right, seen in the direction of travel.
    pub fn row(self) -> [i16; 4] {
        [self.forward_r, self.right, self.left, self.forward_l]
    }
}

/// The three push buttons, true while held: `raspimouse_msgs/Switches`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// The front one.
    pub switch0: bool,
    /// The middle one.
    pub switch1: bool,
    /// The rear one.
    pub switch2: bool,
}

impl Switches {
    /// True while at least one is held.
    pub fn any(self) -> bool {
        self.switch0 || self.switch1 || self.switch2
    }
}

/// The four LEDs, true when lit: `raspimouse_msgs/Leds`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leds {
    /// The first LED.
    pub led0: bool,
    /// The second LED.
    pub led1: bool,
    /// The third LED.
    pub led2: bool,
    /// The fourth LED.
    pub led3: bool,
}

impl Leds {
    /// The message for the four LEDs in order.
    pub fn from_row([led0, led1, led2, led3]: [bool; 4]) -> Self {
        Self { led0, led1, led2, led3 }
    }
}

/// The part of `geometry_msgs/Twist` that a two-wheeled robot can follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Velocity {
    /// `linear.x`, metres per second, forward positive.
    pub linear: f64,
    /// `angular.z`, radians per second, counter-clockwise positive.
    pub angular: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_survives_conversion() {
        let row = [1, 2, 3, 4];
        assert_eq!(LightSensors::from_row(row).row(), row);
    }

    #[test]
    fn row_order_matches_the_line_tracing_unit() {
        let message = LightSensors { forward_r: 1, right: 2, left: 3, forward_l: 4 };
        assert_eq!(message.row(), [1, 2, 3, 4]);
    }

    #[test]
    fn any_is_true_for_one_held_switch() {
        assert!(Switches { switch2: true, ..Switches::default() }.any());
        assert!(!Switches::default().any());
    }
}
