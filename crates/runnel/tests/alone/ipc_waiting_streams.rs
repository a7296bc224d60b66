//! Tests of links that switch to shared memory before their connection has delivered all earlier bytes: only they wait.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use crate::common::{spin_until, wait_until};
use crate::fake_process::{
    BEGIN, BYTES, CLOSE, OPEN_SAMPLES, POSITION, RETURNED, RING, SAMPLE, is_ended, open_samples_record,
    sample, stated,
};
use crate::fake_publisher::FakePublisher;

use crate::process::alone;
use crate::raw::framed_text;
use crate::writer_scene::{Scene, Writer, slot_with_text};
use runnel::Subscription;
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel_io::segment::Segment;

/// A fake talker with two links to a listener: the one on channel 1 waits for its connection, the one on channel 2 does
/// not.
struct Two {
    scene: Scene,
    writer: Writer,
    other: Option<TcpStream>,
    other_token: u128,
    /// Number of the next message on channel 2.
    other_next: u64,
    received: Arc<Mutex<Vec<String>>>,
    _subscription: Subscription,
    _fake: FakePublisher,
}

impl Two {
    /// The connection of the waiting link has yet to deliver `owed` messages.
    fn new(owed: u64) -> Self {
        let scene = Scene::new();
        let mut writer = Writer::new(&scene.fake);
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let node = scene.far.create_node("other_listener").unwrap();
        let subscription = node.create_subscription("other", 10_000, move |message: &Text| {
            into.lock().unwrap().push(message.data.clone());
        });
        let fake = FakePublisher::new(&scene.graph, "/other_fake", "/other");
        let (other, token) = writer.another_link(&fake);
        writer.open(owed);
        writer.session.push(OPEN_SAMPLES, 2, &open_samples_record(token, 1, 2, 1));
        let (other, _subscription) = (Some(other), subscription.unwrap());
        Self { scene, writer, other, other_token: token, other_next: 1, received, _subscription, _fake: fake }
    }

    /// Sends a message on a channel.
    fn send(&mut self, channel: u32, text: &str) {
        let message = &framed_text(text)[4..];
        if channel == 1 {
            return self.writer.send_sample(message);
        }
        self.writer.session.push(SAMPLE, channel, &sample(self.other_next, message));
        self.other_next += 1;
    }

    /// Asserts that the other link delivers this message.
    fn assert_other_receives(&self, text: &str) {
        spin_until(&self.scene.far, text, || {
            self.received.lock().unwrap().iter().any(|received| received == text)
        });
    }

    /// Messages delivered by the waiting link.
    fn received(&self) -> Vec<String> {
        self.scene.received.lock().unwrap().clone()
    }

    /// Asserts that the waiting link has ended and is made again, while the other keeps shared memory.
    fn assert_one_link_lost(mut self) {
        self.writer.wait_for_end_of_link();
        self.send(2, "still by the session");
        self.assert_other_receives("still by the session");
        assert!(!is_ended(&self.writer.session.packets));
        let _link = self.scene.fake.accept_and_send("/fake", Text::MD5, &framed_text("made anew"));
        self.scene.receives("made anew");
        self.scene.assert_undisturbed();
    }
}

#[test]
fn waiting_link_delays_no_other_and_loses_nothing() {
    let _alone = alone();
    let first = framed_text("first");
    let mut two = Two::new(1);
    let segment = Segment::new(4096, 4).unwrap();
    two.writer.announce_segment(&segment);
    two.writer.lend(5, &slot_with_text(&segment, "second"));
    two.send(1, "third");
    let fourth = &framed_text("fourth")[4..];
    two.writer.begin(fourth, 6);
    two.writer.session.push(BYTES, 1, &fourth[6..]);
    two.send(2, "meanwhile");
    two.assert_other_receives("meanwhile");
    assert_eq!(two.received(), [""; 0]);
    let (some, rest) = first.split_at(7);
    two.writer.stream.write_all(some).unwrap();
    two.send(2, "still meanwhile");
    two.assert_other_receives("still meanwhile");
    assert_eq!(two.received(), [""; 0]);
    two.writer.stream.write_all(rest).unwrap();
    two.scene.receives("fourth");
    two.send(1, "fifth");
    two.scene.receives("fifth");
    assert_eq!(two.received(), ["first", "second", "third", "fourth", "fifth"]);
    spin_until(&two.scene.far, "the slot returned", || two.writer.session.peer_word(RETURNED) == 1);
    two.scene.assert_undisturbed();
}

#[test]
fn link_with_incomplete_connection_ends_after_timeout() {
    let _alone = alone();
    let mut two = Two::new(1000);
    two.send(1, "never received");
    two.assert_one_link_lost();
}

#[test]
fn messages_of_departed_publisher_arrive_despite_waiting_link() {
    let _alone = alone();
    let mut two = Two::new(1000);
    (0..100).for_each(|number| two.send(2, &format!("left {number}")));
    two.other = None;
    two.assert_other_receives("left 99");
    assert_eq!(two.received.lock().unwrap().len(), 100);
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
    two.scene.receives("second");
    assert_eq!(two.received(), ["first", "second"]);
    let _link = two.scene.fake.accept_and_send("/fake", Text::MD5, &framed_text("made anew"));
    two.scene.receives("made anew");
    assert_eq!(two.received(), ["first", "second", "made anew"]);
}

#[test]
fn waiting_link_beyond_limit_ends() {
    let _alone = alone();
    let mut two = Two::new(1000);
    let long = "x".repeat(100_000);
    // The limit is 16 MiB.
    for _ in 0..170 {
        two.send(1, &long);
        let session = &two.writer.session;
        wait_until("space in the ring", || session.written - session.peer_word(POSITION) < RING as u64 / 2);
    }
    two.assert_one_link_lost();
}

#[test]
fn waiting_link_ends_with_ipc_connection_and_other_continues() {
    let _alone = alone();
    let mut two = Two::new(1000);
    two.send(1, "lost with its link");
    two.send(2, "by the session");
    two.assert_other_receives("by the session");
    two.writer.session.packets.shutdown().unwrap();
    two.writer.wait_for_end_of_link();
    let other = two.other.as_mut().unwrap();
    let begin = stated(two.other_token, BEGIN | 3 << 32, two.other_next);
    other.write_all(&[begin, framed_text("by the network")].concat()).unwrap();
    two.assert_other_receives("by the network");
    let _link = two.scene.fake.accept_and_send("/fake", Text::MD5, &framed_text("made anew"));
    two.scene.receives("made anew");
    two.scene.assert_undisturbed();
}
