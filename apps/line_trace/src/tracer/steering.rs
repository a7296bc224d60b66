//! Steering from sensor readings.

use crate::signals::Velocity;

/// Error, as a difference of the inner sensors, when only an outer sensor sees the line.
const OUTER_ERROR: f64 = 1.6;

/// Below this error the line counts as being under the middle of the row.
const CENTRED: f64 = 0.5;

/// If an outer sensor saw the line within this time before it was lost, the line turned off to that side. Seconds.
const TURN_OFF: f64 = 0.15;

/// Share of the speed while searching for a lost line.
const SEARCH_SPEED: f64 = 0.2;

/// Parameters of speed and steering.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Settings {
    /// Speed when the line is straight ahead, metres per second.
    speed: f64,
    /// Turning rate, radians per second, when one inner sensor sees only line and the other only floor.
    gain: f64,
    /// Speed reduction in that case, 0.0 to 1.0.
    slowing: f64,
    /// How long to drive straight on when the line ends ahead, as it may only be interrupted; seconds.
    coasting: f64,
    /// How long to search for a line that no sensor sees, turning to its last known side; seconds.
    patience: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { speed: 0.3, gain: 2.5, slowing: 0.4, coasting: 0.35, patience: 1.0 }
    }
}

/// Proportional steering that remembers where the line was last seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steering {
    settings: Settings,
    /// The last error: how far to the left the line lies.
    error: f64,
    seen: [bool; 4],
    seen_at: f64,
    /// The side to which the line turned off, from an outer sensor, and when.
    turn_off: Option<(f64, f64)>,
}

impl Steering {
    pub(super) fn new(now: f64) -> Self {
        Self { settings: Settings::default(), error: 0.0, seen: [false; 4], seen_at: now, turn_off: None }
    }

    /// The velocity for these sensor readings, from left to right; `None` once the line is lost for too long.
    pub(super) fn steer(&mut self, now: f64, darkness: [f64; 4], on_line: [bool; 4]) -> Option<Velocity> {
        self.seen = on_line;
        if on_line.contains(&true) {
            self.seen_at = now;
            self.error = error(darkness, on_line);
            self.watch_sides(now, on_line);
            return Some(self.velocity());
        }
        let lost_for = now - self.seen_at;
        (lost_for <= self.settings.patience).then(|| self.search_for_line(lost_for))
    }

    /// Which sensors saw the line in the last reading.
    pub(super) fn seen(&self) -> [bool; 4] {
        self.seen
    }

    /// One outer sensor sees a line that turns off; both see one that crosses.
    fn watch_sides(&mut self, now: f64, [far_left, .., far_right]: [bool; 4]) {
        match (far_left, far_right) {
            (true, false) => self.turn_off = Some((1.0, now)),
            (false, true) => self.turn_off = Some((-1.0, now)),
            (true, true) => self.turn_off = None,
            (false, false) => {}
        }
    }

    /// Turns to the side where the line turned off; if it ended ahead, first drives straight on for a while.
    fn search_for_line(&mut self, lost_for: f64) -> Velocity {
        let Settings { speed, gain, coasting, .. } = self.settings;
        let turned_off = self.turn_off.filter(|(_, at)| self.seen_at - at <= TURN_OFF);
        let side = match turned_off {
            Some((side, _)) => side,
            None if self.error.abs() < CENTRED && lost_for <= coasting => {
                return Velocity { linear: speed, angular: 0.0 };
            }
            None => 1f64.copysign(self.error),
        };
        Velocity { linear: speed * SEARCH_SPEED, angular: gain * OUTER_ERROR * side }
    }

    fn velocity(&self) -> Velocity {
        let Settings { speed, gain, slowing, .. } = self.settings;
        let off = self.error.abs().min(1.0);
        Velocity { linear: speed * (1.0 - slowing * off), angular: gain * self.error }
    }
}

