//! Samples that memory brings after RTPS has lost their pair, as the link finds them once it serves the pair.

use runnel_core::wire::{Encoding, cdr};

use super::*;
use crate::driver::late_samples::LateSample;

/// ROS 2 carries what is published, or is about to.
fn scene() -> Scene {
    let scene = Scene::joined_by_ros1(QoS::keep_all(), false);
    for is_meant in [is_of_ros1, is_rtps] {
        read(&scene.node, Interest::Read, is_meant);
    }
    scene
}

/// The link takes over the pair of the listener. Memory has brought samples of these numbers behind the last one that was given.
fn settle(scene: &Scene, late: &[u64], is_drained: bool) {
    let mut driver = scene.node.inner.driver();
    let Driver { sockets, ros2, .. } = &mut *driver;
    let links = ros2.readers.values().flat_map(|end| end.links.values());
    let from = links.into_iter().find(|from| from.origin.is_some()).expect("a pair").clone();
    let is_link = |key: &Key| matches!(sockets.get(*key), Some(socket) if is_of_ros1(socket));
    let key = sockets.keys().into_iter().find(is_link).expect("a link");
    let Some(Socket::Input(input)) = sockets.get_mut(key) else { panic!("no link") };
    let share = input.share().expect("a shared link");
    let (pair, _) = share.receiver.pairs().next().expect("a pair");
    let next = share.returns.next(pair);
    for behind in late {
        let data = vec![scene.next + *behind as u32];
        let message = UInt32MultiArray { data, ..UInt32MultiArray::default() };
        let bytes = cdr::encode(&message, Encoding::Xcdr1).unwrap();
        let from = Arc::clone(&from);
        share.returns.late.push(LateSample { pair, number: next + behind, bytes, from, is_drained });
    }
    input.settle_pair(pair);
}

/// What is given of late samples of these numbers, and how many are counted as lost.
fn given(mut scene: Scene, late: &[u64], is_drained: bool) -> (Vec<u32>, u64) {
    let begin = scene.next;
    scene.spin_until("all is heard", |scene| scene.heard.lock().unwrap().len() as u32 == scene.next);
    let lost = scene.subscription.lost();
    settle(&scene, late, is_drained);
    for _ in 0..10 {
        scene.listening.spin_once(Duration::from_millis(1)).unwrap();
    }
    let given = scene.heard.lock().unwrap()[begin as usize..].iter().map(|number| number - begin).collect();
    (given, scene.subscription.lost() - lost)
}

fn carried_by_ros2() -> Scene {
    let mut scene = scene();
    scene.spin_until("ROS 2 carries", is_carried_by_ros2);
    scene.spin_until("the link stands by", is_on_standby);
    scene.publish(BEFORE);
    scene
}

#[test]
fn late_samples_of_drained_pair_are_given_behind_a_hole() {
    assert_eq!(given(carried_by_ros2(), &[0, 2, 3], true), (vec![0, 2, 3], 1));
}

#[test]
fn late_samples_of_undrained_pair_end_at_a_hole() {
    assert_eq!(given(carried_by_ros2(), &[0, 2, 3], false), (vec![0], 0));
}

#[test]
fn late_samples_of_drained_pair_are_given_before_any_other() {
    let unheard = |is_drained| {
        let mut scene = scene();
        scene.spin_until("ROS 2 has met it", is_met);
        given(scene, &[4, 5], is_drained)
    };
    assert_eq!(unheard(true), (vec![4, 5], 0));
    assert_eq!(unheard(false), (Vec::new(), 0));
}
