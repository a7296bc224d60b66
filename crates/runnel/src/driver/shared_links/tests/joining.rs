//! Links that begin while discovery has yet to deliver readers of their nodes, which were announced before.

use super::*;

/// Discovery is read again at the talker once a reader has ended, so what was announced behind that waits.
#[test]
fn link_begins_once_discovery_has_delivered_readers() {
    let qos = QoS::keep_last(10).transient_local();
    let mut scene = Scene::begun(qos, false);
    read(&scene.node, Interest::Read, is_rtps);
    (0..3).for_each(|_| scene.publish_long(1));
    scene.spin_until("the last is heard", |scene| scene.heard.lock().unwrap().last() == Some(&2));
    scene.spin_until("ROS 2 has met it", is_met);
    let Scene { subscription, node, listening, talker, publisher: _publisher, _talking, _master, .. } = scene;
    // Of ROS 2 the talker reads what has come when it makes a link, and nothing else.
    read(&talker, Interest::Nothing, is_rtps);
    drop(subscription);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    let hears = move |numbers: &UInt32MultiArray| into.lock().unwrap().extend(numbers.data.first().copied());
    let _subscription = node.create_subscription("count", qos, hears).unwrap();
    let deadline = clock::monotonic() + LONG;
    let spin_until = |what: &str, done: &dyn Fn() -> bool| {
        while !done() {
            assert!(clock::monotonic() < deadline, "still not: {what}");
            listening.spin_once(Duration::from_millis(1)).unwrap();
        }
    };
    spin_until("the link waits, or has brought something", &|| {
        !talker.inner.driver().sockets.joining.is_empty() || !heard.lock().unwrap().is_empty()
    });
    read(&talker, Interest::Read, is_rtps);
    spin_until("the last is heard", &|| heard.lock().unwrap().last() == Some(&2));
    assert_eq!(*heard.lock().unwrap(), [0, 1, 2]);
}
