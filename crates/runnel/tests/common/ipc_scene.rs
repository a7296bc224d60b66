//! A talker and a listener with a link in shared memory, and further readers controlled by the test.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::cell::Cell;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, Publisher, Subscription};
use runnel_ros1::header::ConnectionHeader;

use super::common::{Graph, spin_until, wait_until};
use super::fake_process::{
    ASK, END, FakeConnection, OPEN_SAMPLES, REACHED, SAMPLE_SLOT, hex, low_process_id, open_samples_record,
    reached_record, token_bytes, unhex,
};
use super::logged::count_logged;
use super::raw::{self, Ports, read_frame};

pub use super::numbers::{number_in, numbered};

/// More messages than any test publishes.
const MANY: usize = 100_000;

/// A talker and a listener in contexts of their own, with a link in shared memory. The listener checks all messages.
pub struct Scene {
    pub graph: Graph,
    pub talking: Context,
    pub publisher: Publisher<UInt8MultiArray>,
    pub published: Cell<u32>,
    far: Context,
    spinning: Option<JoinHandle<()>>,
    pub received: Arc<Mutex<Vec<u32>>>,
    pub subscription: Subscription,
    pub ports: Ports,
}

impl Scene {
    pub fn new() -> Self {
        Self::with_queue(MANY)
    }

    /// The talker queues at most this many messages for a slow reader.
    pub fn with_queue(depth: usize) -> Self {
        let graph = Graph::new();
        let (talking, far) = (graph.context(), graph.context());
        let publisher = talking.create_node("talker").unwrap().create_publisher("data", depth).unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let listener = far.create_node("listener").unwrap();
        let subscription = listener.create_subscription("data", MANY, move |message: &UInt8MultiArray| {
            let number = number_in(&message.data);
            // Other talkers use higher numbers.
            if number < 1 << 31 {
                into.lock().unwrap().push(number);
            }
        });
        let subscription = subscription.unwrap();
        spin_until(&far, "a link in shared memory", || subscription.shared_memory_count() == 1);
        let ports = Ports::of(&far, "/talker", "/data");
        let spinning = std::thread::spawn({
            let far = far.clone();
            move || far.spin().unwrap()
        });
        let (published, spinning) = (Cell::new(0), Some(spinning));
        Self { graph, talking, publisher, published, far, spinning, received, subscription, ports }
    }

    /// A scene with a reader.
    pub fn with_reader() -> (Self, Reader) {
        let scene = Self::new();
        let reader = Reader::new(&scene);
        (scene, reader)
    }

    /// Drops a reader and waits until the talker has noticed.
    pub fn wait_for_departure<R>(&self, reader: R) {
        drop(reader);
        wait_until("it is gone", || self.publisher.subscription_count() == 1);
    }

    /// Publishes messages of about this size.
    pub fn talk(&self, count: u32, size: usize) {
        for _ in 0..count {
            self.publisher.publish(numbered(self.published.get(), size)).unwrap();
            self.published.set(self.published.get() + 1);
        }
    }

    /// Asserts that the listener has received all messages once and in order, and still uses shared memory.
    pub fn assert_undisturbed(&self) {
        let published = self.published.get();
        wait_until("all received", || self.received.lock().unwrap().len() >= published as usize);
        assert!(self.received.lock().unwrap().iter().copied().eq(0..published));
        assert_eq!((self.subscription.dropped(), self.subscription.malformed()), (0, 0));
        assert!(self.subscription.shared_memory_count() >= 1);
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.far.shutdown();
        let _ = self.spinning.take().map(JoinHandle::join);
    }
}

/// A fake subscriber on this host, whose link uses the IPC connection with the talker.
pub struct Reader {
    pub stream: TcpStream,
    pub session: FakeConnection,
    pub token: u128,
}

impl Reader {
    pub fn new(scene: &Scene) -> Self {
        let reader = Self::with_others(scene);
        wait_until("both links in shared memory", || scene.publisher.shared_memory_count() == 2);
        reader
    }

