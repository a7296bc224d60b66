//! Tests of samples that shared memory delivers after RTPS has lost their pair, when the link takes over the pair.

use runnel_core::wire::{Encoding, cdr};

use super::*;
use crate::driver::late_samples::LateSample;

/// RTPS delivers what is published, or is about to.
fn scene() -> Scene {
    let scene = Scene::joined_by_ros1(QoS::keep_all(), false);
    for is_meant in [is_of_ros1, is_rtps] {
        set_interest(&scene.node, Interest::Read, is_meant);
    }
    scene
}

/// Lets the link take over the listener's pair, after shared memory has delivered samples at these offsets from the
/// next number.
fn settle(scene: &Scene, late: &[u64], is_drained: bool) {
    let mut driver = scene.node.inner.driver();
    let Driver { sockets, ros2, .. } = &mut *driver;
    let links = ros2.readers.values().flat_map(|end| end.links.values());
    let from = links.into_iter().find(|from| from.dual_node_id.is_some()).expect("a pair").clone();
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

/// The late samples that are delivered, by offset, and the number of lost ones.
fn delivered(mut scene: Scene, late: &[u64], is_drained: bool) -> (Vec<u32>, u64) {
    let begin = scene.next;
    scene.spin_until("all is received", |scene| scene.received.lock().unwrap().len() as u32 == scene.next);
    let lost = scene.subscription.lost();
    settle(&scene, late, is_drained);
    for _ in 0..10 {
        scene.listening.spin_once(Duration::from_millis(1)).unwrap();
    }
    let delivered =
        scene.received.lock().unwrap()[begin as usize..].iter().map(|number| number - begin).collect();
    (delivered, scene.subscription.lost() - lost)
}

fn scene_with_rtps() -> Scene {
    let mut scene = scene();
    scene.spin_until("RTPS delivers", rtps_delivers);
    scene.spin_until("the link is on standby", is_on_standby);
    scene.publish(COUNT);
    scene
}

#[test]
fn late_samples_of_drained_pair_pass_a_gap() {
    assert_eq!(delivered(scene_with_rtps(), &[0, 2, 3], true), (vec![0, 2, 3], 1));
}

#[test]
fn late_samples_of_undrained_pair_stop_at_a_gap() {
    assert_eq!(delivered(scene_with_rtps(), &[0, 2, 3], false), (vec![0], 0));
}

#[test]
fn late_samples_may_be_first_of_their_pair() {
    let first_received = |is_drained| {
        let mut scene = scene();
        scene.spin_until("RTPS has matched", has_matched_writer);
        delivered(scene, &[4, 5], is_drained)
    };
    assert_eq!(first_received(true), (vec![4, 5], 0));
    assert_eq!(first_received(false), (Vec::new(), 0));
}
