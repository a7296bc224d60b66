//! Tests of a link whose connection ends while the listener has lost the pair and the talker has not. Until the next
//! link, RTPS keeps what is published.

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

/// When the listener loses the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LossTime {
    BeforeLinkEnds,
    AfterLinkEnded,
}

fn link_ends(loss: LossTime) {
    let mut scene = Scene::joined_by_ros1(QoS::keep_all(), false);
    for is_meant in [is_of_ros1, is_rtps] {
        set_interest(&scene.node, Interest::Read, is_meant);
    }
    scene.spin_until("RTPS delivers", rtps_delivers);
    scene.spin_until("the link is on standby", is_on_standby);
    // The talker receives no acknowledgement from here on.
    set_interest(&scene.talker, Interest::Nothing, is_rtps);
    scene.publish(COUNT);
    scene.spin_until("all is received", has_received_all);
    set_interest(&scene.node, Interest::Nothing, is_rtps);
    if loss == LossTime::BeforeLinkEnds {
        end_leases(&scene.node);
        scene.spin_until("the listener has lost the pair", |scene| !has_matched_writer(scene));
    }
    scene.publish(COUNT);
    if loss == LossTime::BeforeLinkEnds {
        scene.spin_until("all is received", has_received_all);
    }

    let (listener, held, done) = (scene.node.clone(), Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The listener makes no other link meanwhile.
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
        scene.publish(COUNT);
        done.wait();
    });
    scene.spin_until("all is received", has_received_all);
    scene.publish(COUNT);
    assert_eq!(scene.subscription.lost(), 0, "{loss:?}");
    for node in [&scene.node, &scene.talker] {
        set_interest(node, Interest::Read, is_rtps);
    }
    scene.spin_until("RTPS has matched", has_matched_writer);
    scene.spin_until("the link is on standby", is_on_standby);
    scene.publish(COUNT);
    scene.check();
}

pub(super) fn has_received_all(scene: &mut Scene) -> bool {
    scene.received.lock().unwrap().len() as u32 >= scene.next
}

#[test]
fn next_link_delivers_samples_lost_by_rtps() {
    link_ends(LossTime::BeforeLinkEnds);
}

#[test]
fn next_link_repeats_nothing_from_rtps() {
    link_ends(LossTime::AfterLinkEnded);
}
