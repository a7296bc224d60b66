//! Publishers on the same host that send nonsense by shared memory, or leave while what they lent is being read.

mod common;
#[path = "common/fake_process.rs"]
mod fake_process;
#[path = "common/fake_publisher.rs"]
mod fake_publisher;
#[path = "common/ipc_scene.rs"]
mod ipc_scene;
#[path = "common/logged.rs"]
mod logged;
#[path = "common/raw.rs"]
mod raw;

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Graph, LONG, spin_until, wait_until};
use fake_process::{
    ASK, BYTES, FakeSession, LOANS, MAPPED, MESSAGE, OPEN, RETURNED, SLOT, gift, hex, is_ended, lending,
    opening, send, small_number, token_bytes, unhex,
};
use fake_publisher::FakePublisher;
use ipc_scene::alone;
use logged::count_logged;
use raw::framed_text;
use runnel::core::Message;
use runnel::io::segment::{Segment, Slot};
use runnel::msgs::std_msgs::String as Text;
use runnel::ros1::header::ConnectionHeader;
use runnel::{Context, Publisher, Subscription};

/// A listener, an honest talker in a context of its own that is joined to it by shared memory, and a fake one.
struct Scene {
    graph: Graph,
    _near: Context,
    publisher: Publisher<Text>,
    far: Context,
    heard: Arc<Mutex<Vec<String>>>,
    subscription: Subscription,
    fake: FakePublisher,
}

impl Scene {
    fn new() -> Self {
        let graph = Graph::new();
        let (near, far) = (graph.context(), graph.context());
        let publisher = near.create_node("talker").unwrap().create_publisher("talk", 10_000).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let listener = far.create_node("listener").unwrap();
        let subscription = listener.create_subscription("talk", 10_000, move |message: &Text| {
            into.lock().unwrap().push(message.data.clone());
        });
        let subscription = subscription.unwrap();
        spin_until(&far, "a link in shared memory", || subscription.shared_memory_count() == 1);
        let fake = FakePublisher::new(&graph, "/fake", "/talk");
        Self { graph, _near: near, publisher, far, heard, subscription, fake }
    }

    /// Waits until this is heard.
    fn hears(&self, text: &str) {
        spin_until(&self.far, text, || self.heard.lock().unwrap().iter().any(|heard| heard == text));
    }

    /// The honest talker is heard, all of it, still in shared memory.
    fn is_undisturbed(&self) {
        self.heard.lock().unwrap().clear();
        let texts: Vec<String> = (0..100).map(|number| format!("honest {number}")).collect();
        texts.iter().for_each(|data| self.publisher.publish(Text { data: data.clone() }).unwrap());
        self.hears("honest 99");
        let heard = self.heard.lock().unwrap();
        assert!(heard.iter().filter(|text| text.starts_with("honest")).eq(&texts));
        assert_eq!((self.publisher.shared_memory_count(), self.subscription.dropped()), (1, 0));
    }
}

/// The fake talker, asked by the listener to send by its session.
struct Writer {
    stream: TcpStream,
    session: FakeSession,
    token: u128,
}

impl Writer {
    fn new(fake: &FakePublisher) -> Self {
        let (mut stream, asked) = fake.accept_header();
        let me = small_number();
        let process = hex(me);
        let fields = [("callerid", "/fake"), ("md5sum", Text::MD5), ("type", "std_msgs/String")];
        let fields = fields.into_iter().chain([("runnel_process", &*process)]);
        stream.write_all(&ConnectionHeader::new(fields).emit()).unwrap();
        let token = unhex(asked.get("runnel_link").unwrap());
        let mut session = FakeSession::greet(me, unhex(asked.get("runnel_process").unwrap()));
        let ask = session.wait_for(ASK);
        assert_eq!(ask.payload, token_bytes(token));
        Self { stream, session, token }
    }

    fn open(&mut self, before: u64) {
        self.session.push(OPEN, 1, &opening(self.token, before));
    }

    /// Gives a segment and waits until it is mapped.
    fn give(&self, segment: &Arc<Segment>) {
        let (slot_bytes, slots) = (segment.slot_bytes() as u64, segment.slots() as u64);
        let count = self.session.told(MAPPED);
        send(&self.session.packets, &gift(count, slot_bytes, slots), &[segment.fd()]);
        self.session.ring();
        wait_until("the segment mapped", || self.session.told(MAPPED) == count + 1);
    }

    fn lend(&mut self, loan: u32, slot: &Slot) {
        self.session.push(SLOT, 1, &lending(0, loan, slot.index(), slot.len() as u32));
    }
}

/// A text in a slot, with the length of the message before it.
fn in_slot(segment: &Arc<Segment>, text: &str) -> Slot {
    let (frame, mut slot) = (framed_text(text), segment.take().unwrap());
    slot[..frame.len()].copy_from_slice(&frame);
    slot.freeze(frame.len())
}

