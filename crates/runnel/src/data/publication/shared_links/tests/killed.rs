//! Links that end soon after RTPS has lost their reader.

use super::*;

/// The link has carried what RTPS had not delivered. The writer does not keep that for the reader's return.
#[test]
fn returning_reader_does_not_get_messages_of_ended_link() {
    let mut scene = Scene::new(153, RELIABLE);
    let mut link = scene.link(1, HERE);
    let reader = scene.reader();
    scene.request_rtps(&link, reader);
    scene.publish();
    assert_eq!(scene.reach_leave(&mut link, reader), 1);
    scene.publish();
    // The datagram is lost.
    for socket in scene.far.receivers() {
        while socket.recv_from(&mut [0; 65536]).unwrap().is_some() {}
    }
    scene.rtps.end_leases();
    let until = clock::monotonic() + LONG;
    while !scene.writer.readers(NODE).is_empty() {
        assert!(clock::monotonic() < until, "the reader is not lost");
        poll_once(&scene.rtps);
    }
    scene.group.on_reader_left(reader);
    assert!(matches!(link.next_change(), Statement::Begin { from: 3, .. }));
    scene.publication.leave(link.conn);
    while scene.writer.readers(NODE).is_empty() {
        assert!(clock::monotonic() < until, "the reader does not come back");
        poll_once(&scene.rtps);
        poll_once(&scene.far);
    }
    assert_eq!(scene.writer.unacknowledged(), 0);
}
