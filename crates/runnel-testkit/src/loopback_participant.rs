//! RTPS participant on a socket of loopback, for tests that send what no program of ROS would.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use runnel_core::qos::QoS;
use runnel_core::time::Instant;
use runnel_rtps::wire::{EntityId, GuidPrefix, Timestamp};
use runnel_rtps::{Config, EndpointOptions, Full, WholeParticipant};

/// How long [`LoopbackParticipant::poll_once`] waits for a datagram.
const WAIT: Duration = Duration::from_millis(5);

/// A participant with its socket and clock.
pub struct LoopbackParticipant {
    /// The engine.
    pub participant: WholeParticipant<Arc<[u8]>>,
    socket: UdpSocket,
    began: Clock,
}

impl LoopbackParticipant {
    /// A participant whose prefix is this byte, with this user data. It announces itself to the first `peers` participants
    /// of a domain.
    ///
    /// # Panics
    /// When there is no socket.
    pub fn new(domain: u16, prefix: u8, peers: u16, user_data: &str) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(WAIT)).expect("a time");
        let mut config = Config::new(GuidPrefix([prefix; 12]), domain.into());
        config.unicast = vec![socket.local_addr().expect("an address")];
        config.own_addresses = vec![IpAddr::from([127, 0, 0, 1])];
        let ports = (0..peers).map(|participant| 7410 + 250 * domain + 2 * participant);
        config.peers = ports.map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect();
        config.user_data = user_data.as_bytes().to_vec();
        Self { participant: WholeParticipant::new(Instant(1), config), socket, began: Clock::now() }
    }

    fn now(&self) -> Instant {
        Instant(1 + self.began.elapsed().as_nanos() as u64)
    }

    /// Makes a writer that keeps its last sample for late readers.
    pub fn create_writer(&mut self, topic: &str, type_name: &str, user_data: &str) -> EntityId {
        let options = EndpointOptions {
            topic: topic.to_owned(),
            type_name: type_name.to_owned(),
            qos: QoS::keep_last(1).transient_local(),
            user_data: user_data.as_bytes().to_vec(),
        };
        self.participant.create_writer(self.now(), Timestamp { seconds: 1, fraction: 0 }, options)
    }

    /// Writes a sample.
    ///
    /// # Errors
    /// When the writer takes no more for now.
    pub fn write(&mut self, writer: EntityId, payload: Vec<u8>) -> Result<(), Full> {
        let stamp = Timestamp { seconds: 2, fraction: 0 };
        self.participant.write(self.now(), stamp, writer, payload.into()).map(drop)
    }

    /// Takes one datagram, if one comes soon, and sends all that is due.
    pub fn poll_once(&mut self) {
        let mut datagram = vec![0; 65_536];
        if let Ok((len, from)) = self.socket.recv_from(&mut datagram) {
            self.participant.handle_datagram(self.now(), from, &datagram[..len]);
        }
        let now = self.now();
        self.participant.handle_timeout(now);
        while let Some(transmit) = self.participant.poll_transmit(now) {
            let datagram = transmit.parts.concat();
            transmit.to.iter().for_each(|to| drop(self.socket.send_to(&datagram, to)));
        }
        while self.participant.poll_event().is_some() {}
    }
}
