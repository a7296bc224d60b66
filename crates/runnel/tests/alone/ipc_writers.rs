//! Publishers on the same host that send nonsense by shared memory, or leave while what they lent is being read.

use std::io::Write;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::common::{Graph, LONG, spin_until, wait_until};
use crate::fake_process;
use crate::fake_process::{
    BYTES, LOANS, OPEN_SAMPLES, RETURNED, SAMPLE, SAMPLE_SLOT, SKIPS, is_ended, lending, opening_pair,
    sample, stated,
};
use crate::fake_publisher::FakePublisher;

use crate::logged::count_logged;
use crate::process::alone;
use crate::raw::framed_text;
use crate::writer_scene::{Scene, Writer, in_slot};
use runnel::core::Message;
use runnel::io::segment::Segment;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Subscription};

/// A fake talker does something; the session ends for the reason that is given, and its link goes on over the network
/// with what `rest` says.
fn ends(what: &str, says: &str, act: impl FnOnce(&Scene, &mut Writer), rest: &[u8]) {
    println!("{what}");
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let says = [
        "IPC connection with another process of this host ended:",
        says,
        "its links continue over the network",
    ];
    let before = count_logged(&says);
    act(&scene, &mut writer);
    wait_until(&format!("{says:?} logged"), || count_logged(&says) > before);
    writer.session.wait_for_end();
    let begin = writer.go_back();
    writer.stream.write_all(&[&begin, rest, &framed_text("by the network")].concat()).unwrap();
    scene.hears("by the network");
    scene.is_undisturbed();
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
    writer.say(&framed_text("message")[4..]);
    let segment = Segment::new(4096, 4).unwrap();
    writer.give(&segment);
    writer.lend(5, &in_slot(&segment, "slot"));
    scene.hears("slot");
    assert!(
        scene
            .heard
            .lock()
            .unwrap()
            .ends_with(&["begun by the connection", "in pieces", "message", "slot"].map(String::from))
    );
    spin_until(&scene.far, "the slot given back", || writer.session.told(RETURNED) == 1);
    assert_eq!(writer.session.told(RETURNED + 1), 5);
    scene.is_undisturbed();
}

/// A fake talker does something; its link ends alone, for the reason that is given, and is made anew.
fn link_ends(what: &str, says: &str, act: impl FnOnce(&Scene, &mut Writer)) {
    println!("{what}");
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let says = ["publisher [/fake] at ", says];
    let before = count_logged(&says);
    act(&scene, &mut writer);
    wait_until(&format!("{says:?} logged"), || count_logged(&says) > before);
    writer.wait_for_end_of_link();
    assert!(!is_ended(&writer.session.packets), "the session stands");
    let _link = scene.fake.accept_and_send("/fake", Text::MD5, &framed_text("by a link made anew"));
    scene.hears("by a link made anew");
    scene.is_undisturbed();
}

#[test]
fn impossible_stream_positions_end_the_link() {
    let _alone = alone();
    link_ends("less", "its connection delivered more than its peer stated", |scene, writer| {
        writer.stream.write_all(&framed_text("first")).unwrap();
        scene.hears("first");
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
            writer.say(&framed_text("too early")[4..]);
        });
    }
    for before in [1 << 41, i64::MAX as u64 - 1] {
        let says = format!("message number {} is not plausible", before + 1);
        link_ends(&format!("more by {before}"), &says, |_, writer| writer.open(before));
    }
    let too_great = |_: &Scene, writer: &mut Writer| {
        let opening = opening_pair(writer.token, 1, 2, 1 << 63);
        writer.session.push(OPEN_SAMPLES, 1, &opening);
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
        let says = format!("it wrote sample {number} instead of sample {next}");
        link_ends(&format!("sample {number}"), &says, |scene, writer| {
            writer.open(0);
            writer.say(&framed_text("first")[4..]);
            scene.hears("first");
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
    // Nobody spins, and what else may wake the process comes later.
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
            writer.say(&framed_text("whole")[4..]);
        });
    }
    let segment = Segment::new(4096, 4).unwrap();
    link_ends("a slot in another", middle, |_, writer| {
        writer.give(&segment);
        writer.open(0);
        writer.begin(message, 6);
        writer.lend(0, &in_slot(&segment, "whole"));
    });
}

#[test]
fn invalid_slots_end_the_ipc_connection() {
    let _alone = alone();
    let segment = Segment::new(4096, 4).unwrap();
    let lent = |segment_number: u32, slot: u32, len: u32, says: &str| {
        ends(
            &format!("{segment_number} {slot} {len}"),
            says,
            |_, writer| {
                writer.give(&segment);
                writer.open(0);
                let lent = lending(segment_number, 0, slot, len);
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
            writer.give(&segment);
            writer.open(0);
            let slot = in_slot(&segment, "again");
            // Nobody spins, so that none is given back.
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
    writer.give(&segment);
    writer.open(0);
    for len in [0, 1, 3, 4, 7] {
        writer.session.push(SAMPLE_SLOT, 1, &sample(writer.next, &lending(0, 0, 0, len)));
        writer.next += 1;
        writer.say(&vec![0xff; len as usize]);
    }
    writer.say(&framed_text("good")[4..]);
    scene.hears("good");
    scene.is_undisturbed();
}

/// A subscription whose callback waits, with a message in its hands, until it may look at it again.
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
    writer.give(&segment);
    writer.open(0);
    let text = "x".repeat(5000);
    writer.lend(0, &in_slot(&segment, &text));
    let spinning = std::thread::spawn({
        let context = context.clone();
        move || context.spin().unwrap()
    });
    held.recv_timeout(LONG).unwrap();
    // The talker goes with all that it had.
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
    writer.give(&segment);
    assert_eq!(mapped(), before + 2);
    writer.open(0);
    writer.lend(0, &in_slot(&segment, "slot"));
    writer.session.push(fake_process::FORGET, 0, &fake_process::words(&[0]));
    scene.hears("slot");
    spin_until(&scene.far, "it is unmapped", || mapped() == before + 1);
    scene.is_undisturbed();
    drop(scene.graph);
}
