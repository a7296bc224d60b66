//! Links that go over to shared memory before their connection has given what went by it: they wait for it alone.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use crate::common::{spin_until, wait_until};
use crate::fake_process::{
    BEGIN, BYTES, CLOSE, OPEN_SAMPLES, POSITION, RETURNED, RING, SAMPLE, is_ended, opening_pair, sample,
    stated,
};
use crate::fake_publisher::FakePublisher;

use crate::process::alone;
use crate::raw::framed_text;
use crate::writer_scene::{Scene, Writer, in_slot};
use runnel::Subscription;
use runnel::core::Message;
use runnel::io::segment::Segment;
use runnel::msgs::std_msgs::msg::String as Text;

/// A fake talker with two links to one listener: that by channel 1 is late, that by channel 2 is not.
struct Two {
    scene: Scene,
    writer: Writer,
    other: Option<TcpStream>,
    other_token: u128,
    /// The number of the next message by channel 2.
    other_next: u64,
    heard: Arc<Mutex<Vec<String>>>,
    _subscription: Subscription,
    _fake: FakePublisher,
}

impl Two {
    /// The connection of the late link owes `owed` messages.
    fn new(owed: u64) -> Self {
        let scene = Scene::new();
        let mut writer = Writer::new(&scene.fake);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let node = scene.far.create_node("other_listener").unwrap();
        let subscription = node.create_subscription("other", 10_000, move |message: &Text| {
            into.lock().unwrap().push(message.data.clone());
        });
        let fake = FakePublisher::new(&scene.graph, "/other_fake", "/other");
        let (other, token) = writer.another_link(&fake);
        writer.open(owed);
        writer.session.push(OPEN_SAMPLES, 2, &opening_pair(token, 1, 2, 1));
        let (other, _subscription) = (Some(other), subscription.unwrap());
        Self { scene, writer, other, other_token: token, other_next: 1, heard, _subscription, _fake: fake }
    }

    /// A message by a channel.
    fn send(&mut self, channel: u32, text: &str) {
        let message = &framed_text(text)[4..];
        if channel == 1 {
            return self.writer.say(message);
        }
        self.writer.session.push(SAMPLE, channel, &sample(self.other_next, message));
        self.other_next += 1;
    }

    /// The link that is not late brings this.
    fn other_hears(&self, text: &str) {
        spin_until(&self.scene.far, text, || self.heard.lock().unwrap().iter().any(|heard| heard == text));
    }

    /// What the late link brought.
    fn heard(&self) -> Vec<String> {
        self.scene.heard.lock().unwrap().clone()
    }

    /// The late link has ended and is made anew; the other goes on by the session.
    fn lost_one_link(mut self) {
        self.writer.wait_for_end_of_link();
        self.send(2, "still by the session");
        self.other_hears("still by the session");
        assert!(!is_ended(&self.writer.session.packets));
        let _link = self.scene.fake.accept_and_send("/fake", Text::MD5, &framed_text("made anew"));
        self.scene.hears("made anew");
        self.scene.is_undisturbed();
    }
}

#[test]
fn waiting_link_delays_no_other_and_loses_nothing() {
    let _alone = alone();
    let first = framed_text("first");
    let mut two = Two::new(1);
    let segment = Segment::new(4096, 4).unwrap();
    two.writer.give(&segment);
    two.writer.lend(5, &in_slot(&segment, "second"));
    two.send(1, "third");
    let fourth = &framed_text("fourth")[4..];
    two.writer.begin(fourth, 6);
    two.writer.session.push(BYTES, 1, &fourth[6..]);
    two.send(2, "meanwhile");
    two.other_hears("meanwhile");
    assert_eq!(two.heard(), [""; 0]);
    let (some, rest) = first.split_at(7);
    two.writer.stream.write_all(some).unwrap();
    two.send(2, "still meanwhile");
    two.other_hears("still meanwhile");
    assert_eq!(two.heard(), [""; 0]);
    two.writer.stream.write_all(rest).unwrap();
    two.scene.hears("fourth");
    two.send(1, "fifth");
    two.scene.hears("fifth");
    assert_eq!(two.heard(), ["first", "second", "third", "fourth", "fifth"]);
    spin_until(&two.scene.far, "the slot given back", || two.writer.session.told(RETURNED) == 1);
    two.scene.is_undisturbed();
}

#[test]
fn link_with_incomplete_connection_ends_after_timeout() {
    let _alone = alone();
    let mut two = Two::new(1000);
    two.send(1, "never heard");
    two.lost_one_link();
}

#[test]
fn messages_of_departed_publisher_arrive_despite_waiting_link() {
    let _alone = alone();
    let mut two = Two::new(1000);
    (0..100).for_each(|number| two.send(2, &format!("left {number}")));
    two.other = None;
    two.other_hears("left 99");
    assert_eq!(two.heard.lock().unwrap().len(), 100);
}

#[test]
fn ending_waiting_link_delivers_everything_first() {
    let _alone = alone();
    let first = framed_text("first");
    let mut two = Two::new(1);
    two.send(1, "second");
    two.writer.session.push(CLOSE, 1, &[]);
    two.writer.session.push(SAMPLE, 1, &sample(3, &framed_text("for no link")[4..]));
    two.writer.stream.write_all(&first).unwrap();
    two.writer.stream.shutdown(std::net::Shutdown::Write).unwrap();
    two.scene.hears("second");
    assert_eq!(two.heard(), ["first", "second"]);
    let _link = two.scene.fake.accept_and_send("/fake", Text::MD5, &framed_text("made anew"));
    two.scene.hears("made anew");
    assert_eq!(two.heard(), ["first", "second", "made anew"]);
}

#[test]
fn waiting_link_beyond_limit_ends() {
    let _alone = alone();
    let mut two = Two::new(1000);
    let long = "x".repeat(100_000);
    // 16 MiB may wait.
    for _ in 0..170 {
        two.send(1, &long);
        let session = &two.writer.session;
        wait_until("room in the ring", || session.written - session.told(POSITION) < RING as u64 / 2);
    }
    two.lost_one_link();
}

#[test]
fn waiting_link_ends_with_ipc_connection_and_other_continues() {
    let _alone = alone();
    let mut two = Two::new(1000);
    two.send(1, "lost with its link");
    two.send(2, "by the session");
    two.other_hears("by the session");
    two.writer.session.packets.shutdown().unwrap();
    two.writer.wait_for_end_of_link();
    let other = two.other.as_mut().unwrap();
    let begin = stated(two.other_token, BEGIN | 3 << 32, two.other_next);
    other.write_all(&[begin, framed_text("by the network")].concat()).unwrap();
    two.other_hears("by the network");
    let _link = two.scene.fake.accept_and_send("/fake", Text::MD5, &framed_text("made anew"));
    two.scene.hears("made anew");
    two.scene.is_undisturbed();
}
