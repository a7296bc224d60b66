//! Tests of publishers on this host that send invalid data by shared memory, or end while their memory is read.

use std::io::Write;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::common::{Graph, LONG, spin_until, wait_until};
use crate::fake_process;
use crate::fake_process::{
    BYTES, LOANS, OPEN_SAMPLES, RETURNED, SAMPLE, SAMPLE_SLOT, SKIPS, is_ended, open_samples_record, sample,
    slot_record, stated,
};
use crate::fake_publisher::FakePublisher;

use crate::logged::count_logged;
use crate::process::alone;
use crate::raw::framed_text;
use crate::writer_scene::{Scene, Writer, slot_with_text};
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Subscription};
use runnel_io::segment::Segment;

/// Asserts that a fake talker's action ends the IPC connection for a logged reason, and that its link falls back to the
/// network with `rest`.
fn ends(what: &str, text: &str, act: impl FnOnce(&Scene, &mut Writer), rest: &[u8]) {
    println!("{what}");
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let text = [
        "IPC connection with another process of this host ended:",
        text,
        "its links continue over the network",
    ];
    let before = count_logged(&text);
    act(&scene, &mut writer);
    wait_until(&format!("{text:?} logged"), || count_logged(&text) > before);
    writer.session.wait_for_end();
    let begin = writer.fall_back();
    writer.stream.write_all(&[&begin, rest, &framed_text("by the network")].concat()).unwrap();
    scene.receives("by the network");
    scene.assert_undisturbed();
}

#[test]
fn conforming_fake_talker_is_received() {
    let _alone = alone();
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let begun = framed_text("begun by the connection");
    writer.stream.write_all(&begun[..7]).unwrap();
    writer.open(1);
    writer.stream.write_all(&begun[7..]).unwrap();
    let pieces = &framed_text("in pieces")[4..];
    writer.begin(pieces, 7);
    writer.session.push(BYTES, 1, &pieces[7..]);
    writer.send_sample(&framed_text("message")[4..]);
    let segment = Segment::new(4096, 4).unwrap();
    writer.announce_segment(&segment);
    writer.lend(5, &slot_with_text(&segment, "slot"));
    scene.receives("slot");
    assert!(
        scene
            .received
            .lock()
            .unwrap()
            .ends_with(&["begun by the connection", "in pieces", "message", "slot"].map(String::from))
    );
    spin_until(&scene.far, "the slot returned", || writer.session.peer_word(RETURNED) == 1);
    assert_eq!(writer.session.peer_word(RETURNED + 1), 5);
    scene.assert_undisturbed();
}

/// Asserts that a fake talker's action ends only its link for a logged reason, and that the link is made again.
fn link_ends(what: &str, text: &str, act: impl FnOnce(&Scene, &mut Writer)) {
    println!("{what}");
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let text = ["publisher [/fake] at ", text];
    let before = count_logged(&text);
    act(&scene, &mut writer);
    wait_until(&format!("{text:?} logged"), || count_logged(&text) > before);
    writer.wait_for_end_of_link();
    assert!(!is_ended(&writer.session.packets), "the session stands");
    let _link = scene.fake.accept_and_send("/fake", Text::MD5, &framed_text("by a link made anew"));
    scene.receives("by a link made anew");
    scene.assert_undisturbed();
}

#[test]
fn impossible_stream_positions_end_the_link() {
    let _alone = alone();
    link_ends("less", "its connection delivered more than its peer stated", |scene, writer| {
        writer.stream.write_all(&framed_text("first")).unwrap();
        scene.receives("first");
        writer.open(0);
    });
    link_ends(
        "less, as its connection shows later",
        "its connection delivered more than its peer stated",
        |_, writer| {
            writer.open(0);
            writer.stream.write_all(&framed_text("first")).unwrap();
        },
    );
    for before in [1, 1000, 1 << 39] {
        let more = "its connection did not deliver what its peer stated";
        link_ends(&format!("more by {before}"), more, |_, writer| {
            writer.open(before);
            writer.send_sample(&framed_text("too early")[4..]);
        });
    }
    for before in [1 << 41, i64::MAX as u64 - 1] {
        let text = format!("message number {} is not plausible", before + 1);
        link_ends(&format!("more by {before}"), &text, |_, writer| writer.open(before));
    }
    let too_great = |_: &Scene, writer: &mut Writer| {
        let open_record = open_samples_record(writer.token, 1, 2, 1 << 63);
        writer.session.push(OPEN_SAMPLES, 1, &open_record);
    };
    ends("more than any number", "statement has message number", too_great, &[]);
    link_ends("twice", "its shared-memory channel was opened twice", |_, writer| {
        writer.open(1000);
        writer.open(1000);
    });
}

#[test]
fn impossible_numbers_end_the_link() {
    let _alone = alone();
    for (number, next) in [(1, 2), (u64::MAX, 2)] {
        let text = format!("it wrote sample {number} instead of sample {next}");
        link_ends(&format!("sample {number}"), &text, |scene, writer| {
            writer.open(0);
            writer.send_sample(&framed_text("first")[4..]);
            scene.receives("first");
            writer.session.push(SAMPLE, 1, &sample(number, &framed_text("again")[4..]));
        });
    }
    link_ends("another stream", "it wrote a statement of a kind that is not allowed there", |_, writer| {
        writer.stream.write_all(&stated(writer.token ^ 1, SKIPS, 5)).unwrap();
    });
    link_ends("no statement", "statement has unknown kind 99", |_, writer| {
        writer.stream.write_all(&stated(writer.token, 99, 5)).unwrap();
    });
}

