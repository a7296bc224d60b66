//! The line tracer in every mix of generations: robot and tracer each in ROS 1, in ROS 2 or in both, and a robot that
//! rospy or rclpy controls.

use std::sync::{Mutex, MutexGuard, PoisonError};

use interop::mouse::Mouse;
use interop::ros2::{Distro, Ros2Graph};
use interop::{Master, Ros1Graph, Server, built, ready, wait_until};
use runnel_testkit::process::{Peer, deadline_in};

/// Time limit of a lap with its preparation on a busy host, in seconds.
const LAP: u64 = 150;

/// Options that select the graphs of a node.
const ROS_1: &[&str] = &[];
const ROS_2: &[&str] = &["--ros2"];
const BOTH: &[&str] = &["--both"];

/// A master, a domain, and the programs in them.
struct Setup {
    ros2: Ros2Graph,
    master: Master,
    /// One robot drives at a time: its sensor values must arrive in time.
    _exclusive: MutexGuard<'static, ()>,
}

impl Setup {
    fn new() -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let exclusive = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let master = Master::start(Server::Runnel);
        let uri = master.graph().master_uri().to_owned();
        Self { ros2: Ros2Graph::new().with("ROS_MASTER_URI", uri), master, _exclusive: exclusive }
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

/// Lowest speed of a robot that follows the line, metres per second, and the number of consecutive messages with it,
/// 20 a second: without a line the robot gives up after a second.
const DRIVES: f64 = 0.05;
const FOR: usize = 100;

#[test]
#[ignore = "in ./test --full"]
fn robot_and_tracer_drive_with_common_graph() {
    for (robot, tracer) in
        [(ROS_2, ROS_2), (BOTH, BOTH), (ROS_1, BOTH), (BOTH, ROS_1), (ROS_2, BOTH), (BOTH, ROS_2)]
    {
        let setup = Setup::new();
        let nodes = [setup.line_trace(&["control", "--simulate"], robot), setup.tracer(tracer)];
        let mut speed = setup.ros2.command(built("runnel"));
        speed.args(["topic", "echo", "/odom", "--csv", "--field", "twist.twist.linear.x"]);
        let mut speed = Peer::spawn("echo", speed).expect("it starts");
        let mut driven = 0;
        let drives = |line: &str| {
            let is_fast = line.parse().is_ok_and(|speed: f64| speed > DRIVES);
            driven = if is_fast { driven + 1 } else { 0 };
            driven == FOR
        };
        let followed = speed.wait_for_line(drives, deadline_in(LAP));
        let printed = nodes.each_ref().map(Peer::output).concat();
        assert!(
            followed.is_ok() && !printed.contains("ERROR"),
            "robot {robot:?}, tracer {tracer:?}: {printed}"
        );
    }
}

#[test]
fn robot_and_tracer_warn_without_common_graph() {
    for (robot, tracer, graphs) in [(ROS_1, ROS_2, ["ROS 1", "ROS 2"]), (ROS_2, ROS_1, ["ROS 2", "ROS 1"])] {
        let setup = Setup::new();
        let mut control = setup.line_trace(&["control", "--simulate"], robot);
        let mut tracer = setup.tracer(tracer);
        let [here, there] = graphs;
        let warns = |peer: &mut Peer, topic: &str, here: &str, there: &str| {
            let expected = format!(
                "no publisher of {topic} in {here} within 5 s: nodes that are only in {there} are not found"
            );
            peer.wait_for_line(|line| line.contains(&expected), deadline_in(LAP)).unwrap();
        };
        warns(&mut control, "cmd_vel", here, there);
        warns(&mut tracer, "light_sensors", there, here);
    }
}

#[test]
fn whole_robot_drives_lap_in_one_ros2_process() {
    let setup = Setup::new();
    let mut watch = setup.line_trace(&["watch"], ROS_2);
    let _robot = setup.line_trace(&["robot", "--simulate"], ROS_2);
    watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap");
}

#[test]
#[ignore = "in ./test --full"]
fn our_tracer_drives_rclpy_robot() {
    for tracer in [ROS_2, BOTH] {
        let (setup, mouse) = (Setup::new(), Mouse::start());
        let folder = mouse.folder().to_str().expect("a name in UTF-8");
        let _control = ready(setup.ros2.rclpy(Distro::Kilted, "mouse_control.py", "control", &[folder]));
        let _tracer = setup.tracer(tracer);
        wait_until("a lap", deadline_in(LAP), || mouse.laps() > 0);
    }
}

#[test]
#[ignore = "in ./test --full"]
fn dual_tracer_drives_rospy_robot() {
    let (setup, mouse) = (Setup::new(), Mouse::start());
    let folder = mouse.folder().to_str().expect("a name in UTF-8");
    let _control = ready(setup.ros1().rospy("mouse_control.py", &[folder]));
    let _tracer = setup.tracer(BOTH);
    wait_until("a lap", deadline_in(LAP), || mouse.laps() > 0);
}

#[test]
fn rospy_tracer_drives_dual_robot() {
    let setup = Setup::new();
    // The watcher prints laps also with a rospy tracer.
    let mut watch = setup.line_trace(&["watch"], BOTH);
    let _control = setup.line_trace(&["control", "--simulate"], BOTH);
    let _tracer = ready(setup.ros1().rospy("mouse_tracer.py", &[]));
    watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap");
}
