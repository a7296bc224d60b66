//! A bridge that is killed and started again. The times until messages arrive are printed, and not checked.

use std::time::Instant;

use interop::messages::{Numbered, describe};
use interop::ros2::{Distro, Origin as Ros2Origin};
use interop::ros2_checks::expect_line;
use interop::{Origin, Server, TIMEOUT, wait_until};
use runnel::Graphs;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bridge_scene::{TwoGraphs, publish_until_received};

const KILTED: Ros2Origin = Ros2Origin::Ros2(Distro::Kilted);

/// Bridges, of which each but the last is killed.
const BRIDGES: u32 = 3;

fn kill(mut bridge: Peer) {
    bridge.signal(Signal::KILL).unwrap();
    bridge.wait_exit(deadline_in(TIMEOUT)).unwrap();
}

#[test]
fn runnel_ends_are_joined_again() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let (one, two) = (graphs.end(Graphs::Ros1, "one"), graphs.end(Graphs::Ros2, "two"));
    let (to_ros2, to_ros1) = (one.publisher("there"), two.publisher("back"));
    let (there, back) = (two.collect("there"), one.collect("back"));
    for number in 1..=BRIDGES {
        let (bridge, started) = (graphs.bridge(), Instant::now());
        let text = format!("bridge {number}");
        publish_until_received(&to_ros2, &text, &there);
        publish_until_received(&to_ros1, &text, &back);
        println!("{text}: Runnel ends are joined after {:?}", started.elapsed());
        kill(bridge);
    }
}

/// Checks that texts of the talker, which does not end, arrive by each of several bridges. A listener prints the text of a
/// number as a line that ends with `printed`.
fn are_joined_again(graphs: &TwoGraphs, talker: &Peer, listener: &Peer, printed: impl Fn(usize) -> String) {
    let sent = || talker.lines().iter().filter(|line| line.starts_with("sent ")).count();
    for number in 1..=BRIDGES {
        let before = sent();
        let (bridge, started) = (graphs.bridge(), Instant::now());
        wait_until("a text that was sent by now has arrived", deadline_in(TIMEOUT), || {
            let lines = listener.lines();
            (before + 1..=sent()).any(|text| lines.iter().any(|line| line.ends_with(&printed(text))))
        });
        let names = (talker.name(), listener.name());
        println!("bridge {number}: {} and {} are joined after {:?}", names.0, names.1, started.elapsed());
        kill(bridge);
    }
}

#[test]
fn rospy_talker_reaches_rclpy_listener_again() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let mut listener = graphs.ros2.listener(KILTED, &["/text", "--show"]);
    expect_line(&mut listener, "ready");
    let talker = graphs.master.graph().talker(Origin::Rospy, &["/text", "--wait", "0", "--rate", "20"]);
    are_joined_again(&graphs, &talker, &listener, |number| format!("{{\"data\":\"hello {number}\"}}"));
}

#[test]
fn rclpy_talker_reaches_rospy_listener_again() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let mut listener = graphs.master.graph().listener(Origin::Rospy, &["/text"]);
    expect_line(&mut listener, "ready");
    let talker = graphs.ros2.talker(KILTED, &["/text", "--wait", "0", "--rate", "20"]);
    let printed = |number: usize| describe(&Text::numbered(number as u32, 0));
    are_joined_again(&graphs, &talker, &listener, |number| format!(" {}", printed(number)));
}
