//! Test of a link whose connection has ended at the talker and not yet at the listener, while RTPS delivers later
//! samples.

use super::killed::has_received_all;
use super::*;

/// Ends the connections of the talker's links. The talker notices at once.
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

/// The link's messages are unread, and so is the statement with which RTPS would take over.
#[test]
fn rtps_samples_wait_for_rest_of_ended_link() {
    for qos in [QoS::keep_all(), QoS::keep_last(10_000)] {
        let mut scene = Scene::joined_by_ros1(qos, false);
        set_interest(&scene.node, Interest::Read, is_of_ros1);
        scene.publish(COUNT);
        scene.spin_until("all is received", has_received_all);
        set_interest(&scene.node, Interest::Nothing, is_of_ros1);
        scene.publish(COUNT);
        set_interest(&scene.node, Interest::Read, is_rtps);
        scene.spin_until("both have matched", |scene| has_matched_writer(scene) && has_matched_reader(scene));
        scene.publish(COUNT);
        end_links(&scene);
        scene.publish(COUNT);
        scene.spin_until("all is received", has_received_all);
        assert_eq!(scene.subscription.lost(), 0, "{qos:?}");
        scene.check();
    }
}
