//! Several links of one node: the subscriber has reconnected, and the publisher does not know the end of a link yet.

use super::*;

/// The subscriber has reconnected, and its answer to the Leave of the old link is lost.
#[test]
fn pair_leaving_older_link_leaves_newer_one() {
    let mut scene = Scene::new(140, RELIABLE);
    let old = scene.link(1, HERE);
    let reader = scene.reader();
    scene.request_rtps(&old, reader);
    scene.publish();
    let mut new = scene.link(2, HERE);
    scene.publish();
    scene.request_rtps(&new, reader);
    scene.publish();
    // A late request and the end of the old link change nothing.
    scene.request_rtps(&old, reader);
    scene.publication.leave(old.conn);
    assert!(scene.is_held(reader), "the new link has yet to be left");
    assert_eq!(scene.reach_leave(&mut new, reader), 1, "neither link carries the first message for the pair");
    assert!(!scene.is_held(reader));
    assert_eq!(scene.received_by_rtps(3), [1, 2, 3]);
}

/// The new link was established before the pair left the old one, and has carried all messages.
#[test]
fn pair_takes_newer_link_when_its_link_ends() {
    let mut scene = Scene::new(141, RELIABLE);
    let (old, mut new) = (scene.link(1, HERE), scene.link(2, HERE));
    let reader = scene.reader();
    scene.request_rtps(&old, reader);
    scene.publish();
    scene.publication.leave(old.conn);
    assert!(scene.is_held(reader), "the new link carries it");
    scene.publish();
    assert_eq!(scene.reach_leave(&mut new, reader), 2);
    assert_eq!(scene.received_by_rtps(2), [2]);
}

/// The new link ends before the subscriber has left it. The old link has carried nothing for the pair since its Leave.
#[test]
fn pair_does_not_return_to_older_link() {
    let mut scene = Scene::new(156, RELIABLE);
    let old = scene.link(1, HERE);
    let reader = scene.reader();
    scene.request_rtps(&old, reader);
    let new = scene.link(2, HERE);
    scene.publish();
    scene.publication.leave(new.conn);
    assert!(!scene.is_held(reader), "RTPS serves it");
    scene.publish();
    assert_eq!(scene.received_by_rtps(2), [1, 2]);
}

#[test]
fn other_links_of_node_get_statements_of_handover() {
    let scene = Scene::new(142, RELIABLE);
    let (mut one, mut other) = (scene.link(1, HERE), scene.link(2, HERE));
    let reader = scene.reader();
    scene.request_rtps(&one, reader);
    scene.reach_leave(&mut one, reader);
    assert!(matches!(other.next_change(), Statement::Leave { id, .. } if id == scene.pair(reader).id()));
    // The link also states what RTPS no longer carries.
    scene.state(&one, Statement::Return { id: scene.pair(reader).id() });
    for link in [&mut one, &mut other] {
        assert!(matches!(link.next_change(), Statement::Begin { id, .. } if id == scene.pair(reader).id()));
    }
}
