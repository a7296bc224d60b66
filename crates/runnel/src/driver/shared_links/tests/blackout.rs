//! Tests of leases that end while samples are in transit by RTPS or shared memory: the link delivers these.

use super::*;

/// The participants whose leases end at the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LosingSide {
    Talker,
    Listener,
    Both,
}

pub(super) fn end_leases(node: &Node) {
    let rtps = node.inner.driver().ros2.rtps.clone().unwrap();
    rtps.end_leases();
}

/// Leases end while the listener has unread samples. At the end the listener reads everything.
fn lease_ends(side: LosingSide, ipc: bool, qos: QoS) {
    let mut scene = Scene::joined_by_ros1(qos, ipc);
    for is_meant in [is_of_ros1, is_rtps] {
        set_interest(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("RTPS delivers", rtps_delivers);
    if ipc {
        scene.spin_until("RTPS uses shared memory", pair_uses_memory);
    }
    scene.spin_until("the link is on standby", is_on_standby);
    // The talker receives no acknowledgement from here on.
    set_interest(&scene.talker, Interest::Nothing, is_rtps);
    scene.publish(COUNT);
    scene.spin_until("all is received", |scene| scene.received.lock().unwrap().len() as u32 == scene.next);
    // No datagram arrives from here on.
    set_interest(&scene.node, Interest::Nothing, is_rtps);
    scene.publish(3 * COUNT);
    scene.publish_long(WORDS);
    if side != LosingSide::Listener {
        end_leases(&scene.talker);
    }
    scene.publish(COUNT);
    if side != LosingSide::Talker {
        end_leases(&scene.node);
    }
    scene.publish(COUNT);
    scene.spin_until("all is received", |scene| scene.received.lock().unwrap().len() as u32 >= scene.next);
    assert_eq!(scene.subscription.lost(), 0, "{side:?} loses, shared memory {ipc}");
    // Samples in the sockets have been received by the link.
    for node in [&scene.node, &scene.talker] {
        set_interest(node, Interest::Read, is_rtps);
    }
    scene.publish(COUNT);
    scene.spin_until("the link is on standby", is_on_standby);
    scene.publish(COUNT);
    scene.check();
}

fn leases_end(ipc: bool, qos: QoS) {
    std::thread::scope(|scope| {
        for side in [LosingSide::Talker, LosingSide::Listener, LosingSide::Both] {
            scope.spawn(move || lease_ends(side, ipc, qos));
        }
    });
}

#[test]
fn link_delivers_samples_missing_from_rtps() {
    leases_end(false, QoS::keep_all());
    leases_end(false, QoS::keep_last(10_000));
}

#[test]
fn link_delivers_samples_missing_from_memory() {
    leases_end(true, QoS::keep_all());
    leases_end(true, QoS::keep_last(10_000));
}

/// Whether the listener has not read everything in shared memory.
fn has_records(scene: &mut Scene) -> bool {
    let ipc_connections = &scene.node.inner.driver().ipc_connections;
    ipc_connections.established.iter().any(|ipc_connection| ipc_connections.has_record(*ipc_connection))
}

/// Publishes messages of these lengths while the talker's event loop does nothing. The listener receives meanwhile.
fn publish_unnoticed(scene: &mut Scene, lengths: impl Iterator<Item = usize>) {
    let (talker, done) = (scene.talker.clone(), std::sync::Barrier::new(2));
    let held = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _driver = talker.inner.driver();
            held.wait();
            done.wait();
        });
        held.wait();
        for words in lengths {
            scene.publish_long(words);
            scene.spin_until("shared memory is read", |scene| !has_records(scene));
        }
        done.wait();
    });
}

/// The listener loses its pairs, which use shared memory. No datagram arrives from here on.
fn lose_pairs(scene: &mut Scene) {
    scene.spin_until("the link is on standby", is_on_standby);
    for node in [&scene.node, &scene.talker] {
        set_interest(node, Interest::Nothing, is_rtps);
    }
    end_leases(&scene.node);
    scene.spin_until("the listener has lost the pairs", |scene| !has_matched_writer(scene));
}

