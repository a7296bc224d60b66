//! Readers that RTPS has lost while shared memory carried their messages.

use super::*;
use crate::data::SwitchOutcome;
use crate::ipc::RecordEvent;
use crate::ipc::play::ends::connect;

/// The IPC connection has ended when the loss is handled, by a publishing thread or by the driver. The reader has
/// reported that it has everything from RTPS, so the messages are only in the ring.
#[test]
fn link_resends_messages_of_ended_ipc_connection() {
    for ends_before in [false, true] {
        let mut scene = Scene::new(if ends_before { 154 } else { 155 }, RELIABLE);
        scene.publication.set_to_ros1(|bytes, out| {
            out.extend_from_slice(&bytes[4..]);
            Ok(())
        });
        let (reader, mut link) = (scene.reader(), scene.link(1, HERE));
        assert!(matches!(link.next_change(), Statement::Leave { .. }), "RTPS serves the reader");
        let (here, mut there) = connect(&Arc::new(Pool::new(0, 0)));
        let pair = (scene.writer.id(), reader);
        let switched = scene.publication.switch_to_memory(pair, (Token(9), false), &here.sender, 7);
        assert_eq!(switched, SwitchOutcome::Switched);
        let Ok(Some(RecordEvent::OpenSamples { begin: Statement::Begin { epoch, from, .. }, .. })) =
            there.next()
        else {
            panic!("the channel does not open")
        };
        scene.publication.reached(pair, epoch, from).unwrap();
        (0..2).for_each(|_| scene.publish());
        scene.rtps.end_leases();
        let until = clock::monotonic() + LONG;
        while !scene.writer.readers(NODE).is_empty() {
            assert!(clock::monotonic() < until, "the reader is not lost");
            poll_once(&scene.rtps);
        }
        if ends_before {
            there.receiver.report_final_position();
            assert_eq!(here.sender.finish(), None);
        }
        scene.publication.fall_back_to_rtps(pair, &here.sender);
        // The link also carries them as messages for other readers, before.
        let resent = loop {
            if let Part::Statement(resent @ Statement::Resent { .. }) = link.next() {
                break resent;
            }
        };
        assert!(matches!(resent, Statement::Resent { id, number: 1, .. } if id == scene.pair(reader).id()));
        assert_eq!([link.next(), link.next()], [1, 2].map(Part::Message), "ends before: {ends_before}");
        assert!(matches!(link.next_change(), Statement::Begin { from: 3, .. }));
        assert_eq!(scene.publication.dropped(), 0);
    }
}