/// A fake talker does something; the session ends for the reason that is given, and its link goes on over the network
/// with what `rest` says.
fn ends(what: &str, says: &str, act: impl FnOnce(&Scene, &mut Writer), rest: &[u8]) {
    println!("{what}");
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let says = ["another process of this host:", says, "its links go on over the network"];
    let before = count_logged(&says);
    act(&scene, &mut writer);
    wait_until(&format!("{says:?} logged"), || count_logged(&says) > before);
    writer.session.wait_for_end();
    writer.stream.write_all(&[rest, &framed_text("by the network")].concat()).unwrap();
    scene.hears("by the network");
    scene.is_undisturbed();
}

#[test]
fn a_fake_talker_that_keeps_to_the_agreement_is_heard() {
    let _alone = alone();
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    writer.stream.write_all(&framed_text("before")[..7]).unwrap();
    writer.open(7);
    writer.session.push(BYTES, 1, &framed_text("before")[7..]);
    writer.session.push(MESSAGE, 1, &framed_text("message")[4..]);
    let segment = Segment::new(4096, 4).unwrap();
    writer.give(&segment);
    writer.lend(5, &in_slot(&segment, "slot"));
    scene.hears("slot");
    assert!(scene.heard.lock().unwrap().ends_with(&["before", "message", "slot"].map(String::from)));
    spin_until(&scene.far, "the slot given back", || writer.session.told(RETURNED) == 1);
    assert_eq!(writer.session.told(RETURNED + 1), 5);
    scene.is_undisturbed();
}

#[test]
fn positions_in_the_stream_that_cannot_be_end_the_session() {
    let _alone = alone();
    let less = "it says that less went over the network than did";
    ends(
        "less",
        less,
        |scene, writer| {
            writer.stream.write_all(&framed_text("first")).unwrap();
            scene.hears("first");
            writer.open(3);
        },
        &[],
    );
    let more = "it says that more went over the network than did";
    for before in [1, 1000, 1 << 40, u64::MAX] {
        ends(
            &format!("more by {before}"),
            more,
            |_, writer| {
                writer.open(before);
                writer.session.push(MESSAGE, 1, &framed_text("too early")[4..]);
            },
            &[],
        );
    }
}

#[test]
fn a_link_that_waits_for_ever_is_given_up_by_a_process_that_sleeps() {
    let _alone = alone();
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let began = Instant::now();
    writer.open(1 << 40);
    // Nobody spins, and what else may wake the process comes later.
    wait_until("the end of the session", || is_ended(&writer.session.packets));
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[test]
fn pieces_in_the_wrong_order_end_the_session() {
    let _alone = alone();
    let frame = framed_text("torn");
    let middle = "it put a message into the middle of another";
    for cut in [1, 4, 5, frame.len() - 1] {
        ends(
            "a message in another",
            middle,
            |_, writer| {
                writer.open(0);
                writer.session.push(BYTES, 1, &frame[..cut]);
                writer.session.push(MESSAGE, 1, &framed_text("whole")[4..]);
            },
            &frame[cut..],
        );
    }
    let segment = Segment::new(4096, 4).unwrap();
    ends(
        "a slot in another",
        middle,
        |_, writer| {
            writer.give(&segment);
            writer.open(0);
            writer.session.push(BYTES, 1, &frame[..6]);
            writer.lend(0, &in_slot(&segment, "whole"));
        },
        &frame[6..],
    );
}

#[test]
fn slots_that_are_none_end_the_session() {
    let _alone = alone();
    let segment = Segment::new(4096, 4).unwrap();
    let lent = |segment_number: u32, slot: u32, len: u32, says: &str| {
        ends(
            &format!("{segment_number} {slot} {len}"),
            says,
            |_, writer| {
                writer.give(&segment);
                writer.open(0);
                writer.session.push(SLOT, 1, &lending(segment_number, 0, slot, len));
            },
            &[],
        );
    };
    let none = "it lent a slot that its segment does not have";
    lent(0, 4, 10, none);
    lent(0, u32::MAX, 10, none);
    lent(0, 0, 4097, none);
    lent(0, 3, u32::MAX, none);
    let unknown = "it lent a slot of a segment that it has not given";
    lent(1, 0, 10, unknown);
    lent(u32::MAX, 0, 10, unknown);
}

#[test]
fn more_slots_than_can_be_given_back_end_the_session() {
    let _alone = alone();
    let segment = Segment::new(64, 4).unwrap();
    ends(
        "more than a thousand",
        "it lent more slots than it may",
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
fn messages_of_any_length_in_a_slot_are_none_or_malformed() {
    let _alone = alone();
    let scene = Scene::new();
    let mut writer = Writer::new(&scene.fake);
    let segment = Segment::new(4096, 4).unwrap();
    writer.give(&segment);
    writer.open(0);
    for len in [0, 1, 3, 4, 7] {
        writer.session.push(SLOT, 1, &lending(0, 0, 0, len));
        writer.session.push(MESSAGE, 1, &vec![0xff; len as usize]);
    }
    writer.session.push(MESSAGE, 1, &framed_text("good")[4..]);
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
fn a_message_is_read_to_its_end_though_its_talker_is_gone() {
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
fn a_segment_that_is_forgotten_is_unmapped_once_nobody_reads_it() {
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
