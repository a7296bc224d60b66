//! Tests of the simulated robot.

use super::*;

fn driving(linear: f64, angular: f64) -> Robot {
    made(Making::EXACT, linear, angular)
}

fn made(making: Making, linear: f64, angular: f64) -> Robot {
    let mut robot = Robot::made(making, Pose::default(), 1);
    robot.set_motor_power(true);
    robot.set_velocity(Velocity { linear, angular });
    robot
}

#[test]
fn slipping_wheels_shorten_and_widen_the_path() {
    let mut slipping = made(Making::USUAL, 0.2, 0.0);
    slipping.advance_to(0.5);
    let far = slipping.pose().position.x / (0.2 * (0.5 - MOTOR_LAG));
    assert!((0.96..0.995).contains(&far), "{far}");
    assert!(slipping.pose().position.y.abs() > 1e-6, "the wheels differ");
    let curve = |making| {
        let mut robot = made(making, 0.2, 4.0);
        robot.advance_to(0.4);
        robot.pose()
    };
    let slides = Making { slide: 0.05, ..Making::EXACT };
    let (held, slid) = (curve(Making::EXACT), curve(slides));
    assert_eq!(held.heading, slid.heading);
    // The circle's centre lies to the left.
    let centre = Point::new(0.0, 0.05);
    assert!(slid.position.distance(centre) > held.position.distance(centre) + 0.005, "{held:?} {slid:?}");
}

#[test]
fn slip_depends_only_on_the_seed() {
    let path = |seed| {
        let mut robot = Robot::new(Pose::default(), seed);
        robot.set_motor_power(true);
        robot.set_velocity(Velocity { linear: 0.3, angular: 0.0 });
        robot.advance_to(0.4);
        robot.pose()
    };
    assert_eq!(path(1), path(1));
    assert_ne!(path(1), path(2));
}

#[test]
fn robot_drives_straight_at_the_set_speed() {
    let mut robot = driving(0.2, 0.0);
    robot.advance_to(0.3);
    let before = robot.pose();
    robot.advance_to(0.5);
    let driven = robot.pose().position - before.position;
    assert!((driven.x - 0.04).abs() < 1e-4 && driven.y.abs() < 1e-9, "{driven:?}");
}

#[test]
fn positive_angular_velocity_turns_left() {
    let mut robot = driving(0.0, 1.0);
    robot.advance_to(0.5);
    assert!((robot.pose().heading - (0.5 - MOTOR_LAG)).abs() < 0.01, "{}", robot.pose().heading);
    assert!(robot.pose().position.length() < 1e-9);
}

#[test]
fn robot_drives_the_requested_circle() {
    let mut robot = driving(0.2, 2.0);
    for tenth in 1..5 {
        robot.advance_to(f64::from(tenth) / 10.0);
        let Pose { position, heading } = robot.pose();
        let expected = Point::new(0.1 * heading.sin(), 0.1 * (1.0 - heading.cos()));
        assert!(position.distance(expected) < 1e-6, "{position:?} {expected:?}");
    }
}

#[test]
fn wheels_lag_behind_the_target() {
    let mut robot = driving(0.3, 0.0);
    robot.advance_to(MOTOR_LAG);
    let share = robot.velocity().linear / 0.3;
    assert!((share - 0.632).abs() < 0.02, "{share}");
}

#[test]
fn robot_stands_without_motor_power() {
    let mut robot = driving(0.3, 1.0);
    robot.set_motor_power(false);
    robot.advance_to(0.4);
    assert_eq!(robot.pose(), Pose::default());
    robot.set_motor_power(true);
    robot.advance_to(0.45);
    assert!(robot.pose().position.x > 0.0, "power on again lets it drive");
    let there = robot.pose();
    robot.set_motor_power(false);
    robot.advance_to(0.48);
    assert_eq!((robot.pose(), robot.velocity()), (there, Velocity::default()), "power off stops it at once");
}

#[test]
fn robot_stops_when_velocities_stop_coming() {
    let mut robot = driving(0.2, 0.0);
    robot.advance_to(VELOCITY_TIMEOUT + 10.0 * MOTOR_LAG);
    assert!(robot.velocity().linear < 1e-4, "{:?}", robot.velocity());
    assert!(robot.pose().position.x < 0.2 * VELOCITY_TIMEOUT + 1e-3);
}

#[test]
fn any_received_velocity_is_handled() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
        let mut robot = driving(value, value);
        robot.advance_to(0.2);
        assert!(robot.pose().position.length() < 0.2 * MAX_WHEEL_SPEED * WHEEL_RADIUS, "{value}");
    }
}

#[test]
fn path_is_independent_of_call_frequency() {
    let (mut often, mut once) = (driving(0.2, 0.7), driving(0.2, 0.7));
    (1..=400).for_each(|ms| often.advance_to(f64::from(ms) / 1000.0));
    once.advance_to(0.4);
    assert_eq!(often.pose(), once.pose());
}

#[test]
fn sensor_reads_lower_over_the_line() {
    let track = Track::demonstration().unwrap();
    let on = track.course().pose_at(0.0);
    let mut robot = Robot::new(Pose { position: on.offset(-ROW_AHEAD, -ROW_PLACES[0]), ..on }, 3);
    let [far_left, mid_left, mid_right, far_right] = robot.light_sensors(&track).row();
    assert!(far_left < 150, "{far_left}");
    assert!([mid_left, mid_right, far_right].iter().all(|value| *value > 400));
}

#[test]
fn sensor_reads_between_at_the_line_edge() {
    let track = Track::demonstration().unwrap();
    let on = track.course().pose_at(0.0);
    let half = track.settings().line_width / 2.0;
    let pose = Pose { position: on.offset(-ROW_AHEAD, half - ROW_PLACES[1]), ..on };
    let mut robot = Robot::made(Making::EXACT, pose, 3);
    let value = robot.light_sensors(&track).row()[1];
    assert!((230..370).contains(&value), "{value}");
}

#[test]
fn noise_depends_only_on_the_seed() {
    let track = Track::demonstration().unwrap();
    let read = |seed| {
        let mut robot = Robot::new(track.course().pose_at(0.0), seed);
        [robot.light_sensors(&track), robot.light_sensors(&track)]
    };
    assert_eq!(read(5), read(5));
    assert_ne!(read(5), read(6));
    assert_ne!(read(5)[0], read(5)[1]);
}

#[test]
fn switch_is_released_after_hold_time() {
    let mut robot = Robot::new(Pose::default(), 1);
    robot.press(Switch::Middle, 0.1);
    assert_eq!(robot.switches(), Switches { switch1: true, ..Switches::default() });
    robot.advance_to(0.099);
    assert!(robot.switches().switch1);
    robot.advance_to(0.1);
    assert!(!robot.switches().any());
}

#[test]
fn negative_buzzer_frequency_is_silence() {
    let mut robot = Robot::new(Pose::default(), 1);
    robot.set_buzzer(440);
    assert_eq!(robot.buzzer(), 440);
    robot.set_buzzer(-440);
    assert_eq!(robot.buzzer(), 0);
}