    /// As [`Reader::new`], in a scene with more readers.
    pub fn with_others(scene: &Scene) -> Self {
        let me = low_process_id();
        Self::of(me, subscribe(scene, me))
    }

    /// The process `me`, which has [subscribed](subscribe_to).
    pub fn of(me: u128, (stream, process, token): (TcpStream, u128, u128)) -> Self {
        let mut session = FakeConnection::handshake(me, process);
        switch_to_memory(&mut session, token);
        Self { stream, session, token }
    }

    /// Holds this many lent slots. Returns their loans.
    pub fn borrow(&mut self, scene: &Scene, count: usize) -> Vec<u64> {
        let mut loans = Vec::new();
        wait_until("slots that are lent", || {
            scene.talk(1, 5000);
            self.session.map_segments();
            while let Some(record) = self.session.next() {
                if record.kind == SAMPLE_SLOT {
                    loans.push(record.word(1) & 0xffff_ffff);
                }
            }
            loans.len() >= count
        });
        loans
    }

    /// The next message on the connection. Skips statements.
    pub fn next_message(&mut self) -> Vec<u8> {
        loop {
            let mut head = [0; 4];
            self.stream.read_exact(&mut head).unwrap();
            let length = u32::from_le_bytes(head);
            let mut bytes = vec![0; if length == u32::MAX { 24 } else { length as usize }];
            self.stream.read_exact(&mut bytes).unwrap();
            if length < u32::MAX {
                return bytes;
            }
        }
    }

    /// Asserts that the IPC connection ends for a logged reason, and that the link falls back to its connection.
    pub fn assert_fallback(mut self, scene: &Scene, text: &[&str], before: usize) {
        wait_until(&format!("{text:?} logged"), || count_logged(text) > before);
        self.session.wait_for_end();
        self.session.set(END, 1);
        wait_until("the link on the network", || scene.publisher.shared_memory_count() == 1);
        scene.talk(10, 100);
        let last = numbered(scene.published.get() - 1, 100).data;
        let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
        while !got.ends_with(&last) {
            let count = self.stream.read(&mut buffer).unwrap();
            assert!(count > 0, "the connection stays");
            got.extend_from_slice(&buffer[..count]);
        }
    }
}

/// Requests a new link in shared memory. Returns its channel.
pub fn switch_to_memory(session: &mut FakeConnection, token: u128) -> u32 {
    session.push(ASK, 0, &token_bytes(token));
    let open = session.wait_for(OPEN_SAMPLES);
    let (epoch, next) = ((open.word(3) >> 32) as u32, open.word(5));
    assert_eq!(open.payload, open_samples_record(token, 1, epoch, 1));
    session.push(REACHED, 0, &reached_record(token, epoch, next));
    open.channel
}

/// Subscribes as process `me`. Returns the connection, the talker's process id and the link's token.
pub fn subscribe(scene: &Scene, me: u128) -> (TcpStream, u128, u128) {
    subscribe_to(scene.ports.tcpros, "/data", me)
}

/// As [`subscribe`], for any topic of the node at this address.
pub fn subscribe_to(tcpros: SocketAddr, topic: &str, me: u128) -> (TcpStream, u128, u128) {
    subscribe_with_fields(tcpros, topic, me, &[("runnel_delivery", "1")])
}

/// As [`subscribe_to`], with further header fields.
pub fn subscribe_with_fields(
    tcpros: SocketAddr,
    topic: &str,
    me: u128,
    text: &[(&str, &str)],
) -> (TcpStream, u128, u128) {
    let token = low_process_id();
    let (process, hidden) = (hex(me), hex(token));
    let fields = [("callerid", "/hostile"), ("topic", topic), ("md5sum", "*"), ("type", "*")];
    let fields = fields.into_iter().chain([("runnel_process", &*process), ("runnel_link", &hidden)]);
    let fields = fields.chain(text.iter().copied());
    let mut stream = raw::send(tcpros, &ConnectionHeader::new(fields).emit());
    let answer = ConnectionHeader::parse(&read_frame(&mut stream).unwrap()).unwrap();
    (stream, unhex(answer.get("runnel_process").unwrap()), token)
}
