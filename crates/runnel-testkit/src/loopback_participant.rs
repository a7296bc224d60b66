//! RTPS participant on a loopback socket, for tests that send invalid or unusual messages.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use runnel_core::qos::QoS;
use runnel_core::time::Instant;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, Message, Submessage, Timestamp};
use runnel_rtps::{Config, EndpointOptions, Event, Full, NotSent, ParticipantWithWriters, Sample};

/// Time that [`LoopbackParticipant::poll_once`] waits for a datagram.
const WAIT: Duration = Duration::from_millis(5);

/// When endpoints are created, and samples written.
const CREATED: Timestamp = Timestamp { seconds: 1, fraction: 0 };
const WRITTEN: Timestamp = Timestamp { seconds: 2, fraction: 0 };

/// A participant with its socket and clock.
pub struct LoopbackParticipant {
    /// The engine.
    pub participant: ParticipantWithWriters<Arc<[u8]>>,
    /// All events of the engine.
    pub events: Vec<Event>,
    /// All samples of the user's topics and services: reader, writer and payload.
    pub samples: Vec<(EntityId, Guid, Vec<u8>)>,
    /// Datagrams with samples of this writer are dropped.
    pub muted: Option<EntityId>,
    /// The first writer is announced as the second one, which thereby changes its QoS.
    pub announced_as: Option<(EntityId, EntityId)>,
    socket: UdpSocket,
    began: Clock,
}

impl LoopbackParticipant {
    /// A participant with this byte in its prefix, and this user data. It announces itself to the first `peers`
    /// participants of a domain.
    ///
    /// # Panics
    /// If there is no socket.
    pub fn new(domain: u16, prefix: u8, peers: u16, user_data: &str) -> Self {
        Self::named(domain, GuidPrefix([prefix; 12]), peers, user_data)
    }

    /// A participant with this prefix.
    ///
    /// # Panics
    /// If there is no socket.
    pub fn named(domain: u16, prefix: GuidPrefix, peers: u16, user_data: &str) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(WAIT)).expect("a time");
        let mut config = Config::new(prefix, domain.into());
        config.unicast = vec![socket.local_addr().expect("an address")];
        config.own_addresses = vec![IpAddr::from([127, 0, 0, 1])];
        let ports = (0..peers).map(|participant| 7410 + 250 * domain + 2 * participant);
        config.peers = ports.map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect();
        config.user_data = user_data.as_bytes().to_vec();
        let participant = ParticipantWithWriters::new(Instant(1), config);
        Self {
            participant,
            events: Vec::new(),
            samples: Vec::new(),
            muted: None,
            announced_as: None,
            socket,
            began: Clock::now(),
        }
    }

    fn now(&self) -> Instant {
        Instant(1 + self.began.elapsed().as_nanos() as u64)
    }

    /// Creates a writer that keeps its last sample for late joiners.
    pub fn create_writer(&mut self, topic: &str, type_name: &str, user_data: &str) -> EntityId {
        self.create_writer_with(topic, type_name, user_data, QoS::keep_last(1).transient_local())
    }

    /// Creates a writer.
    pub fn create_writer_with(
        &mut self,
        topic: &str,
        type_name: &str,
        user_data: &str,
        qos: QoS,
    ) -> EntityId {
        self.participant.create_writer(self.now(), CREATED, options(topic, type_name, user_data, qos))
    }

    /// Creates both ends of a service, of a client or a server, which reads and writes these topics with these types.
    pub fn create_service_ends(&mut self, read: [&str; 2], written: [&str; 2]) -> (EntityId, EntityId) {
        let options = |[topic, type_name]: [&str; 2]| options(topic, type_name, "", QoS::services_default());
        let now = self.now();
        let reader = self.participant.create_reader(now, CREATED, options(read));
        (reader, self.participant.create_addressed_writer(now, CREATED, options(written)))
    }

    /// Removes an endpoint.
    pub fn remove_endpoint(&mut self, endpoint: EntityId) {
        self.participant.remove_endpoint(self.now(), WRITTEN, endpoint);
    }

    /// Writes a sample.
    ///
    /// # Errors
    /// If the writer cannot take a sample now.
    pub fn write(&mut self, writer: EntityId, payload: Vec<u8>) -> Result<(), Full> {
        self.participant.write(self.now(), WRITTEN, writer, payload.into()).map(drop)
    }

    /// Writes a sample for one reader, by a writer of a service.
    ///
    /// # Errors
    /// If the reader is not matched, or the writer cannot take a sample now.
    pub fn write_to(&mut self, writer: EntityId, reader: Guid, payload: Vec<u8>) -> Result<(), NotSent> {
        let to = (payload.into(), (reader, None));
        self.participant.write_to(self.now(), WRITTEN, writer, to).map(drop)
    }

    /// Receives one datagram, if one arrives soon, and sends everything that is due.
    pub fn poll_once(&mut self) {
        let mut datagram = vec![0; 65_536];
        if let Ok((len, from)) = self.socket.recv_from(&mut datagram) {
            self.participant.handle_datagram(self.now(), from, &datagram[..len]);
            let samples = std::iter::from_fn(|| self.participant.poll_sample());
            let kept = |sample: Sample| {
                let payload = sample.payload.bytes(&datagram[..len]).to_vec();
                (sample.reader, sample.writer, payload)
            };
            self.samples.extend(samples.map(kept));
        }
        let now = self.now();
        self.participant.handle_timeout(now);
        let prefix = self.participant.prefix();
        while let Some(transmit) = self.participant.poll_transmit(now) {
            let mut datagram = transmit.parts.concat();
            if let Some((writer, as_writer)) = self.announced_as {
                let [writer, as_writer] = [writer, as_writer].map(|entity| prefix.with(entity).to_bytes());
                replace(&mut datagram, writer, as_writer);
            }
            if !self.muted.is_some_and(|writer| has_sample_of(writer, &datagram)) {
                transmit.to.iter().for_each(|to| drop(self.socket.send_to(&datagram, to)));
            }
        }
        self.events.extend(std::iter::from_fn(|| self.participant.poll_event()));
    }
}

fn options(topic: &str, type_name: &str, user_data: &str, qos: QoS) -> EndpointOptions {
    EndpointOptions {
        topic: topic.to_owned(),
        type_name: type_name.to_owned(),
        qos,
        user_data: user_data.as_bytes().to_vec(),
    }
}

/// Replaces a GUID by another one, wherever it is.
fn replace(datagram: &mut [u8], former: [u8; 16], new: [u8; 16]) {
    for start in 0..datagram.len().saturating_sub(former.len() - 1) {
        let place = &mut datagram[start..start + former.len()];
        if place == former {
            place.copy_from_slice(&new);
        }
    }
}

/// Whether a datagram contains a sample of this writer, or a fragment of one.
fn has_sample_of(writer: EntityId, datagram: &[u8]) -> bool {
    let is_of = |submessage| match submessage {
        Submessage::Data(data) => data.writer == writer,
        Submessage::DataFrag(fragment) => fragment.writer == writer,
        _ => false,
    };
    Message::parse(datagram).is_ok_and(|message| message.submessages().flatten().any(is_of))
}
