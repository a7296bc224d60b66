//! The link's connection ends while the listener has lost the talker in ROS 2, which the talker does not know: ROS 2 has what is
//! published until there is another link.

use std::sync::Barrier;

use super::blackout::end_leases;
use super::*;

fn shut_links(driver: &Driver) {
    for socket in driver.sockets.iter() {
        if let Socket::Input(input) = socket {
            input.stream.shutdown().unwrap();
        }
    }
}

/// The talker has a link to the listener.
fn has_link(scene: &Scene) -> bool {
    let driver = scene.talker.inner.driver();
    driver.sockets.iter().any(|socket| match socket {
        Socket::Output(output) => output.stated.as_ref().is_some_and(|stated| stated.topic == "/count"),
        _ => false,
    })
}

/// Whether the listener loses the talker while their link stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loses {
    BeforeTheLinkEnds,
    OnceTheLinkHasEnded,
}

fn link_ends(loses: Loses) {
    let mut scene = Scene::joined_by_ros1(QoS::keep_all(), false);
    for is_meant in [is_of_ros1, is_rtps] {
        read(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("ROS 2 carries", is_carried_by_ros2);
    scene.spin_until("the link stands by", is_on_standby);
    // What is acknowledged from here on the talker does not get to know.
    read(&scene.talker, Interest::Nothing, is_rtps);
    scene.publish(BEFORE);
    scene.spin_until("all is heard", all_is_heard);
    read(&scene.node, Interest::Nothing, is_rtps);
    if loses == Loses::BeforeTheLinkEnds {
        end_leases(&scene.node);
        scene.spin_until("the listener has lost it", |scene| !is_met(scene));
    }
    scene.publish(BEFORE);
    if loses == Loses::BeforeTheLinkEnds {
        scene.spin_until("all is heard", all_is_heard);
    }

    let (listener, held, done) = (scene.node.clone(), Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // It makes no other link meanwhile.
            let driver = listener.inner.driver();
            shut_links(&driver);
            held.wait();
            done.wait();
            driver.ros2.rtps.as_ref().unwrap().end_leases();
        });
        held.wait();
        let deadline = clock::monotonic() + LONG;
        while has_link(&scene) {
            assert!(clock::monotonic() < deadline, "the talker's link does not end");
            std::thread::yield_now();
        }
        scene.publish(BEFORE);
        done.wait();
    });
    scene.spin_until("all is heard", all_is_heard);
    scene.publish(BEFORE);
    assert_eq!(scene.subscription.lost(), 0, "{loses:?}");
    for node in [&scene.node, &scene.talker] {
        read(node, Interest::Read, is_rtps);
    }
    scene.spin_until("ROS 2 has met it", is_met);
    scene.spin_until("the link stands by", is_on_standby);
    scene.publish(BEFORE);
    scene.check();
}

pub(super) fn all_is_heard(scene: &mut Scene) -> bool {
    scene.heard.lock().unwrap().len() as u32 >= scene.next
}

#[test]
fn what_a_talker_gave_to_ros2_while_there_was_no_link_comes_by_the_next_one() {
    link_ends(Loses::BeforeTheLinkEnds);
}

#[test]
fn next_link_brings_nothing_that_ros2_had_brought_before() {
    link_ends(Loses::OnceTheLinkHasEnded);
}
