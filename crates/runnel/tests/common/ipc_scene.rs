//! A talker and a listener that are joined by shared memory, and beside them readers that do what they like.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::cell::Cell;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::ros1::header::ConnectionHeader;
use runnel::{Context, Publisher, Subscription};

use super::common::{Graph, spin_until, wait_until};
use super::fake_process::{
    ASK, END, FakeSession, OPEN_SAMPLES, REACHED, SAMPLE_SLOT, hex, opening_pair, reached, small_number,
    token_bytes, unhex,
};
use super::logged::count_logged;
use super::raw::{self, Ports, read_frame};

pub use super::numbers::{number_in, numbered};

/// More messages than any test publishes.
const MANY: usize = 100_000;

/// A talker, and a listener in a context of its own, joined by shared memory, that checks what it hears.
pub struct Scene {
    pub graph: Graph,
    pub talking: Context,
    pub publisher: Publisher<UInt8MultiArray>,
    pub published: Cell<u32>,
    far: Context,
    spinning: Option<JoinHandle<()>>,
    pub heard: Arc<Mutex<Vec<u32>>>,
    pub subscription: Subscription,
    pub ports: Ports,
}

impl Scene {
    pub fn new() -> Self {
        Self::with_queue(MANY)
    }

    /// The talker keeps no more messages than this for a reader that is slow.
    pub fn with_queue(depth: usize) -> Self {
        let graph = Graph::new();
        let (talking, far) = (graph.context(), graph.context());
        let publisher = talking.create_node("talker").unwrap().create_publisher("data", depth).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let listener = far.create_node("listener").unwrap();
        let subscription = listener.create_subscription("data", MANY, move |message: &UInt8MultiArray| {
            let number = number_in(&message.data);
            // Others may talk, too.
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
        Self { graph, talking, publisher, published, far, spinning, heard, subscription, ports }
    }

    /// The two, and a reader beside them.
    pub fn with_reader() -> (Self, Reader) {
        let scene = Self::new();
        let reader = Reader::new(&scene);
        (scene, reader)
    }

    /// A reader ends, which the talker learns.
    pub fn is_left_by<R>(&self, reader: R) {
        drop(reader);
        wait_until("it is gone", || self.publisher.subscription_count() == 1);
    }

    /// Publishes so many messages of about so many bytes.
    pub fn talk(&self, count: u32, size: usize) {
        for _ in 0..count {
            self.publisher.publish(numbered(self.published.get(), size)).unwrap();
            self.published.set(self.published.get() + 1);
        }
    }

    /// The listener has heard everything once and in order, and still does so in shared memory.
    pub fn is_undisturbed(&self) {
        let published = self.published.get();
        wait_until("all heard", || self.heard.lock().unwrap().len() >= published as usize);
        assert!(self.heard.lock().unwrap().iter().copied().eq(0..published));
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

/// A subscriber that is of this host, has a session with the talker, and whose link has gone over to it.
pub struct Reader {
    pub stream: TcpStream,
    pub session: FakeSession,
    pub token: u128,
}

impl Reader {
    pub fn new(scene: &Scene) -> Self {
        let reader = Self::beside_others(scene);
        wait_until("both links in shared memory", || scene.publisher.shared_memory_count() == 2);
        reader
    }

    /// As [`Reader::new`] where there are others already.
    pub fn beside_others(scene: &Scene) -> Self {
        let me = small_number();
        Self::of(me, subscribe(scene, me))
    }

    /// The process `me`, which has [subscribed](subscribe_to).
    pub fn of(me: u128, (stream, process, token): (TcpStream, u128, u128)) -> Self {
        let mut session = FakeSession::greet(me, process);
        go_over(&mut session, token);
        Self { stream, session, token }
    }

    /// Has so many slots lent to it; which.
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

    /// The next message of the connection; statements are passed over.
    pub fn message_of_connection(&mut self) -> Vec<u8> {
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

    /// The session is over, for the reason that is logged, and the link goes on over its connection.
    pub fn goes_on_over_network(mut self, scene: &Scene, says: &[&str], before: usize) {
        wait_until(&format!("{says:?} logged"), || count_logged(says) > before);
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

/// Asks for a link of which nothing has come, and has it go over; its channel.
pub fn go_over(session: &mut FakeSession, token: u128) -> u32 {
    session.push(ASK, 0, &token_bytes(token));
    let open = session.wait_for(OPEN_SAMPLES);
    let (epoch, next) = ((open.word(3) >> 32) as u32, open.word(5));
    assert_eq!(open.payload, opening_pair(token, 1, epoch, 1));
    session.push(REACHED, 0, &reached(token, epoch, next));
    open.channel
}

/// Subscribes by the network as process `me`; the connection, the number of the talker's process, and the link's token.
pub fn subscribe(scene: &Scene, me: u128) -> (TcpStream, u128, u128) {
    subscribe_to(scene.ports.tcpros, "/data", me)
}

/// The same for any topic of a node that listens there.
pub fn subscribe_to(tcpros: SocketAddr, topic: &str, me: u128) -> (TcpStream, u128, u128) {
    subscribe_saying(tcpros, topic, me, &[("runnel_delivery", "1")])
}

/// The same with these fields in its header.
pub fn subscribe_saying(
    tcpros: SocketAddr,
    topic: &str,
    me: u128,
    says: &[(&str, &str)],
) -> (TcpStream, u128, u128) {
    let token = small_number();
    let (process, hidden) = (hex(me), hex(token));
    let fields = [("callerid", "/hostile"), ("topic", topic), ("md5sum", "*"), ("type", "*")];
    let fields = fields.into_iter().chain([("runnel_process", &*process), ("runnel_link", &hidden)]);
    let fields = fields.chain(says.iter().copied());
    let mut stream = raw::send(tcpros, &ConnectionHeader::new(fields).emit());
    let answer = ConnectionHeader::parse(&read_frame(&mut stream).unwrap()).unwrap();
    (stream, unhex(answer.get("runnel_process").unwrap()), token)
}