/// The listener loses the pair while the talker continues in shared memory.
#[test]
fn late_memory_samples_precede_link_messages() {
    let mut scene = Scene::joined_by_ros1(QoS::keep_all(), true);
    for is_meant in [is_of_ros1, is_rtps] {
        set_interest(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("RTPS uses shared memory", |scene| {
        scene.publish(1);
        pair_uses_memory(scene)
    });
    lose_pairs(&mut scene);
    publish_unnoticed(&mut scene, [1, WORDS].into_iter().cycle().take(COUNT as usize));
    scene.publish(COUNT);
    scene.check();
}

/// Ends the listener's IPC connections. It connects again later.
fn end_ipc_connections(scene: &Scene) {
    let driver = &mut *scene.node.inner.driver();
    for ipc_connection in driver.ipc_connections.established.clone() {
        driver.end_ipc_connection(ipc_connection, None);
    }
    driver.settle();
}

/// Number of samples from shared memory that wait for RTPS.
fn held_of_memory(scene: &mut Scene) -> usize {
    let Driver { ros2, ipc_connections, .. } = &mut *scene.node.inner.driver();
    let receivers =
        ros2.readers.values().flat_map(|end| end.links.keys().filter_map(|writer| end.receiver_of(*writer)));
    let held = receivers.filter_map(|pair| {
        let delivery = ipc_connections.memory_input(pair)?.delivery.as_ref()?;
        Some(delivery.receiver.held())
    });
    held.sum()
}

/// Only the talker loses the pair, while samples from shared memory wait for earlier ones from RTPS. The link delivers
/// all of these, so none may wait when RTPS delivers again.
#[test]
fn link_delivers_samples_that_wait_for_rtps() {
    /// More than the listener holds.
    const MANY: u32 = 1200;
    let mut scene = Scene::joined_by_ros1(QoS::keep_all(), true);
    for is_meant in [is_of_ros1, is_rtps] {
        set_interest(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("RTPS uses shared memory", |scene| {
        scene.publish(1);
        pair_uses_memory(scene)
    });
    scene.spin_until("the link is on standby", is_on_standby);
    // Without acknowledgements, the talker sends only some of the long messages.
    set_interest(&scene.talker, Interest::Nothing, is_rtps);
    end_ipc_connections(&scene);
    (0..COUNT).for_each(|_| scene.publish_long(WORDS));
    scene.spin_until("RTPS uses shared memory again", pair_uses_memory);
    scene.publish(COUNT);
    scene.spin_until("samples wait for RTPS", |scene| held_of_memory(scene) == COUNT as usize);
    set_interest(&scene.node, Interest::Nothing, is_rtps);
    end_leases(&scene.talker);
    for _ in 0..MANY {
        scene.publish(1);
        scene.listening.spin_once(Duration::ZERO).unwrap();
    }
    scene.spin_until("all is received", |scene| scene.received.lock().unwrap().len() as u32 == scene.next);
    assert_eq!(held_of_memory(&mut scene), 0);
    for node in [&scene.node, &scene.talker] {
        set_interest(node, Interest::Read, is_rtps);
    }
    scene.spin_until("the link is on standby", |scene| {
        scene.publish(1);
        is_on_standby(scene)
    });
    scene.spin_until("RTPS uses shared memory", |scene| {
        scene.publish(1);
        pair_uses_memory(scene)
    });
    scene.publish(COUNT);
    let lost = scene.subscription.lost();
    scene.check();
    assert_eq!(lost, 0);
}

/// Only the talker loses the pair, and matches it again before the listener has read the link. The listener then knows
/// by RTPS that it lacks samples, and gets them by the link.
#[test]
fn rematched_reader_gives_up_no_samples_of_unread_link() {
    let mut scene = Scene::joined_by_ros1(QoS::keep_all(), false);
    for is_meant in [is_of_ros1, is_rtps] {
        set_interest(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("RTPS delivers", rtps_delivers);
    scene.spin_until("the link is on standby", is_on_standby);
    // Without acknowledgements, the talker sends only some of the long messages.
    set_interest(&scene.talker, Interest::Nothing, is_rtps);
    set_interest(&scene.node, Interest::Nothing, is_of_ros1);
    (0..COUNT).for_each(|_| scene.publish_long(WORDS));
    end_leases(&scene.talker);
    scene.publish(COUNT);
    assert!(!has_matched_reader(&mut scene));
    set_interest(&scene.talker, Interest::Read, is_rtps);
    scene.spin_until("the talker has matched again", has_matched_reader);
    // Long enough for what the talker would send.
    for _ in 0..10 {
        scene.listening.spin_once(Duration::from_millis(10)).unwrap();
    }
    set_interest(&scene.node, Interest::Read, is_of_ros1);
    scene.spin_until("the link is on standby", is_on_standby);
    scene.publish(COUNT);
    let lost = scene.subscription.lost();
    scene.check();
    assert_eq!(lost, 0);
}

/// Of more messages than the depth, the oldest are dropped and counted.
#[test]
fn samples_dropped_from_history_count_as_lost() {
    let mut scene = Scene::joined_by_ros1(QoS::keep_last(5), false);
    for is_meant in [is_of_ros1, is_rtps] {
        set_interest(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("RTPS delivers", rtps_delivers);
    scene.spin_until("the link is on standby", is_on_standby);
    scene.publish(1);
    let last = scene.next - 1;
    scene.spin_until("the last is received", |scene| scene.received.lock().unwrap().last() == Some(&last));
    let (received, lost) = (scene.received.lock().unwrap().len(), scene.subscription.lost());
    set_interest(&scene.node, Interest::Nothing, is_rtps);
    set_interest(&scene.talker, Interest::Nothing, is_rtps);
    scene.publish(20);
    end_leases(&scene.talker);
    scene.publish(1);
    scene.spin_until("the last is received", |scene| {
        scene.received.lock().unwrap().last() == Some(&(scene.next - 1))
    });
    // The subscription's queue has the same depth and may have dropped one.
    let expected: Vec<u32> = (scene.next - 6..scene.next).collect();
    let received = scene.received.lock().unwrap()[received..].to_vec();
    assert!(received.len() >= 5 && expected.ends_with(&received), "{received:?}");
    assert_eq!(scene.subscription.lost() - lost, 15);
}

/// Two publishers of a node share its link, whose queue is full of messages that one of them keeps.
#[test]
fn keep_last_publisher_evicts_no_keep_all_messages() {
    const OTHER: u32 = u32::MAX;
    let message = |number, words| {
        let mut data = vec![0; words];
        data[0] = number;
        UInt32MultiArray { data, ..UInt32MultiArray::default() }
    };
    let mut scene = Scene::joined_by_ros1(QoS::keep_all(), false);
    let qos = QoS::keep_last(1).best_effort();
    let other = scene.talker.create_publisher::<UInt32MultiArray>("count", qos).unwrap();
    while scene.publisher.try_publish(message(scene.next, WORDS)).is_ok() {
        scene.next += 1;
    }
    (0..COUNT).for_each(|_| other.publish(message(OTHER, 1)).unwrap());
    set_interest(&scene.node, Interest::Read, is_of_ros1);
    scene.spin_until("the last is received", |scene| {
        scene.received.lock().unwrap().last() == Some(&(scene.next - 1))
    });
    scene.received.lock().unwrap().retain(|number| *number != OTHER);
    scene.check();
}
