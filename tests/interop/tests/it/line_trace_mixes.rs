//! The line tracer in every mix of generations: robot and tracer each in ROS 1, in ROS 2 or in both, and a robot that rospy or
//! rclpy controls.

use std::sync::{Mutex, MutexGuard, PoisonError};

use interop::mouse::Mouse;
use interop::ros2::{Distro, Ros2Graph};
use interop::{Master, Ros1Graph, Server, built, ready, wait_until};
use runnel_testkit::process::{Peer, deadline_in};

/// Seconds that a lap and all before it may take on a busy host.
const LAP: u64 = 150;

/// Where a node of ours is, as its options say.
const ROS_1: &[&str] = &[];
const ROS_2: &[&str] = &["--ros2"];
const BOTH: &[&str] = &["--both"];

/// A master, a domain, and what is started there.
struct Place {
    ros2: Ros2Graph,
    master: Master,
    /// One robot drives at a time: its sensors are to be heard in time.
    _alone: MutexGuard<'static, ()>,
}

impl Place {
    fn new() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let master = Master::start(Server::Runnel);
        let uri = master.graph().master_uri().to_owned();
        Self { ros2: Ros2Graph::new().with("ROS_MASTER_URI", uri), master, _alone: alone }
    }

    fn ros1(&self) -> &Ros1Graph {
        self.master.graph()
    }

    fn line_trace(&self, role: &[&str], options: &[&str]) -> Peer {
        let mut command = self.ros2.command(built("line_trace"));
        command.args(role).args(options);
        Peer::spawn(role[0], command).expect("it starts")
    }

    fn tracer(&self, options: &[&str]) -> Peer {
        self.line_trace(&["tracer"], options)
    }
}

/// Metres a second that the robot makes at least when it follows the line, and for how many messages on end, 20 a second:
/// without a line it gives up after a second.
const DRIVES: f64 = 0.05;
const FOR: usize = 100;

#[test]
#[ignore = "in ./test --full"]
fn robot_and_tracer_follow_the_line_wherever_they_have_a_graph_in_common() {
    for (robot, tracer) in
        [(ROS_2, ROS_2), (BOTH, BOTH), (ROS_1, BOTH), (BOTH, ROS_1), (ROS_2, BOTH), (BOTH, ROS_2)]
    {
        let place = Place::new();
        let nodes = [place.line_trace(&["control", "--simulate"], robot), place.tracer(tracer)];
        let mut speed = place.ros2.command(built("runnel"));
        speed.args(["topic", "echo", "/odom", "--csv", "--field", "twist.twist.linear.x"]);
        let mut speed = Peer::spawn("echo", speed).expect("it starts");
        let mut driven = 0;
        let drives = |line: &str| {
            let is_fast = line.parse().is_ok_and(|speed: f64| speed > DRIVES);
            driven = if is_fast { driven + 1 } else { 0 };
            driven == FOR
        };
        let followed = speed.wait_for_line(drives, deadline_in(LAP));
        let said = nodes.each_ref().map(Peer::output).concat();
        assert!(followed.is_ok() && !said.contains("ERROR"), "robot {robot:?}, tracer {tracer:?}: {said}");
    }
}

#[test]
fn a_robot_and_a_tracer_that_have_no_graph_in_common_say_so() {
    let who_is_not_met = |of: &str| format!(" within 5 s: who is in {of} alone is not met");
    for (robot, tracer, graphs) in [(ROS_1, ROS_2, ["ROS 1", "ROS 2"]), (ROS_2, ROS_1, ["ROS 2", "ROS 1"])] {
        let place = Place::new();
        let mut control = place.line_trace(&["control", "--simulate"], robot);
        let mut tracer = place.tracer(tracer);
        let [here, there] = graphs;
        let says = |peer: &mut Peer, nobody: &str, here: &str, there: &str| {
            let expected = format!("{nobody} in {here}{}", who_is_not_met(there));
            peer.wait_for_line(|line| line.contains(&expected), deadline_in(LAP)).unwrap();
        };
        says(&mut control, "nobody publishes cmd_vel", here, there);
        says(&mut tracer, "nobody publishes light_sensors", there, here);
    }
}

#[test]
fn the_whole_robot_drives_a_lap_in_one_process_in_ros_2() {
    let place = Place::new();
    let mut watch = place.line_trace(&["watch"], ROS_2);
    let _robot = place.line_trace(&["robot", "--simulate"], ROS_2);
    watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap");
}

#[test]
#[ignore = "in ./test --full"]
fn our_tracer_drives_a_robot_that_rclpy_controls_from_ros_2_and_from_both() {
    for tracer in [ROS_2, BOTH] {
        let (place, mouse) = (Place::new(), Mouse::start());
        let folder = mouse.folder().to_str().expect("a name in UTF-8");
        let _control = ready(place.ros2.rclpy(Distro::Kilted, "mouse_control.py", "control", &[folder]));
        let _tracer = place.tracer(tracer);
        wait_until("a lap", deadline_in(LAP), || mouse.laps() > 0);
    }
}

#[test]
#[ignore = "in ./test --full"]
fn a_tracer_in_both_graphs_drives_a_robot_that_rospy_controls() {
    let (place, mouse) = (Place::new(), Mouse::start());
    let folder = mouse.folder().to_str().expect("a name in UTF-8");
    let _control = ready(place.ros1().rospy("mouse_control.py", &[folder]));
    let _tracer = place.tracer(BOTH);
    wait_until("a lap", deadline_in(LAP), || mouse.laps() > 0);
}

#[test]
fn a_rospy_tracer_drives_our_robot_in_both_graphs() {
    let place = Place::new();
    // A lap is told by who hears the tracer, too.
    let mut watch = place.line_trace(&["watch"], BOTH);
    let _control = place.line_trace(&["control", "--simulate"], BOTH);
    let _tracer = ready(place.ros1().rospy("mouse_tracer.py", &[]));
    watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap");
}
