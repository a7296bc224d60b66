//! Tests of a second link to a publisher, while the end of the first is not known yet.

use runnel_ros1::net::ConnId;

use super::forged::served_by_rtps;
use super::*;

/// Adds a link with this connection. Its first message shows that it serves the pair. Returns both, the first one first.
fn add_link(scene: &Scene, conn: ConnId) -> [Key; 2] {
    let driver = &mut *scene.node.inner.driver();
    let is_input = |key: &Key| matches!(driver.sockets.get(*key), Some(Socket::Input(_)));
    let first = driver.sockets.keys().into_iter().find(is_input).unwrap();
    let second = driver.sockets.add_second_link(first, conn);
    driver.share_link(second);
    let Some(Socket::Input(input)) = driver.sockets.get_mut(second) else { unreachable!("it was added") };
    assert!(input.share().unwrap().receiver.note_message());
    [first, second]
}

/// Updates the links in this order. Returns whether the pair is served by one afterwards.
fn is_served_by_link(scene: &Scene, links: impl IntoIterator<Item = Key>) -> bool {
    let driver = &mut *scene.node.inner.driver();
    links.into_iter().for_each(|key| driver.link_share_changed(key));
    let mut links = driver.ros2.readers.values().flat_map(|end| end.links.values());
    links.any(|from| from.is_served_by_link())
}

fn end_link(scene: &Scene, key: Key) {
    let driver = &mut *scene.node.inner.driver();
    let Driver { sockets, effects, .. } = driver;
    sockets.remove(key, effects);
    driver.settle();
}

#[test]
fn newest_link_decides_whether_it_serves_a_pair() {
    let mut scene = served_by_rtps();
    let [first, newest] = add_link(&scene, ConnId(u64::MAX));
    assert!(is_served_by_link(&scene, [first, newest]));
    assert!(is_served_by_link(&scene, [newest, first]), "the first one leaves it to RTPS");
    end_link(&scene, newest);
    assert!(!is_served_by_link(&scene, []));
    scene.publish(COUNT);
    scene.check();
}

#[test]
fn earlier_link_takes_no_pair_over() {
    let mut scene = served_by_rtps();
    let [first, earlier] = add_link(&scene, ConnId(0));
    assert!(!is_served_by_link(&scene, [first, earlier]));
    end_link(&scene, earlier);
    scene.publish(COUNT);
    scene.check();
}