#[test]
fn sleeping_process_ends_link_after_timeout() {
    let _alone = alone();
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    writer.open(1 << 40);
    // Nobody spins, and other wake-ups come later.
    let began = Instant::now();
    writer.wait_for_end_of_link();
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[test]
fn pieces_out_of_order_end_the_link() {
    let _alone = alone();
    let message = &framed_text("torn")[4..];
    let middle = "it began a sample before the previous one was complete";
    for cut in [0, 1, message.len() - 1] {
        link_ends("a message in another", middle, |_, writer| {
            writer.open(0);
            writer.begin(message, cut);
            writer.send_sample(&framed_text("whole")[4..]);
        });
    }
    let segment = Segment::new(4096, 4).unwrap();
    link_ends("a slot in another", middle, |_, writer| {
        writer.announce_segment(&segment);
        writer.open(0);
        writer.begin(message, 6);
        writer.lend(0, &slot_with_text(&segment, "whole"));
    });
}

#[test]
fn invalid_slots_end_the_ipc_connection() {
    let _alone = alone();
    let segment = Segment::new(4096, 4).unwrap();
    let lent = |segment_number: u32, slot: u32, len: u32, text: &str| {
        ends(
            &format!("{segment_number} {slot} {len}"),
            text,
            |_, writer| {
                writer.announce_segment(&segment);
                writer.open(0);
                let lent = slot_record(segment_number, 0, slot, len);
                writer.session.push(SAMPLE_SLOT, 1, &sample(1, &lent));
            },
            &[],
        );
    };
    let none = "it lent a slot that its segment does not have";
    lent(0, 4, 10, none);
    lent(0, u32::MAX, 10, none);
    lent(0, 0, 4097, none);
    lent(0, 3, u32::MAX, none);
    let unknown = "it lent a slot of a segment that it has not announced";
    lent(1, 0, 10, unknown);
    lent(u32::MAX, 0, 10, unknown);
}

#[test]
fn too_many_lent_slots_end_the_ipc_connection() {
    let _alone = alone();
    let segment = Segment::new(64, 4).unwrap();
    ends(
        "more than a thousand",
        "it lent more slots than the limit",
        |_, writer| {
            writer.announce_segment(&segment);
            writer.open(0);
            let slot = slot_with_text(&segment, "again");
            // Nobody spins, so no slot is returned.
            (0..=LOANS as u32).for_each(|loan| writer.lend(loan, &slot));
        },
        &[],
    );
}

#[test]
fn every_length_in_a_slot_is_checked() {
    let _alone = alone();
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let segment = Segment::new(4096, 4).unwrap();
    writer.announce_segment(&segment);
    writer.open(0);
    for len in [0, 1, 3, 4, 7] {
        writer.session.push(SAMPLE_SLOT, 1, &sample(writer.next, &slot_record(0, 0, 0, len)));
        writer.next += 1;
        writer.send_sample(&vec![0xff; len as usize]);
    }
    writer.send_sample(&framed_text("good")[4..]);
    scene.receives("good");
    scene.assert_undisturbed();
}

/// A subscription whose callback holds a message and waits until it may read it again.
fn holding(
    context: &Context,
) -> (Subscription, Receiver<()>, std::sync::mpsc::Sender<()>, Receiver<Vec<u8>>) {
    let (has, held) = channel();
    let (look, looks) = channel();
    let (saw, seen) = channel();
    let node = context.create_node("holder").unwrap();
    let subscription = node.create_raw_subscription("talk", None, 10, move |message| {
        has.send(()).unwrap();
        looks.recv().unwrap();
        saw.send(message.bytes().to_vec()).unwrap();
    });
    (subscription.unwrap(), held, look, seen)
}

#[test]
fn borrowed_message_outlives_its_talker() {
    let _alone = alone();
    let graph = Graph::new();
    let context = graph.context();
    let (subscription, held, look, seen) = holding(&context);
    let fake = FakePublisher::new(&graph, "/fake", "/talk");
    let mut writer = Writer::new(&fake);
    let segment = Segment::new(8192, 1).unwrap();
    writer.announce_segment(&segment);
    writer.open(0);
    let text = "x".repeat(5000);
    writer.lend(0, &slot_with_text(&segment, &text));
    let spinning = std::thread::spawn({
        let context = context.clone();
        move || context.spin().unwrap()
    });
    held.recv_timeout(LONG).unwrap();
    // The talker ends with all its resources.
    drop((writer, segment, fake));
    wait_until("the link gone", || subscription.publisher_count() == 0);
    look.send(()).unwrap();
    assert_eq!(seen.recv_timeout(LONG).unwrap(), framed_text(&text)[4..]);
    context.shutdown();
    spinning.join().unwrap();
    drop(graph);
}

#[test]
fn retired_segment_is_unmapped_after_last_reader() {
    let _alone = alone();
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().matches("runnel-segment").count();
    let before = mapped();
    let segment = Segment::new(4096, 4).unwrap();
    writer.announce_segment(&segment);
    assert_eq!(mapped(), before + 2);
    writer.open(0);
    writer.lend(0, &slot_with_text(&segment, "slot"));
    writer.session.push(fake_process::FORGET, 0, &fake_process::words(&[0]));
    scene.receives("slot");
    spin_until(&scene.far, "it is unmapped", || mapped() == before + 1);
    scene.assert_undisturbed();
    drop(scene.graph);
}
