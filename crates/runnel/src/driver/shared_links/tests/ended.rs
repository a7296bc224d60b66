//! Test of a link whose connection has ended at the talker and not yet at the listener, while RTPS delivers later
//! samples.

use runnel_io::Stream;
use runnel_rtps::wire::{EntityId, Guid};

use super::killed::has_received_all;
use super::*;

/// The talker's links to the listener.
fn links(driver: &Driver) -> Vec<(Key, Arc<Stream>)> {
    let is_of_topic = |key: &Key| match driver.sockets.get(*key)? {
        Socket::Output(output) if output.stated.as_ref().is_some_and(|stated| stated.topic == "/count") => {
            Some((*key, Arc::clone(&output.stream)))
        }
        _ => None,
    };
    driver.sockets.keys().iter().filter_map(is_of_topic).collect()
}

/// Ends the connections of the talker's links. The talker notices at once.
pub(super) fn end_links(scene: &Scene) {
    let driver = &mut *scene.talker.inner.driver();
    for (key, stream) in links(driver) {
        stream.shutdown().unwrap();
        driver.readable(key);
    }
    driver.settle();
}

/// Ends the talker's links. The listener notices once the returned connections are dropped.
fn end_links_silently(scene: &Scene) -> Vec<Arc<Stream>> {
    let driver = &mut *scene.talker.inner.driver();
    let mut streams = Vec::new();
    for (key, stream) in links(driver) {
        driver.sockets.reactor.remove(&*stream).unwrap();
        let Driver { sockets, effects, .. } = &mut *driver;
        sockets.finish(key, None, effects);
        streams.push(stream);
    }
    driver.settle();
    streams
}

/// The link serves the listener, RTPS has matched, and messages of the link are unread.
pub(super) fn served_by_link(qos: QoS) -> Scene {
    let mut scene = Scene::joined_by_ros1(qos, false);
    set_interest(&scene.node, Interest::Read, is_of_ros1);
    scene.publish(COUNT);
    scene.spin_until("all is received", has_received_all);
    set_interest(&scene.node, Interest::Nothing, is_of_ros1);
    scene.publish(COUNT);
    set_interest(&scene.node, Interest::Read, is_rtps);
    scene.spin_until("both have matched", |scene| has_matched_writer(scene) && has_matched_reader(scene));
    scene.publish(COUNT);
    scene
}

/// Number of the last sample that RTPS has announced or delivered to the listener.
fn last_announced(scene: &Scene) -> u64 {
    let driver = scene.node.inner.driver();
    let rtps = driver.ros2.rtps.as_ref().unwrap();
    let pairs = driver.ros2.readers.iter().flat_map(|(reader, end)| {
        end.links.iter().filter(|(_, from)| from.dual_node_id.is_some()).map(|(writer, _)| (*reader, *writer))
    });
    pairs.map(|pair: (EntityId, Guid)| rtps.last_announced(pair)).max().unwrap_or_default()
}

/// Publishes messages by RTPS, and waits until the first has arrived.
fn publish_by_rtps(scene: &mut Scene) {
    let before = last_announced(scene);
    scene.publish(COUNT);
    scene.spin_until("RTPS has delivered a sample", |scene| last_announced(scene) > before);
}

/// The link's messages are unread, and so is the statement with which RTPS would take over.
#[test]
fn rtps_samples_wait_for_rest_of_ended_link() {
    for qos in [QoS::keep_all(), QoS::keep_last(10_000), QoS::keep_last(10_000).best_effort()] {
        let mut scene = served_by_link(qos);
        end_links(&scene);
        if qos == QoS::keep_last(10_000).best_effort() {
            scene.publish(COUNT);
        } else {
            publish_by_rtps(&mut scene);
            set_interest(&scene.node, Interest::Read, is_of_ros1);
        }
        scene.spin_until("all is received", has_received_all);
        assert_eq!(scene.subscription.lost(), 0, "{qos:?}");
        scene.check();
    }
}

/// The end of a connection between two hosts may come late.
#[test]
fn rtps_samples_wait_for_late_end_of_link() {
    for qos in [QoS::keep_all(), QoS::keep_last(10_000)] {
        let mut scene = served_by_link(qos);
        let streams = end_links_silently(&scene);
        assert_eq!(streams.len(), 1);
        publish_by_rtps(&mut scene);
        assert_eq!(scene.received.lock().unwrap().len() as u32, COUNT, "{qos:?}");
        assert!(!scene.talker.inner.driver().ros2.is_acknowledged(), "the link has not ended");
        drop(streams);
        set_interest(&scene.node, Interest::Read, is_of_ros1);
        scene.spin_until("all is received", has_received_all);
        assert_eq!(scene.subscription.lost(), 0, "{qos:?}");
        scene.check();
    }
}

/// The talker's writer ends while its last samples wait for the rest of the link.
#[test]
fn rtps_samples_precede_end_of_their_writer() {
    let mut scene = served_by_link(QoS::keep_all());
    end_links(&scene);
    publish_by_rtps(&mut scene);
    let other = scene.talker.create_publisher("other", QoS::keep_all()).unwrap();
    drop(std::mem::replace(&mut scene.publisher, other));
    scene.spin_until("all is received", has_received_all);
    scene.check();
}
