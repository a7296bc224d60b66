//! Tests of announcements and user data that wait in their sockets at the same time.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Clock};

use runnel_core::Message;
use runnel_core::qos::QoS;
use runnel_core::time::Instant;
use runnel_core::wire::{Encoding, cdr};
use runnel_io::clock;
use runnel_msgs::std_msgs::msg::UInt32;
use runnel_rtps::wire::{EntityId, GuidPrefix};
use runnel_rtps::{Config, Participant};
use runnel_testkit::loopback_participant::LoopbackParticipant;
use runnel_testkit::namespace::require_private_network;

use crate::driver::ros2::ANNOUNCEMENTS;
use crate::driver::{Driver, NO_WAIT};
use crate::{Context, ContextOptions, Graphs, Node};

/// Longer than any step takes: only a failing test waits so long.
const LONG: Duration = Duration::from_secs(60);

const DOMAIN: u16 = 170;

/// Participants that announce themselves at once.
const STRANGERS: u8 = 100;

/// More polls would take all announcements.
const POLLS: usize = 8;

/// First bytes of all their GUID prefixes.
const INVENTED: [u8; 4] = [0x77; 4];

/// Announcement of a new participant.
fn announcement(number: u8) -> Vec<u8> {
    let mut prefix = [number; 12];
    prefix[..4].copy_from_slice(&INVENTED);
    let mut config = Config::new(GuidPrefix(prefix), DOMAIN.into());
    config.unicast = vec![SocketAddr::from(([127, 0, 0, 1], 9))];
    config.peers = config.unicast.clone();
    let mut participant: Participant = Participant::new(Instant(1), config);
    participant.handle_timeout(Instant(1));
    participant.poll_transmit(Instant(1)).expect("an announcement").parts.concat()
}

/// Announcements of invented participants left in the sockets.
fn waiting(driver: &Driver) -> usize {
    let rtps = driver.ros2.rtps.as_ref().expect("a participant");
    let (mut buffer, mut count) = (vec![0; 65536], 0);
    for socket in rtps.receivers() {
        while let Some(received) = socket.recv_from(&mut buffer).unwrap() {
            // The GUID prefix follows `RTPS`, version and vendor.
            count += usize::from(buffer[..received.len].get(8..12) == Some(&INVENTED));
        }
    }
    count
}

/// A listener in a context, and a talker that only has an RTPS engine.
struct Scene {
    node: Node,
    listening: Context,
    received: Arc<Mutex<Vec<u32>>>,
    talker: LoopbackParticipant,
    began: Clock,
    writer: EntityId,
    socket: UdpSocket,
    _subscription: crate::Subscription,
}

impl Scene {
    /// Both have matched.
    fn new() -> Self {
        require_private_network();
        let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
        let options = options.graphs(Graphs::Ros2).domain_id(DOMAIN).ipc(false);
        let listening = Context::with_options(options).unwrap();
        let node = listening.create_node("listener").unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (into, qos) = (Arc::clone(&received), QoS::keep_last(10).best_effort());
        let take = move |number: &UInt32| into.lock().unwrap().push(number.data);
        let subscription = node.create_subscription("data", qos, take).unwrap();
        let began = Clock::now();
        let mut talker = LoopbackParticipant::new(DOMAIN, 0x0f, 1, "");
        let writer = talker.create_writer_with("rt/data", UInt32::DDS_TYPE, "", qos);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut scene =
            Self { node, listening, received, talker, began, writer, socket, _subscription: subscription };
        let until = clock::monotonic() + LONG;
        while scene.received().is_empty() {
            assert!(clock::monotonic() < until, "they do not match");
            scene.write(0);
            scene.talker.poll_once();
            scene.listening.spin_once(Duration::ZERO).unwrap();
        }
        scene
    }

    fn received(&self) -> Vec<u32> {
        std::mem::take(&mut *self.received.lock().unwrap())
    }

    fn write(&mut self, number: u32) {
        let bytes = cdr::encode(&UInt32 { data: number }, Encoding::Xcdr1).unwrap();
        let _ = self.talker.write(self.writer, bytes);
    }

    /// Datagrams that the talker sends.
    fn datagrams(&mut self) -> Vec<Vec<u8>> {
        // Later than any time passed to it before.
        let now = Instant(1_000_000 + self.began.elapsed().as_nanos() as u64);
        let participant = &mut self.talker.participant;
        std::iter::from_fn(|| participant.poll_transmit(now).map(|transmit| transmit.parts.concat()))
            .collect()
    }

    fn send(&self, datagrams: &[Vec<u8>], to: (Ipv4Addr, u16)) {
        for datagram in datagrams {
            self.socket.send_to(datagram, to).unwrap();
        }
    }
}

/// However many participants announce themselves at once, an iteration takes few of them, after user data: even the
/// talker's own departure, which arrived before its data.
#[test]
fn user_data_is_received_before_earlier_announcements() {
    let mut scene = Scene::new();
    let (group, unicast) = (7400 + 250 * DOMAIN, 7410 + 250 * DOMAIN);
    let group = (Ipv4Addr::new(239, 255, 0, 1), group);
    let node = scene.node.clone();
    // No other thread runs the driver meanwhile.
    let mut driver = node.inner.driver();
    waiting(&driver);
    // The reactor drops sockets that are not ready, and lists the rest in order of arrival.
    driver.poll_once(Some(NO_WAIT)).unwrap();
    scene.datagrams();
    scene.write(7);
    let data = scene.datagrams();
    scene.talker.participant.close();
    let farewell = scene.datagrams();
    scene.send(&farewell, group);
    scene.send(&(0..STRANGERS).map(announcement).collect::<Vec<_>>(), group);
    scene.send(&data, (Ipv4Addr::LOCALHOST, unicast));
    for _ in 0..POLLS {
        driver.poll_once(Some(NO_WAIT)).unwrap();
    }
    let left = waiting(&driver);
    drop(driver);
    // The rest is gone. Callbacks of before may still wait.
    (0..20).for_each(|_| assert!(scene.listening.spin_once(Duration::ZERO).is_ok()));
    assert_eq!(scene.received().pop(), Some(7));
    assert!(left + POLLS * ANNOUNCEMENTS >= usize::from(STRANGERS), "{left} of {STRANGERS} are left");
}
