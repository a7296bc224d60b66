//! How to drive, given what the sensors see.

use crate::signals::Velocity;

/// How far off the line lies, in the measure of [`Steering::error`], when only an outer sensor sees it.
const OUTER_ERROR: f64 = 1.6;

/// How fast to drive and how sharply to steer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteeringSettings {
    /// Speed when the line lies straight ahead, metres per second.
    pub speed: f64,
    /// Turning, in radians per second, when one inner sensor sees nothing but line and the other none of it.
    pub gain: f64,
    /// Share of the speed that is given up then, 0.0 to 1.0.
    pub slowing: f64,
    /// For how long to look for a line that no sensor sees, turning to where it was seen last; seconds.
    pub patience: f64,
}

impl Default for SteeringSettings {
    fn default() -> Self {
        Self { speed: 0.3, gain: 2.5, slowing: 0.4, patience: 1.0 }
    }
}

/// Proportional steering, with a memory of the side on which the line was seen last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steering {
    settings: SteeringSettings,
    /// The last error.
    error: f64,
    seen: [bool; 4],
    seen_at: f64,
}

impl Steering {
    pub(super) fn new(settings: SteeringSettings, now: f64) -> Self {
        Self { settings, error: 0.0, seen: [false; 4], seen_at: now }
    }

    /// The velocity for sensors, from left to right, that see this; `None` once the line is lost for too long.
    pub(super) fn steer(&mut self, now: f64, darkness: [f64; 4], on_line: [bool; 4]) -> Option<Velocity> {
        self.seen = on_line;
        if on_line.contains(&true) {
            self.seen_at = now;
            self.error = error(darkness, on_line);
        } else if now - self.seen_at > self.settings.patience {
            return None;
        } else {
            self.error = OUTER_ERROR.copysign(self.error);
        }
        Some(self.velocity())
    }

    /// Which sensors saw the line last time.
    pub(super) fn seen(&self) -> [bool; 4] {
        self.seen
    }

    fn velocity(&self) -> Velocity {
        let SteeringSettings { speed, gain, slowing, .. } = self.settings;
        let off = self.error.abs().min(1.0);
        Velocity { linear: speed * (1.0 - slowing * off), angular: gain * self.error }
    }
}

/// How far to the left the line lies: in proportion to the difference of the inner sensors while they see it,
/// and a fixed amount when it has gone under an outer one.
fn error([_, mid_left, mid_right, _]: [f64; 4], on_line: [bool; 4]) -> f64 {
    match on_line {
        [true, _, _, false] => OUTER_ERROR,
        [false, _, _, true] => -OUTER_ERROR,
        _ => mid_left - mid_right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steer(darkness: [f64; 4]) -> Velocity {
        let mut steering = Steering::new(SteeringSettings::default(), 0.0);
        steering.steer(0.0, darkness, darkness.map(|share| share > 0.5)).unwrap()
    }

    #[test]
    fn it_drives_straight_with_the_line_in_the_middle() {
        let SteeringSettings { speed, .. } = SteeringSettings::default();
        assert_eq!(steer([0.0, 0.75, 0.75, 0.0]), Velocity { linear: speed, angular: 0.0 });
    }

    #[test]
    fn it_turns_to_the_side_of_the_line_in_proportion() {
        let (little, much) = (steer([0.0, 0.9, 0.6, 0.0]), steer([0.0, 1.0, 0.2, 0.0]));
        assert!(little.angular > 0.0 && much.angular > 2.0 * little.angular);
        assert!(much.linear < little.linear, "it slows down in curves");
        assert_eq!(steer([0.0, 0.6, 0.9, 0.0]).angular, -little.angular);
    }

    #[test]
    fn an_outer_sensor_outweighs_the_inner_ones() {
        assert!(steer([0.9, 0.0, 0.0, 0.0]).angular > steer([0.0, 1.0, 0.0, 0.0]).angular);
        assert!(steer([0.0, 0.0, 0.0, 0.9]).angular < steer([0.0, 0.0, 1.0, 0.0]).angular);
    }

    #[test]
    fn a_lost_line_is_looked_for_where_it_was_seen_last_and_then_given_up() {
        let settings = SteeringSettings::default();
        let mut steering = Steering::new(settings, 0.0);
        steering.steer(0.0, [0.0, 0.0, 0.9, 0.0], [false, false, true, false]).unwrap();
        let looking = steering.steer(0.5, [0.0; 4], [false; 4]).unwrap();
        assert!(looking.angular < 0.0 && looking.linear < settings.speed);
        assert!(steering.steer(settings.patience, [0.0; 4], [false; 4]).is_some());
        assert_eq!(steering.steer(settings.patience + 0.01, [0.0; 4], [false; 4]), None);
    }
}
