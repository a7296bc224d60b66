//! Test of a link that begins before discovery has delivered a reader of its node, which was announced earlier.

use super::*;

/// After the end of a reader the talker reads discovery again, so later announcements wait.
#[test]
fn link_begins_once_discovery_has_delivered_readers() {
    let qos = QoS::keep_last(10).transient_local();
    let mut scene = Scene::begun(qos, false);
    set_interest(&scene.node, Interest::Read, is_rtps);
    (0..3).for_each(|_| scene.publish_long(1));
    scene.spin_until("the last is received", |scene| scene.received.lock().unwrap().last() == Some(&2));
    scene.spin_until("RTPS has matched", has_matched_writer);
    let Scene { subscription, node, listening, talker, publisher: _publisher, _talking, _master, .. } = scene;
    // Of RTPS, the talker reads only what has arrived when it makes a link.
    set_interest(&talker, Interest::Nothing, is_rtps);
    drop(subscription);
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let receive =
        move |numbers: &UInt32MultiArray| into.lock().unwrap().extend(numbers.data.first().copied());
    let _subscription = node.create_subscription("count", qos, receive).unwrap();
    let deadline = clock::monotonic() + LONG;
    let spin_until = |what: &str, done: &dyn Fn() -> bool| {
        while !done() {
            assert!(clock::monotonic() < deadline, "timed out: {what}");
            listening.spin_once(Duration::from_millis(1)).unwrap();
        }
    };
    spin_until("the link waits or has delivered", &|| {
        !talker.inner.driver().sockets.joining.is_empty() || !received.lock().unwrap().is_empty()
    });
    set_interest(&talker, Interest::Read, is_rtps);
    spin_until("the last is received", &|| received.lock().unwrap().last() == Some(&2));
    assert_eq!(*received.lock().unwrap(), [0, 1, 2]);
}