/// How far to the left the line lies: proportional to the difference of the inner sensors while they see it, and a
/// constant when only an outer sensor does.
fn error([_, mid_left, mid_right, _]: [f64; 4], on_line: [bool; 4]) -> f64 {
    match on_line {
        [true, false, false, false] => OUTER_ERROR,
        [false, false, false, true] => -OUTER_ERROR,
        _ => mid_left - mid_right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_line(darkness: [f64; 4]) -> [bool; 4] {
        darkness.map(|share| share > 0.5)
    }

    fn steer(darkness: [f64; 4]) -> Velocity {
        let mut steering = Steering::new(0.0);
        steering.steer(0.0, darkness, on_line(darkness)).unwrap()
    }

    /// The velocity 0.1 s after these readings, 0.02 s apart, followed by no line.
    fn after(rows: &[[f64; 4]]) -> Velocity {
        let mut steering = Steering::new(0.0);
        let mut now = 0.0;
        for row in rows {
            steering.steer(now, *row, on_line(*row)).unwrap();
            now += 0.02;
        }
        steering.steer(now + 0.08, [0.0; 4], [false; 4]).unwrap()
    }

    #[test]
    fn centred_line_drives_straight() {
        let Settings { speed, .. } = Settings::default();
        assert_eq!(steer([0.0, 0.75, 0.75, 0.0]), Velocity { linear: speed, angular: 0.0 });
    }

    #[test]
    fn turn_is_proportional_to_the_error() {
        let (little, much) = (steer([0.0, 0.9, 0.6, 0.0]), steer([0.0, 1.0, 0.2, 0.0]));
        assert!(little.angular > 0.0 && much.angular > 2.0 * little.angular);
        assert!(much.linear < little.linear, "it slows down in curves");
        assert_eq!(steer([0.0, 0.6, 0.9, 0.0]).angular, -little.angular);
    }

    #[test]
    fn outer_sensor_outweighs_inner_sensors() {
        assert!(steer([0.9, 0.0, 0.0, 0.0]).angular > steer([0.0, 1.0, 0.0, 0.0]).angular);
        assert!(steer([0.0, 0.0, 0.0, 0.9]).angular < steer([0.0, 0.0, 1.0, 0.0]).angular);
    }

    #[test]
    fn crossing_line_does_not_turn_robot() {
        for crossing in [[1.0, 0.8, 0.8, 0.0], [0.0, 0.8, 0.8, 1.0], [1.0; 4]] {
            assert_eq!(steer(crossing).angular, 0.0, "{crossing:?}");
        }
    }

    #[test]
    fn robot_turns_where_line_turned_off() {
        let straight = [0.0, 0.8, 0.8, 0.0];
        let left = after(&[straight, [1.0, 0.8, 0.8, 0.0]]);
        assert!(left.angular > 3.0 && left.linear < 0.1, "{left:?}");
        let right = after(&[straight, [0.0, 0.8, 0.8, 1.0]]);
        assert_eq!(right, Velocity { angular: -left.angular, ..left });
    }

    #[test]
    fn robot_crosses_gap_after_crossing_line() {
        let Settings { speed, coasting, .. } = Settings::default();
        let (straight, on) = ([0.0, 0.8, 0.7, 0.0], Velocity { linear: speed, angular: 0.0 });
        assert_eq!(after(&[straight]), on);
        assert_eq!(after(&[[1.0, 0.8, 0.8, 0.0], [1.0; 4], straight]), on);
        let long_ago: Vec<_> = [[1.0, 0.8, 0.8, 0.0]].into_iter().chain([straight; 10]).collect();
        assert_eq!(after(&long_ago), on);
        let mut steering = Steering::new(0.0);
        steering.steer(0.0, straight, on_line(straight)).unwrap();
        let searching = steering.steer(coasting + 0.01, [0.0; 4], [false; 4]).unwrap();
        assert!(
            searching.angular > 0.0 && searching.linear < 0.1,
            "it was a little to the left: {searching:?}"
        );
    }

    #[test]
    fn lost_line_is_searched_then_given_up() {
        let settings = Settings::default();
        let mut steering = Steering::new(0.0);
        steering.steer(0.0, [0.0, 0.0, 0.9, 0.0], [false, false, true, false]).unwrap();
        let searching = steering.steer(0.5, [0.0; 4], [false; 4]).unwrap();
        assert!(searching.angular < 0.0 && searching.linear < settings.speed);
        assert!(steering.steer(settings.patience, [0.0; 4], [false; 4]).is_some());
        assert_eq!(steering.steer(settings.patience + 0.01, [0.0; 4], [false; 4]), None);
    }
}
