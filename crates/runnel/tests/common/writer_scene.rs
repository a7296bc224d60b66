//! A listener, an honest talker that is joined to it by shared memory, and a fake one that sends what a test likes.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use runnel::core::Message;
use runnel::io::segment::{Segment, Slot};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::ros1::header::ConnectionHeader;
use runnel::{Context, Publisher, Subscription};

use super::common::{Graph, spin_until, wait_until};
use super::fake_process::{
    ASK, BEGIN, FakeSession, MAPPED, OPEN_SAMPLES, SAMPLE, SAMPLE_BEGIN, SAMPLE_SLOT, SKIPS, gift, hex,
    lending, opening_pair, sample, send, small_number, stated, token_bytes, unhex,
};
use super::fake_publisher::FakePublisher;
use super::raw::framed_text;

/// A listener, an honest talker in a context of its own that is joined to it by shared memory, and a fake one.
pub struct Scene {
    pub graph: Graph,
    _near: Context,
    pub publisher: Publisher<Text>,
    pub far: Context,
    pub heard: Arc<Mutex<Vec<String>>>,
    pub subscription: Subscription,
    pub fake: FakePublisher,
}

impl Scene {
    pub fn new() -> Self {
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
    pub fn hears(&self, text: &str) {
        spin_until(&self.far, text, || self.heard.lock().unwrap().iter().any(|heard| heard == text));
    }

    /// The honest talker is heard, all of it, still in shared memory.
    pub fn is_undisturbed(&self) {
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
pub struct Writer {
    pub stream: TcpStream,
    pub session: FakeSession,
    pub token: u128,
    /// The number of its next message.
    pub next: u64,
    epoch: u32,
    process: u128,
}

impl Writer {
    pub fn new(fake: &FakePublisher) -> Self {
        Self::of::<Text>(fake)
    }

    /// A talker whose topic is of this type.
    pub fn of<M: Message>(fake: &FakePublisher) -> Self {
        let process = small_number();
        let (stream, token, listener) = link::<M>(fake, process);
        let mut session = FakeSession::greet(process, listener);
        assert_eq!(session.wait_for(ASK).payload, token_bytes(token));
        Self { stream, session, token, next: 1, epoch: 2, process }
    }

    /// One more link of the same two processes, which the listener asks to send by the same session.
    pub fn another_link(&mut self, fake: &FakePublisher) -> (TcpStream, u128) {
        let (stream, token, _) = link::<Text>(fake, self.process);
        assert_eq!(self.session.wait_for(ASK).payload, token_bytes(token));
        (stream, token)
    }

    /// The listener closes the connection of the link.
    pub fn wait_for_end_of_link(&mut self) {
        while self.stream.read(&mut [0; 4096]).unwrap() > 0 {}
    }

    /// Goes over to channel 1 after so many messages by the connection.
    pub fn open(&mut self, before: u64) {
        self.next = before.saturating_add(1);
        self.session.push(OPEN_SAMPLES, 1, &opening_pair(self.token, 1, self.epoch, self.next));
    }

    /// What opens the connection again, of whose messages the next one has the next number: nothing before it is sent again.
    pub fn go_back(&mut self) -> Vec<u8> {
        self.epoch += 1;
        let begin = stated(self.token, BEGIN | u64::from(self.epoch) << 32, 1);
        [begin, stated(self.token, SKIPS, self.next)].concat()
    }

    /// A message by channel 1.
    pub fn say(&mut self, message: &[u8]) {
        self.session.push(SAMPLE, 1, &sample(self.next, message));
        self.next += 1;
    }

    /// The first `count` bytes of a message by channel 1.
    pub fn begin(&mut self, message: &[u8], count: usize) {
        let begun = [&message.len().to_le_bytes(), &message[..count]].concat();
        self.session.push(SAMPLE_BEGIN, 1, &sample(self.next, &begun));
        self.next += 1;
    }

    /// Gives a segment and waits until it is mapped.
    pub fn give(&self, segment: &Arc<Segment>) {
        let (slot_bytes, slots) = (segment.slot_bytes() as u64, segment.slots() as u64);
        self.give_memory(segment.fd(), slot_bytes, slots);
    }

    /// Gives memory as a segment and waits until it is mapped.
    pub fn give_memory(&self, fd: BorrowedFd<'_>, slot_bytes: u64, slots: u64) {
        let count = self.session.told(MAPPED);
        send(&self.session.packets, &gift(count, slot_bytes, slots), &[fd]);
        self.session.ring();
        wait_until("the segment mapped", || self.session.told(MAPPED) == count + 1);
    }

    pub fn lend(&mut self, loan: u32, slot: &Slot) {
        self.lend_slot(loan, slot.index(), slot.len() as u32);
    }

    /// A message that lies in a slot of the first segment.
    pub fn lend_slot(&mut self, loan: u32, slot: u32, len: u32) {
        let lent = lending(0, loan, slot, len);
        self.session.push(SAMPLE_SLOT, 1, &sample(self.next, &lent));
        self.next += 1;
    }
}

/// The next link to a subscriber, which is told that the talker is of process `me`: the connection, the link's token and
/// the number of the subscriber's process.
fn link<M: Message>(fake: &FakePublisher, me: u128) -> (TcpStream, u128, u128) {
    let (mut stream, asked) = fake.accept_header();
    let process = hex(me);
    let fields = [("callerid", "/fake"), ("md5sum", M::MD5), ("type", M::TYPE)];
    let fields = fields.into_iter().chain([("runnel_process", &*process), ("runnel_delivery", "1")]);
    stream.write_all(&ConnectionHeader::new(fields).emit()).unwrap();
    let number = |field: &str| unhex(asked.get(field).unwrap());
    (stream, number("runnel_link"), number("runnel_process"))
}

/// A text in a slot.
pub fn in_slot(segment: &Arc<Segment>, text: &str) -> Slot {
    let (message, mut slot) = (&framed_text(text)[4..], segment.take().unwrap());
    slot[..message.len()].copy_from_slice(message);
    slot.freeze(message.len())
}
