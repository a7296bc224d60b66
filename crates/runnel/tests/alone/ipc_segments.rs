//! Tests of memory that a process lends: slots are reused, and readers unmap retired segments.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::wait_until;
use crate::fake_process::{BYTES, END, FORGET, SAMPLE, SAMPLE_BEGIN, SAMPLE_SLOT, low_process_id};
use crate::ipc_scene::{Reader, Scene, numbered, subscribe, subscribe_to, switch_to_memory};
use crate::process::alone;
use crate::raw::Ports;
use runnel::Publisher;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;

/// Takes all records and returns all slots. Returns the number of slots, and the segment to unmap, if any.
fn read(reader: &mut Reader) -> (usize, Option<u64>) {
    reader.ipc_connection.map_segments();
    let (mut lent, mut forgotten) = (0, None);
    while let Some(record) = reader.ipc_connection.next() {
        match record.kind {
            SAMPLE_SLOT => {
                lent += 1;
                reader.ipc_connection.return_slot(record.word(1) & 0xffff_ffff);
            }
            FORGET => forgotten = Some(record.word(0)),
            _ => {}
        }
    }
    (lent, forgotten)
}

/// A topic with only this reader, to which one slot was lent and returned.
fn rarely_used_topic(scene: &Scene) -> (Publisher<UInt8MultiArray>, Reader) {
    let node = scene.talking.create_node("second").unwrap();
    let rarely_used_topic = node.create_publisher::<UInt8MultiArray>("seldom", 1000).unwrap();
    let ports = Ports::of(&scene.graph.context(), "/second", "/seldom");
    let me = low_process_id();
    let mut reader = Reader::of(me, subscribe_to(ports.tcpros, "/seldom", me));
    wait_until("a slot that is lent and returned", || {
        rarely_used_topic.publish(numbered(0, 5000)).unwrap();
        read(&mut reader).0 > 0
    });
    (rarely_used_topic, reader)
}

/// A reader leaves with a slot, so that its segment is retired: it takes no more messages and ends with its last
/// reader.
fn retire_segment(scene: &Scene) {
    let mut leaving = Reader::with_others(scene);
    leaving.borrow(scene, 1);
    leaving.ipc_connection.packets.shutdown().unwrap();
    leaving.ipc_connection.set(END, 1);
    drop(leaving);
}

#[test]
fn reader_unmaps_segment_replaced_by_another() {
    let _alone = alone();
    let (scene, mut reader) = Scene::with_reader();
    let held = reader.borrow(&scene, 3);
    retire_segment(&scene);
    wait_until("the next segment", || {
        scene.talk(1, 5000);
        let (_, forgotten) = read(&mut reader);
        assert_eq!(forgotten, None, "the first is still read");
        reader.ipc_connection.segments.len() == 2
    });
    held.into_iter().for_each(|loan| reader.ipc_connection.return_slot(loan));
    wait_until("the first is to be forgotten", || {
        scene.talk(1, 5000);
        read(&mut reader).1 == Some(0)
    });
    assert_eq!(reader.ipc_connection.segments.len(), 2);
    scene.assert_undisturbed();
}

#[test]
fn idle_reader_unmaps_retired_segment() {
    let _alone = alone();
    let scene = Scene::new();
    let (_seldom, mut reader) = rarely_used_topic(&scene);
    retire_segment(&scene);
    wait_until("it is to be forgotten", || {
        scene.talk(1, 5000);
        read(&mut reader).1 == Some(0)
    });
    assert_eq!(reader.ipc_connection.segments.len(), 1);
    scene.assert_undisturbed();
}

#[test]
fn freed_slot_is_reused_first() {
    let _alone = alone();
    let scene = Scene::new();
    let (rarely_used_topic, mut reader) = rarely_used_topic(&scene);
    let mut slots = BTreeSet::new();
    for number in 0..8 {
        rarely_used_topic.publish(numbered(number, 5000)).unwrap();
        let record = reader.ipc_connection.wait_for(SAMPLE_SLOT);
        slots.insert(record.word(2) >> 32);
        reader.ipc_connection.return_slot_without_doorbell(record.word(1) & 0xffff_ffff);
    }
    assert_eq!(slots.len(), 1);
    scene.assert_undisturbed();
}

/// CPU time used by this process.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn unmapped_segments_are_lent_while_many_messages_wait() {
    let _alone = alone();
    let (scene, mut reader) = Scene::with_reader();
    // More than can wait as slots: later ones are copied, and moved into slots again.
    scene.talk(20, 1_000_000);
    assert!(reader.ipc_connection.next().is_none(), "the memory is still to be mapped");
    // Not a wait for an event: nothing may happen during this time.
    let (cpu, pause) = (cpu_time(), Duration::from_secs(1));
    std::thread::sleep(pause);
    let used = cpu_time() - cpu;
    assert!(used < pause / 2, "{used:?} of CPU while it waits for that");
    assert!(reader.ipc_connection.next().is_none(), "it still is");
    let mut lent = 0;
    wait_until("all lent", || {
        reader.ipc_connection.map_segments();
        while let Some(record) = reader.ipc_connection.next() {
            assert!(
                ![BYTES, SAMPLE, SAMPLE_BEGIN].contains(&record.kind),
                "{} bytes in the ring",
                record.payload.len()
            );
            if record.kind == SAMPLE_SLOT {
                lent += 1;
                reader.ipc_connection.return_slot(record.word(1) & 0xffff_ffff);
            }
        }
        lent == 20
    });
    scene.assert_undisturbed();
}

#[test]
fn link_without_memory_delays_no_link_without_space() {
    let _alone = alone();
    let scene = Scene::new();
    let me = low_process_id();
    let mut reader = Reader::of(me, subscribe(&scene, me));
    let small: Publisher<UInt8MultiArray> =
        scene.talking.create_node("second").unwrap().create_publisher("small", 10_000).unwrap();
    let ports = Ports::of(&scene.graph.context(), "/second", "/small");
    let (_stream, _, token) = subscribe_to(ports.tcpros, "/small", me);
    let channel = switch_to_memory(&mut reader.ipc_connection, token);
    scene.talk(1, 1_000_000);
    // More than the ring holds.
    (0..5000).for_each(|number| small.publish(numbered(number, 100)).unwrap());
    let mut received = 0;
    wait_until("all small ones", || {
        while let Some(record) = reader.ipc_connection.next() {
            assert_eq!((record.kind, record.channel), (SAMPLE, channel));
            received += 1;
        }
        reader.ipc_connection.ring();
        received == 5000
    });
    reader.ipc_connection.map_segments();
    reader.ipc_connection.wait_for(SAMPLE_SLOT);
    scene.assert_undisturbed();
}
