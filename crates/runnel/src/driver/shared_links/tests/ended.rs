//! The talker has seen the end of a link's connection, and the listener has not: RTPS brings what follows.

use super::killed::all_is_heard;
use super::*;

/// Ends the connections of the talker's links, which it sees at once.
fn end_links(scene: &Scene) {
    let driver = &mut *scene.talker.inner.driver();
    for key in driver.sockets.keys() {
        if let Some(Socket::Output(output)) = driver.sockets.get(key)
            && output.stated.as_ref().is_some_and(|stated| stated.topic == "/count")
        {
            output.stream.shutdown().unwrap();
            driver.readable(key);
        }
    }
    driver.settle();
}

/// The link's messages lie unread, and with them the statement by which ROS 2 would be asked to go on.
#[test]
fn rtps_samples_wait_for_rest_of_ended_link() {
    for qos in [QoS::keep_all(), QoS::keep_last(10_000)] {
        let mut scene = Scene::joined_by_ros1(qos, false);
        read(&scene.node, Interest::Read, is_of_ros1);
        scene.publish(BEFORE);
        scene.spin_until("all is heard", all_is_heard);
        read(&scene.node, Interest::Nothing, is_of_ros1);
        scene.publish(BEFORE);
        read(&scene.node, Interest::Read, is_rtps);
        scene.spin_until("both have met", |scene| is_met(scene) && is_matched(scene));
        scene.publish(BEFORE);
        end_links(&scene);
        scene.publish(BEFORE);
        scene.spin_until("all is heard", all_is_heard);
        assert_eq!(scene.subscription.lost(), 0, "{qos:?}");
        scene.check();
    }
}
