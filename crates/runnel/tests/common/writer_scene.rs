//! A listener, an honest talker with a link in shared memory, and a fake talker controlled by the test.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use runnel::core::Message;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Publisher, Subscription};
use runnel_io::segment::{Segment, Slot};
use runnel_ros1::header::ConnectionHeader;

use super::common::{Graph, spin_until, wait_until};
use super::fake_process::{
    ASK, BEGIN, FakeConnection, MAPPED, OPEN_SAMPLES, SAMPLE, SAMPLE_BEGIN, SAMPLE_SLOT, SKIPS, hex,
    low_process_id, open_samples_record, sample, segment_packet, send, slot_record, stated, token_bytes,
    unhex,
};
use super::fake_publisher::FakePublisher;
use super::raw::framed_text;

/// A listener and an honest talker in contexts of their own with a link in shared memory, and a fake talker.
pub struct Scene {
    pub graph: Graph,
    _near: Context,
    pub publisher: Publisher<Text>,
    pub far: Context,
    pub received: Arc<Mutex<Vec<String>>>,
    pub subscription: Subscription,
    pub fake: FakePublisher,
}

impl Scene {
    pub fn new() -> Self {
        let graph = Graph::new();
        let (near, far) = (graph.context(), graph.context());
        let publisher = near.create_node("talker").unwrap().create_publisher("talk", 10_000).unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let listener = far.create_node("listener").unwrap();
        let subscription = listener.create_subscription("talk", 10_000, move |message: &Text| {
            into.lock().unwrap().push(message.data.clone());
        });
        let subscription = subscription.unwrap();
        spin_until(&far, "a link in shared memory", || subscription.shared_memory_count() == 1);
        let fake = FakePublisher::new(&graph, "/fake", "/talk");
        Self { graph, _near: near, publisher, far, received, subscription, fake }
    }

    /// Waits until the listener has received this text.
    pub fn receives(&self, text: &str) {
        spin_until(&self.far, text, || self.received.lock().unwrap().iter().any(|received| received == text));
    }

    /// Asserts that the listener receives everything from the honest talker, still in shared memory.
    pub fn assert_undisturbed(&self) {
        self.received.lock().unwrap().clear();
        let texts: Vec<String> = (0..100).map(|number| format!("honest {number}")).collect();
        texts.iter().for_each(|data| self.publisher.publish(Text { data: data.clone() }).unwrap());
        self.receives("honest 99");
        let received = self.received.lock().unwrap();
        assert!(received.iter().filter(|text| text.starts_with("honest")).eq(&texts));
        assert_eq!((self.publisher.shared_memory_count(), self.subscription.dropped()), (1, 0));
    }
}

/// The fake talker, whose listener has requested shared memory.
pub struct Writer {
    pub stream: TcpStream,
    pub session: FakeConnection,
    pub token: u128,
    /// Number of its next message.
    pub next: u64,
    epoch: u32,
    process: u128,
}

impl Writer {
    pub fn new(fake: &FakePublisher) -> Self {
        Self::of::<Text>(fake)
    }

    /// A talker of a topic of this type.
    pub fn of<M: Message>(fake: &FakePublisher) -> Self {
        let process = low_process_id();
        let (stream, token, listener) = link::<M>(fake, process);
        let mut session = FakeConnection::handshake(process, listener);
        assert_eq!(session.wait_for(ASK).payload, token_bytes(token));
        Self { stream, session, token, next: 1, epoch: 2, process }
    }

    /// Another link of the same two processes, for which the listener also requests shared memory.
    pub fn another_link(&mut self, fake: &FakePublisher) -> (TcpStream, u128) {
        let (stream, token, _) = link::<Text>(fake, self.process);
        assert_eq!(self.session.wait_for(ASK).payload, token_bytes(token));
        (stream, token)
    }

    /// Waits until the listener closes the link's connection.
    pub fn wait_for_end_of_link(&mut self) {
        while self.stream.read(&mut [0; 4096]).unwrap() > 0 {}
    }

    /// Switches to channel 1 after this many messages on the connection.
    pub fn open(&mut self, before: u64) {
        self.next = before.saturating_add(1);
        self.session.push(OPEN_SAMPLES, 1, &open_samples_record(self.token, 1, self.epoch, self.next));
    }

    /// A Begin statement for the connection, which continues with the next number and resends nothing.
    pub fn fall_back(&mut self) -> Vec<u8> {
        self.epoch += 1;
        let begin = stated(self.token, BEGIN | u64::from(self.epoch) << 32, 1);
        [begin, stated(self.token, SKIPS, self.next)].concat()
    }

    /// Sends a message on channel 1.
    pub fn send_sample(&mut self, message: &[u8]) {
        self.session.push(SAMPLE, 1, &sample(self.next, message));
        self.next += 1;
    }

    /// Sends the first `count` bytes of a message on channel 1.
    pub fn begin(&mut self, message: &[u8], count: usize) {
        let begun = [&message.len().to_le_bytes(), &message[..count]].concat();
        self.session.push(SAMPLE_BEGIN, 1, &sample(self.next, &begun));
        self.next += 1;
    }

    /// Announces a segment and waits until it is mapped.
    pub fn announce_segment(&self, segment: &Arc<Segment>) {
        let (slot_bytes, slots) = (segment.slot_bytes() as u64, segment.slots() as u64);
        self.announce_memory(segment.fd(), slot_bytes, slots);
    }

    /// Announces memory as a segment and waits until it is mapped.
    pub fn announce_memory(&self, fd: BorrowedFd<'_>, slot_bytes: u64, slots: u64) {
        let count = self.session.peer_word(MAPPED);
        send(&self.session.packets, &segment_packet(count, slot_bytes, slots), &[fd]);
        self.session.ring();
        wait_until("the segment mapped", || self.session.peer_word(MAPPED) == count + 1);
    }

    pub fn lend(&mut self, loan: u32, slot: &Slot) {
        self.lend_slot(loan, slot.index(), slot.len() as u32);
    }

    /// Sends a message in a slot of the first segment.
    pub fn lend_slot(&mut self, loan: u32, slot: u32, len: u32) {
        let lent = slot_record(0, loan, slot, len);
        self.session.push(SAMPLE_SLOT, 1, &sample(self.next, &lent));
        self.next += 1;
    }
}

/// Accepts the next subscriber as process `me`. Returns the connection, the link's token and the subscriber's process
/// id.
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
pub fn slot_with_text(segment: &Arc<Segment>, text: &str) -> Slot {
    let (message, mut slot) = (&framed_text(text)[4..], segment.take().unwrap());
    slot[..message.len()].copy_from_slice(message);
    slot.freeze(message.len())
}
