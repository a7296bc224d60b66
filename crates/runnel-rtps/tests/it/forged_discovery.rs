//! Endpoint announcements forged with sequence numbers that the true participant will use later: the endpoints that it
//! then announces are matched.

use runnel_core::qos::QoS;
use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::{EntityId, Heartbeat, SequenceNumber, VendorId};

use crate::forgeries::{Scene, Victim, announce_endpoint, end_of};
use crate::net::{Conditions, millis, secs};

/// Sends a datagram with a nonexistent endpoint, `ahead` of the next number, and a HEARTBEAT that agrees if
/// `is_confirmed`.
fn forge(scene: &mut Scene, ahead: i64, is_confirmed: bool) {
    let participant = &scene.net.nodes[0].participant;
    let known = participant.endpoint(scene.prefix(0).with(scene.writer)).unwrap().clone();
    let guid = scene.prefix(0).with(EntityId::user_writer(0x00be_ef00));
    let endpoint = Endpoint { guid, topic: "rt/forged".into(), ..known };
    let number = scene.next_announced(0, Role::Writer) + ahead;
    scene.forge(Victim::Reader, |_, out| {
        announce_endpoint(out, &endpoint, number);
        let heartbeat = Heartbeat {
            reader: EntityId::PUBLICATIONS_READER,
            writer: EntityId::PUBLICATIONS_WRITER,
            first: SequenceNumber(1),
            last: SequenceNumber(number),
            count: 100,
            is_final: true,
            liveliness: false,
        };
        if is_confirmed {
            heartbeat.emit(out);
        }
    });
}

/// Creates writers at the first node for readers at the second, and waits until all are matched.
#[track_caller]
fn assert_new_writers_match(scene: &mut Scene, count: usize, what: &str) {
    let topics: Vec<String> = (0..count).map(|index| format!("rt/late_{index}")).collect();
    let qos = QoS::sensor_data();
    let readers: Vec<EntityId> = topics.iter().map(|topic| scene.net.reader(1, topic, qos)).collect();
    scene.net.run_for(millis(50));
    for topic in &topics {
        scene.net.writer(0, topic, qos);
    }
    let is_done = |net: &crate::net::Net| readers.iter().all(|reader| net.is_matched(1, *reader));
    scene.net.run_until(what, secs(1), is_done);
    scene.net.run_for(secs(5));
    assert!(is_done(&scene.net), "{what}: unmatched again");
}

#[test]
fn announcement_forged_under_later_number_hides_no_endpoint() {
    for vendor in [VendorId::RUNNEL, VendorId::CYCLONE_DDS, VendorId([13, 37])] {
        for (ahead, count) in [(0, 1), (0, 40), (1, 3), (5, 10), (30, 40)] {
            for (is_confirmed, pause) in [(false, 0), (false, 400), (true, 0), (true, 400)] {
                let mut scene = Scene::new(vendor, QoS::keep_all(), 20);
                forge(&mut scene, ahead, is_confirmed);
                scene.net.run_for(millis(pause));
                let what =
                    format!("{vendor:?}: {ahead} ahead, {count} writers after {pause} ms, {is_confirmed}");
                assert_new_writers_match(&mut scene, count, &what);
            }
        }
    }
}

/// The true announcement is lost, and seems to have been acknowledged.
#[test]
fn lost_announcement_with_forged_number_is_sent_again() {
    for is_confirmed in [false, true] {
        let mut scene = Scene::new(VendorId::RUNNEL, QoS::keep_all(), 20);
        forge(&mut scene, 0, is_confirmed);
        scene.net.run_for(millis(400));
        let reader = scene.net.reader(1, "rt/late", QoS::sensor_data());
        scene.net.run_for(millis(50));
        scene.net.blackout = true;
        scene.net.writer(0, "rt/late", QoS::sensor_data());
        scene.net.run_for(millis(5));
        scene.net.blackout = false;
        scene.net.run_until("it is matched", secs(1), |net| net.is_matched(1, reader));
    }
}

/// A reader that was matched as best effort, and is announced as reliable again, gets repairs of missing samples.
#[test]
fn reader_with_forged_reliability_is_reliable_again() {
    let mut scene = Scene::new(VendorId::RUNNEL, QoS::keep_all(), 20);
    scene.write(20);
    let guid = scene.prefix(1).with(scene.reader);
    let known = scene.net.nodes[0].participant.endpoint(guid).unwrap().clone();
    let number = scene.next_announced(1, Role::Reader);
    scene.forge(Victim::Writer, |_, out| end_of(out, guid, Role::Reader, number));
    let best_effort = Endpoint { qos: QoS::sensor_data(), ..known };
    scene.forge(Victim::Writer, |_, out| announce_endpoint(out, &best_effort, number + 1));
    scene.net.run_for(secs(4));
    scene.net.conditions = Conditions::bad(30);
    (0..50).for_each(|_| scene.write(20));
    scene.net.run_for(secs(2));
    assert_eq!(scene.received(), (0..51).collect::<Vec<_>>());
}

/// It would never acknowledge, and the keep-all writer holds samples for it.
#[test]
fn reader_with_forged_topic_stays_matched_with_no_writer_there() {
    let mut scene = Scene::new(VendorId::RUNNEL, QoS::keep_all(), 20);
    let other = scene.net.writer(0, "rt/other", QoS::keep_all());
    let guid = scene.prefix(1).with(scene.reader);
    let known = scene.net.nodes[0].participant.endpoint(guid).unwrap().clone();
    let forged = Endpoint { topic: "rt/other".into(), ..known };
    let number = scene.next_announced(1, Role::Reader);
    scene.forge(Victim::Writer, |_, out| announce_endpoint(out, &forged, number));
    assert!(scene.net.is_matched(0, other));
    scene.net.run_for(secs(4));
    assert!(!scene.net.is_matched(0, other) && scene.net.is_matched(0, scene.writer));
}
