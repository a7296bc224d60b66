//! Genuine ends: an entity that one datagram restores is dropped again when its true peer does not confirm it.

use crate::forgeries::{Scene, Victim, ack, data, gap, heartbeat};
use crate::net::{Net, millis, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::{self, EntityId, VendorId};
use runnel_rtps::{Correction, Event};

#[test]
fn ended_reader_is_restored_only_briefly() {
    let mut scene = Scene::new(VendorId::RUNNEL, QoS::keep_all(), 100);
    (0..5).for_each(|_| scene.write(20));
    let reader = scene.reader;
    scene.net.remove(1, reader);
    scene.net.run_for(secs(1));
    assert!(!scene.net.is_matched(0, scene.writer));
    scene.forge(Victim::Writer, |scene, out| ack(scene, 1, 1000).emit(out));
    let restored = |event: &Event| matches!(event, Event::Corrected { state: Correction::Endpoint, .. });
    assert!(scene.net.nodes[0].events.iter().any(restored), "it might have been the end that was forged");
    scene.net.run_for(secs(2));
    assert!(!scene.net.is_matched(0, scene.writer));
}

#[test]
fn participant_after_farewell_is_restored_only_briefly() {
    for vendor in [VendorId::RUNNEL, VendorId::CYCLONE_DDS] {
        let mut scene = Scene::new(vendor, QoS::keep_all(), 100);
        (0..5).for_each(|_| scene.write(20));
        scene.net.close(1);
        scene.net.run_for(secs(1));
        assert!(!scene.net.is_matched(0, scene.writer));
        scene.net.nodes[0].events.clear();
        // Only a header.
        scene.forge(Victim::Writer, |_, _| ());
        scene.net.run_for(secs(6));
        assert!(!scene.net.is_matched(0, scene.writer), "{vendor:?}");
        let lost = |event: &Event| matches!(event, Event::ParticipantLost(_));
        let found = |event: &Event| matches!(event, Event::ParticipantFound(_));
        let count =
            |of: &dyn Fn(&Event) -> bool| scene.net.nodes[0].events.iter().filter(|event| of(event)).count();
        assert_eq!(count(&found), count(&lost), "{vendor:?}");
    }
}

#[test]
fn returned_participant_has_only_announced_endpoints() {
    for vendor in [VendorId::RUNNEL, VendorId::CYCLONE_DDS] {
        for away in [400, 3000, 20_000] {
            let mut scene = Scene::new(vendor, QoS::default(), 100);
            let other = scene.net.writer(0, "rt/other", QoS::default());
            scene.net.reader(1, "rt/other", QoS::default());
            scene.net.run_until("the endpoints match", secs(3), |net| net.is_matched(0, other));
            scene.net.close(1);
            scene.net.run_for(millis(away));
            scene.net.reboot(1);
            scene.net.reader(1, "rt/chatter", QoS::default());
            scene.net.run_for(secs(4));
            let matched = [scene.writer, other].map(|writer| scene.net.is_matched(0, writer));
            assert_eq!(matched, [true, false], "{vendor:?}, away for {away} ms");
        }
    }
}

/// Samples that the history no longer holds when the forged jump is detected are lost, and no more.
#[test]
fn link_with_short_history_survives_forged_jump() {
    for (depth, vendor) in
        [1, 10].into_iter().flat_map(|depth| [VendorId::RUNNEL, VendorId::CYCLONE_DDS].map(|of| (depth, of)))
    {
        let mut scene = Scene::new(vendor, QoS::keep_last(depth), 100);
        (0..40).for_each(|_| scene.write(5));
        scene.forge(Victim::Reader, |scene, out| {
            gap(scene, 1, 1 << 40).emit(out);
            data(scene, out, 1 << 40);
        });
        (0..200).for_each(|_| scene.write(5));
        let healed = scene.written;
        (0..50).for_each(|_| scene.write(5));
        scene.net.run_for(secs(1));
        let received: Vec<u32> = scene.received().into_iter().filter(|number| *number >= healed).collect();
        assert_eq!(received, (healed..scene.written).collect::<Vec<_>>(), "depth {depth}, {vendor:?}");
    }
}

#[test]
fn link_survives_heartbeat_forged_before_match() {
    let mut net = Net::new(7);
    (0..2).for_each(|_| _ = net.add());
    let reader = net.reader(1, "rt/chatter", QoS::keep_last(10));
    net.run_for(secs(2));
    let [from, to] = [0, 1].map(|node: usize| net.nodes[node].address);
    let [us, them] = [0, 1].map(|node: usize| net.nodes[node].participant.prefix());
    let mut out = vec![];
    wire::begin(&mut out, VendorId::RUNNEL, us);
    wire::InfoDestination { prefix: them }.emit(&mut out);
    let far = wire::SequenceNumber(1 << 40);
    let writer = EntityId::user_writer(1);
    let (count, is_final, liveliness) = (1, true, false);
    wire::Heartbeat { reader, writer, first: far, last: far, count, is_final, liveliness }.emit(&mut out);
    net.send(from, to, &out);
    net.run_for(millis(10));
    assert_eq!(net.writer(0, "rt/chatter", QoS::keep_last(10)), writer);
    net.run_until("the endpoints match", secs(3), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    for number in 0..200 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(10));
    }
    let received = net.texts(1, reader).len();
    assert!(received >= 100, "{received}");
}

/// Nothing is written afterwards: only the reader's acknowledgement shows that it has less.
#[test]
fn samples_skipped_by_forged_acknowledgement_are_sent() {
    for vendor in [VendorId::RUNNEL, VendorId::CYCLONE_DDS] {
        let mut scene = Scene::new(vendor, QoS::keep_all(), 8000);
        (0..12).for_each(|_| scene.write(20));
        scene.net.run_for(millis(500));
        for _ in 0..200 {
            let bytes = sample(scene.written, 8000);
            scene.net.write(0, scene.writer, &bytes).unwrap();
            scene.written += 1;
        }
        scene.forge(Victim::Writer, |scene, out| ack(scene, scene.next(), 1000).emit(out));
        scene.net.run_for(secs(3));
        assert_eq!(scene.received(), (0..scene.written).collect::<Vec<_>>(), "{vendor:?}");
    }
}

#[test]
fn losses_are_reported_after_forged_heartbeat() {
    let mut scene = Scene::new(VendorId::CYCLONE_DDS, QoS::keep_last(5), 100);
    (0..40).for_each(|_| scene.write(20));
    scene.forge(Victim::Reader, |scene, out| heartbeat(scene, 1 << 40, 1 << 40, 1000).emit(out));
    (0..100).for_each(|_| scene.write(20));
    let lost = |scene: &Scene| -> u64 {
        let of = |event: &Event| match event {
            Event::SampleLost { count, .. } => *count,
            _ => 0,
        };
        scene.net.nodes[1].events.iter().map(of).sum()
    };
    let before = lost(&scene);
    assert!(before < 1000, "{before}");
    scene.net.nodes[1].stopped = true;
    (0..50).for_each(|_| scene.write(20));
    scene.net.nodes[1].stopped = false;
    (0..20).for_each(|_| scene.write(20));
    let received = scene.received();
    assert!(received.len() < scene.written as usize, "nothing was lost");
    assert!(lost(&scene) > before, "{}", lost(&scene));
}
