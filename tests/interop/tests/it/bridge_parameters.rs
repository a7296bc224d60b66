//! Parameters of a rclpy node that `runnel bridge` also keeps at the ROS 1 master.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use interop::ros2::Distro;
use interop::ros2_checks::expect_line;
use interop::{Server, TIMEOUT, ready, wait_until};
use runnel::{Context, Error, Graphs, Node, Parameter, ParameterClient};
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bridge_scene::TwoGraphs;

const NODE: &str = "/settings";

struct Scene {
    graphs: TwoGraphs,
    bridge: Peer,
    peer: Peer,
    ros1: (Context, Node),
    ros2: (Context, Node),
    spinning: Option<JoinHandle<Result<(), Error>>>,
}

impl Scene {
    fn new(server: Server) -> Self {
        let graphs = TwoGraphs::new(server);
        let bridge = graphs.runnel(&["bridge", "--parameters", NODE]);
        let peer = ready(graphs.ros2.rclpy(Distro::Kilted, "parameter_node.py", "settings", &[]));
        let [ros1, ros2] = [Graphs::Ros1, Graphs::Ros2].map(|of| {
            let context = Context::with_options(graphs.options(of)).unwrap();
            let node = context.create_node("end").unwrap();
            (context, node)
        });
        let spun = ros2.0.clone();
        let spinning = Some(thread::spawn(move || spun.spin()));
        let scene = Self { graphs, bridge, peer, ros1, ros2, spinning };
        scene.wait_at_master("rate", 10.0);
        scene
    }

    fn at_master(&self, name: &str) -> Option<f64> {
        self.ros1.1.get_param(&format!("{NODE}/{name}")).unwrap()
    }

    fn wait_at_master(&self, name: &str, value: f64) {
        wait_until(&format!("{name} is {value} at the master"), deadline_in(TIMEOUT), || {
            self.at_master(name) == Some(value)
        });
    }

    fn set_at_master(&self, name: &str, value: f64) {
        self.ros1.1.set_param(&format!("{NODE}/{name}"), value).unwrap();
    }

    fn client(&self) -> ParameterClient {
        let client = self.ros2.1.create_parameter_client(NODE).unwrap();
        assert!(client.wait_for_services(Duration::from_secs(TIMEOUT)).unwrap());
        client
    }

    /// How often the node was asked to set `rate`.
    fn changes(&self) -> usize {
        self.peer.lines().iter().filter(|line| line.starts_with("rate ")).count()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.ros1.0.shutdown();
        self.ros2.0.shutdown();
        self.spinning.take().map(JoinHandle::join);
    }
}

#[test]
fn parameters_change_both_ways() {
    let mut scene = Scene::new(Server::Rosmaster);
    scene.wait_at_master("limits/low", 2.0);
    scene.set_at_master("rate", 20.0);
    expect_line(&mut scene.peer, "rate 20.0");
    // The master does not know that it is a double.
    scene.ros1.1.set_param("/settings/rate", 30).unwrap();
    expect_line(&mut scene.peer, "rate 30.0");
    let client = scene.client();
    client.set_parameters(&[Parameter::new("rate", 40.0)]).unwrap().remove(0).unwrap();
    scene.wait_at_master("rate", 40.0);
    let rows = scene.graphs.reported("parameters");
    assert_eq!((&rows[0].1["node"], &rows[0].1["state"]), (&NODE.into(), &"carried".into()));
}

#[test]
fn refused_parameter_is_restored_at_the_master() {
    let mut scene = Scene::new(Server::Runnel);
    scene.ros1.1.set_param("/settings/limits/low", 3).unwrap();
    let is_reason = |line: &str| line.contains("parameter limits.low") && line.contains("3 is odd");
    scene.bridge.wait_for_line(is_reason, deadline_in(TIMEOUT)).unwrap();
    scene.wait_at_master("limits/low", 2.0);
}

#[test]
fn parameters_do_not_echo() {
    let scene = Scene::new(Server::Rosmaster);
    let client = scene.client();
    for number in 1..=10 {
        let value = f64::from(number) + 50.0;
        scene.set_at_master("rate", value);
        client.set_parameters(&[Parameter::new("rate", value + 0.5)]).unwrap().remove(0).unwrap();
    }
    // Changes that follow have come through, so that nothing earlier is on its way.
    let pass = |low: i64| {
        scene.ros1.1.set_param("/settings/limits/low", low).unwrap();
        wait_until("the other parameter is set", deadline_in(TIMEOUT), || {
            client.get_parameter("limits.low").unwrap() == Some(low.into())
        });
    };
    pass(4);
    client.set_parameters(&[Parameter::new("rate", 99.0)]).unwrap().remove(0).unwrap();
    scene.wait_at_master("rate", 99.0);
    pass(6);
    let rate = client.get_parameter("rate").unwrap();
    assert_eq!((rate, scene.at_master("rate")), (Some(99.0.into()), Some(99.0)));
    assert!(scene.changes() <= 21, "{}", scene.peer.output());
}

#[test]
fn parameters_end_with_their_node() {
    let mut scene = Scene::new(Server::Runnel);
    scene.peer.signal(Signal::INT).unwrap();
    scene.peer.wait_exit(deadline_in(TIMEOUT)).unwrap();
    wait_until("the master forgets them", deadline_in(TIMEOUT), || scene.at_master("rate").is_none());
}
