//! Leases that end while messages are under way by RTPS or by memory: the link brings what was not delivered.

use super::*;

/// Whose lease of the other ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loses {
    Talker,
    Listener,
    Both,
}

pub(super) fn end_leases(node: &Node) {
    let rtps = node.inner.driver().ros2.rtps.clone().unwrap();
    rtps.end_leases();
}

/// Messages are under way that the listener does not read, then leases end, and at last the listener reads all.
fn lease_ends(loses: Loses, ipc: bool, qos: QoS) {
    let mut scene = Scene::joined_by_ros1(qos, ipc);
    for is_meant in [is_of_ros1, is_rtps] {
        read(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("ROS 2 carries", is_carried_by_ros2);
    if ipc {
        scene.spin_until("ROS 2 goes over to memory", comes_by_memory);
    }
    scene.spin_until("the link stands by", is_on_standby);
    // What is acknowledged from here on the talker does not get to know.
    read(&scene.talker, Interest::Nothing, is_rtps);
    scene.publish(BEFORE);
    scene.spin_until("all is heard", |scene| scene.heard.lock().unwrap().len() as u32 == scene.next);
    // No datagram gets through.
    read(&scene.node, Interest::Nothing, is_rtps);
    scene.publish(3 * BEFORE);
    scene.publish_long(WORDS);
    if loses != Loses::Listener {
        end_leases(&scene.talker);
    }
    scene.publish(BEFORE);
    if loses != Loses::Talker {
        end_leases(&scene.node);
    }
    scene.publish(BEFORE);
    scene.spin_until("all is heard", |scene| scene.heard.lock().unwrap().len() as u32 >= scene.next);
    assert_eq!(scene.subscription.lost(), 0, "{loses:?} loses, by memory {ipc}");
    // What lies in the sockets was heard.
    for node in [&scene.node, &scene.talker] {
        read(node, Interest::Read, is_rtps);
    }
    scene.publish(BEFORE);
    scene.spin_until("the link stands by", is_on_standby);
    scene.publish(BEFORE);
    scene.check();
}

fn leases_end(ipc: bool, qos: QoS) {
    std::thread::scope(|scope| {
        for loses in [Loses::Talker, Loses::Listener, Loses::Both] {
            scope.spawn(move || lease_ends(loses, ipc, qos));
        }
    });
}

#[test]
fn link_brings_what_rtps_had_not_delivered() {
    leases_end(false, QoS::keep_all());
    leases_end(false, QoS::keep_last(10_000));
}

#[test]
fn link_brings_what_memory_had_not_delivered() {
    leases_end(true, QoS::keep_all());
    leases_end(true, QoS::keep_last(10_000));
}

/// The listener has lost the talker, which goes on in memory until it gets to know.
#[test]
fn what_memory_brings_after_the_loss_is_heard_before_what_the_link_brings() {
    let mut scene = Scene::joined_by_ros1(QoS::keep_all(), true);
    for is_meant in [is_of_ros1, is_rtps] {
        read(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("ROS 2 goes over to memory", |scene| {
        scene.publish(1);
        comes_by_memory(scene)
    });
    scene.spin_until("the link stands by", is_on_standby);
    for node in [&scene.node, &scene.talker] {
        read(node, Interest::Nothing, is_rtps);
    }
    end_leases(&scene.node);
    let next = scene.next;
    scene.spin_until("the listener has lost it", |scene| !is_met(scene));
    let (talker, done) = (scene.talker.clone(), std::sync::Barrier::new(2));
    let held = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // It reads nothing meanwhile.
            let _driver = talker.inner.driver();
            held.wait();
            done.wait();
        });
        held.wait();
        for number in next..next + BEFORE {
            let data = vec![number; if number % 2 == 0 { 1 } else { WORDS }];
            scene.publisher.publish(UInt32MultiArray { data, ..UInt32MultiArray::default() }).unwrap();
        }
        scene.next = next + BEFORE;
        for _ in 0..10 {
            scene.listening.spin_once(Duration::from_millis(10)).unwrap();
        }
        done.wait();
    });
    scene.publish(BEFORE);
    scene.check();
}

/// Of more messages than the depth the oldest are lost, and counted.
#[test]
fn what_history_holds_no_longer_is_counted_lost() {
    let mut scene = Scene::joined_by_ros1(QoS::keep_last(5), false);
    for is_meant in [is_of_ros1, is_rtps] {
        read(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("ROS 2 carries", is_carried_by_ros2);
    scene.spin_until("the link stands by", is_on_standby);
    scene.publish(1);
    let last = scene.next - 1;
    scene.spin_until("the last is heard", |scene| scene.heard.lock().unwrap().last() == Some(&last));
    let (heard, lost) = (scene.heard.lock().unwrap().len(), scene.subscription.lost());
    read(&scene.node, Interest::Nothing, is_rtps);
    read(&scene.talker, Interest::Nothing, is_rtps);
    scene.publish(20);
    end_leases(&scene.talker);
    scene.publish(1);
    scene.spin_until("the last is heard", |scene| {
        scene.heard.lock().unwrap().last() == Some(&(scene.next - 1))
    });
    // The queue of the subscription has the same depth, and may have dropped one.
    let expected: Vec<u32> = (scene.next - 6..scene.next).collect();
    let heard = scene.heard.lock().unwrap()[heard..].to_vec();
    assert!(heard.len() >= 5 && expected.ends_with(&heard), "{heard:?}");
    assert_eq!(scene.subscription.lost() - lost, 15);
}

/// Two publishers of a node share its link, which is full of what one of them wants kept.
#[test]
fn publisher_that_keeps_last_pushes_out_nothing_that_another_keeps() {
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
    (0..BEFORE).for_each(|_| other.publish(message(OTHER, 1)).unwrap());
    read(&scene.node, Interest::Read, is_of_ros1);
    scene.spin_until("the last is heard", |scene| {
        scene.heard.lock().unwrap().last() == Some(&(scene.next - 1))
    });
    scene.heard.lock().unwrap().retain(|number| *number != OTHER);
    scene.check();
}
