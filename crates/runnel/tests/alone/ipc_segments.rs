//! Memory that a process gives to others: what they have read is used again, and they are told of what is no more, so that
//! they give it back as well.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::wait_until;
use crate::fake_process::{BYTES, END, FORGET, SAMPLE, SAMPLE_BEGIN, SAMPLE_SLOT, small_number};
use crate::ipc_scene::{Reader, Scene, go_over, numbered, subscribe, subscribe_to};
use crate::process::alone;
use crate::raw::Ports;
use runnel::Publisher;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;

/// Slots that are lent to this reader now; each is given back at once. Whether a segment is to be forgotten, and which.
fn read(reader: &mut Reader) -> (usize, Option<u64>) {
    reader.session.map_segments();
    let (mut lent, mut forgotten) = (0, None);
    while let Some(record) = reader.session.next() {
        match record.kind {
            SAMPLE_SLOT => {
                lent += 1;
                reader.session.give_back(record.word(1) & 0xffff_ffff);
            }
            FORGET => forgotten = Some(record.word(0)),
            _ => {}
        }
    }
    (lent, forgotten)
}

/// A topic that only this reader subscribes to, whose first message was lent to it and given back.
fn seldom(scene: &Scene) -> (Publisher<UInt8MultiArray>, Reader) {
    let node = scene.talking.create_node("second").unwrap();
    let seldom = node.create_publisher::<UInt8MultiArray>("seldom", 1000).unwrap();
    let ports = Ports::of(&scene.graph.context(), "/second", "/seldom");
    let me = small_number();
    let mut reader = Reader::of(me, subscribe_to(ports.tcpros, "/seldom", me));
    wait_until("a slot that is lent and given back", || {
        seldom.publish(numbered(0, 5000)).unwrap();
        read(&mut reader).0 > 0
    });
    (seldom, reader)
}

/// A reader leaves with a slot, so that its segment is given to no message more and ends when it is not read any more.
fn retire_segment(scene: &Scene) {
    let mut leaving = Reader::beside_others(scene);
    leaving.borrow(scene, 1);
    leaving.session.packets.shutdown().unwrap();
    leaving.session.set(END, 1);
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
        reader.session.segments.len() == 2
    });
    held.into_iter().for_each(|loan| reader.session.give_back(loan));
    wait_until("the first is to be forgotten", || {
        scene.talk(1, 5000);
        read(&mut reader).1 == Some(0)
    });
    assert_eq!(reader.session.segments.len(), 2);
    scene.is_undisturbed();
}

#[test]
fn idle_reader_unmaps_retired_segment() {
    let _alone = alone();
    let scene = Scene::new();
    let (_seldom, mut reader) = seldom(&scene);
    retire_segment(&scene);
    wait_until("it is to be forgotten", || {
        scene.talk(1, 5000);
        read(&mut reader).1 == Some(0)
    });
    assert_eq!(reader.session.segments.len(), 1);
    scene.is_undisturbed();
}

#[test]
fn freed_slot_is_reused_first() {
    let _alone = alone();
    let scene = Scene::new();
    let (seldom, mut reader) = seldom(&scene);
    let mut slots = BTreeSet::new();
    for number in 0..8 {
        seldom.publish(numbered(number, 5000)).unwrap();
        let record = reader.session.wait_for(SAMPLE_SLOT);
        slots.insert(record.word(2) >> 32);
        reader.session.give_back_quietly(record.word(1) & 0xffff_ffff);
    }
    assert_eq!(slots.len(), 1);
    scene.is_undisturbed();
}

/// What this process has used of CPUs.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn unmapped_segments_are_lent_while_many_messages_wait() {
    let _alone = alone();
    let (scene, mut reader) = Scene::with_reader();
    // More than may wait as slots: those behind are copied, and lifted into slots again.
    scene.talk(20, 1_000_000);
    assert!(reader.session.next().is_none(), "the memory is still to be mapped");
    // Not for anything to happen: this is the span in which nothing may.
    let (cpu, pause) = (cpu_time(), Duration::from_secs(1));
    std::thread::sleep(pause);
    let used = cpu_time() - cpu;
    assert!(used < pause / 2, "{used:?} of CPU while it waits for that");
    assert!(reader.session.next().is_none(), "it still is");
    let mut lent = 0;
    wait_until("all lent", || {
        reader.session.map_segments();
        while let Some(record) = reader.session.next() {
            assert!(
                ![BYTES, SAMPLE, SAMPLE_BEGIN].contains(&record.kind),
                "{} bytes in the ring",
                record.payload.len()
            );
            if record.kind == SAMPLE_SLOT {
                lent += 1;
                reader.session.give_back(record.word(1) & 0xffff_ffff);
            }
        }
        lent == 20
    });
    scene.is_undisturbed();
}

#[test]
fn link_without_memory_delays_no_link_without_space() {
    let _alone = alone();
    let scene = Scene::new();
    let me = small_number();
    let mut reader = Reader::of(me, subscribe(&scene, me));
    let small: Publisher<UInt8MultiArray> =
        scene.talking.create_node("second").unwrap().create_publisher("small", 10_000).unwrap();
    let ports = Ports::of(&scene.graph.context(), "/second", "/small");
    let (_stream, _, token) = subscribe_to(ports.tcpros, "/small", me);
    let channel = go_over(&mut reader.session, token);
    scene.talk(1, 1_000_000);
    // More than the ring holds.
    (0..5000).for_each(|number| small.publish(numbered(number, 100)).unwrap());
    let mut heard = 0;
    wait_until("all small ones", || {
        while let Some(record) = reader.session.next() {
            assert_eq!((record.kind, record.channel), (SAMPLE, channel));
            heard += 1;
        }
        reader.session.ring();
        heard == 5000
    });
    reader.session.map_segments();
    reader.session.wait_for(SAMPLE_SLOT);
    scene.is_undisturbed();
}
