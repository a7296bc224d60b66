//! A dual node's publisher with links and an RTPS reader of one subscriber node: which messages take which path.

mod killed;
mod memory;
mod several_links;

use std::any::TypeId;
use std::io::Read;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_core::wire::GrowingSink;
use runnel_delivery::FRAME_BYTES;
use runnel_io::{Datagrams, Stream, Token, clock};
use runnel_ros1::node::SubscriberLink;
use runnel_ros1::udpros::Fragmenter;
use runnel_testkit::namespace::require_private_network;

use super::*;
use crate::data::qos_events::QosEvents;
use crate::data::received::SharedMessage;
use crate::data::subscription::LinkInfo;
use crate::error::ConversionError;
use crate::frame::QueueBound;
use crate::ipc::Pool;
use crate::rtps::tests::{chatter, node_reader, poll_once, received_numbers, settings, waker};
use crate::rtps::{Rtps, Writer};

use super::super::{Outgoing, PublicationOptions};

const NODE: u64 = 5;
const LONG: Duration = Duration::from_secs(20);
const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
/// An address that no participant here has.
const OTHER_ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 9));

/// A message that consists of its number.
struct Number(u32);

impl Outgoing for Number {
    fn shared_type(&self) -> Option<TypeId> {
        None
    }
    fn wire_len(&self) -> usize {
        4
    }
    fn write(&self, out: &mut GrowingSink) -> Result<(), ConversionError> {
        out.extend_from_slice(&self.0.to_le_bytes());
        Ok(())
    }
    fn write_cdr(&self, out: &mut GrowingSink) -> Result<(), ConversionError> {
        out.extend_from_slice(&[0, 1, 0, 0]);
        out.extend_from_slice(&self.0.to_le_bytes());
        Ok(())
    }
    fn write_slice(&self, out: &mut [u8]) -> bool {
        out.copy_from_slice(&self.0.to_le_bytes());
        true
    }
    fn into_shared(self) -> SharedMessage {
        Arc::new(())
    }
}

/// The subscriber's end of a link.
struct FarLink {
    conn: ConnId,
    stream: TcpStream,
}

/// A message or a statement on a link.
#[derive(Debug, PartialEq)]
enum Part {
    Message(u32),
    Statement(Statement),
}

impl FarLink {
    /// The next part.
    fn next(&mut self) -> Part {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).unwrap();
        let is_statement = length == [0xff; 4];
        let mut body = vec![0; if is_statement { FRAME_BYTES - 4 } else { 4 }];
        self.stream.read_exact(&mut body).unwrap();
        match is_statement {
            true => Part::Statement(Statement::parse(&body).unwrap()),
            false => Part::Message(u32::from_le_bytes(body.try_into().unwrap())),
        }
    }

    /// The next Leave or Begin.
    fn next_change(&mut self) -> Statement {
        loop {
            let part = self.next();
            if let Part::Statement(change @ (Statement::Leave { .. } | Statement::Begin { .. })) = part {
                return change;
            }
        }
    }
}

/// The publisher, and the participant of the other node.
struct Scene {
    rtps: Arc<Rtps>,
    far: Rtps,
    publication: Arc<Publication>,
    group: Arc<WriterGroup>,
    writer: Arc<Writer>,
    events: Arc<QosEvents>,
    qos: QoS,
    next: u32,
}

impl Scene {
    fn new(domain: u16, qos: QoS) -> Self {
        require_private_network();
        let open = || Rtps::open(&settings(domain, "127.0.0.1:0"), waker()).unwrap();
        let (rtps, far) = (Arc::new(open()), open());
        let writer = rtps.create_writer(chatter(qos));
        let bound = QueueBound { messages: 1000, bytes: 1 << 20 };
        let options = PublicationOptions { bound, latching: false, has_header: false };
        let reactor = Arc::new(Reactor::new().unwrap());
        let publication = Publication::new(options, LinkInfo::default(), reactor, Arc::new(Pool::new(0, 0)));
        let publication = Arc::new(publication);
        let events = Arc::default();
        let group = publication.writer_group(qos, &events);
        group.set_writer(RtpsWriter::new(Arc::clone(&rtps), Arc::clone(&writer)));
        Self { rtps, far, publication, group, writer, events, qos, next: 1 }
    }

    /// A link of the node, or of a peer that claims to be it.
    fn link(&self, conn: u64, address: IpAddr) -> FarLink {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let near = Stream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let near = Arc::new(near);
        let token = Token(conn);
        self.publication.reactor.add(&*near, token, runnel_io::Interest::Read).unwrap();
        let link = SubscriberLink {
            topic: "/chatter".into(),
            conn: ConnId(conn),
            subscriber: "/listener".into(),
            answer: Vec::new(),
            datagrams: None,
            same_host: None,
            delivery: Some(conn),
            dual_node_id: Some(NODE),
            stats: Arc::default(),
        };
        self.publication.join(link, (token, near, address), Vec::new());
        FarLink { conn: ConnId(conn), stream }
    }

    /// The other node has a reader, which the writer matches.
    fn reader(&self) -> Guid {
        let id = node_reader(&self.far, self.qos, NODE);
        let reader = self.far.prefix().with(id);
        let until = clock::monotonic() + LONG;
        while self.writer.readers(NODE).iter().all(|of| of.guid != reader) || self.far.matched(id).is_empty()
        {
            assert!(clock::monotonic() < until, "they do not match");
            poll_once(&self.rtps);
            poll_once(&self.far);
        }
        self.group.on_reader_matched(reader, Some(NODE));
        reader
    }

    fn is_held(&self, reader: Guid) -> bool {
        self.writer.is_held(reader)
    }

    fn publish(&mut self) {
        assert!(self.publication.publish(Number(self.next), &self.group).is_ok());
        self.next += 1;
    }

    fn state(&self, link: &FarLink, statement: Statement) {
        self.publication.handle_statement(link.conn, &statement).unwrap();
    }

    fn request_rtps(&self, link: &FarLink, reader: Guid) {
        self.state(link, Statement::Ask { id: self.pair(reader).id() });
    }

    /// The subscriber has reached the next Leave on this link.
    fn reach_leave(&self, link: &mut FarLink, reader: Guid) -> u64 {
        let Statement::Leave { id, epoch, from } = link.next_change() else { panic!("a Leave") };
        assert_eq!(id, self.pair(reader).id());
        self.state(link, Statement::Reached { id, epoch, next: from });
        from
    }

    fn pair(&self, reader: Guid) -> PairId {
        pair_id(self.writer.id(), reader.entity)
    }

    /// The messages that RTPS delivers, up to the number `last`.
    fn received_by_rtps(&self, last: u32) -> Vec<u32> {
        let (until, mut all) = (clock::monotonic() + LONG, Vec::new());
        while all.last() != Some(&last) {
            assert!(clock::monotonic() < until, "{last} does not come: {all:?}");
            poll_once(&self.rtps);
            all.extend(received_numbers(&self.far));
        }
        all
    }
}

const RELIABLE: QoS = QoS::keep_last(100);

#[test]
fn rtps_does_not_repeat_messages_of_ended_link() {
    for carries in [false, true] {
        let mut scene = Scene::new(if carries { 143 } else { 144 }, QoS::keep_last(10).transient_local());
        (0..3).for_each(|_| scene.publish());
        let link = scene.link(1, HERE);
        let reader = scene.reader();
        if carries {
            (0..3).for_each(|_| scene.publish());
        }
        assert!(scene.is_held(reader));
        scene.publication.leave(link.conn);
        assert!(!scene.is_held(reader));
        scene.publish();
        // If the link has carried nothing, all kept messages are due.
        let due: Vec<u32> = if carries { vec![7] } else { (1..=4).collect() };
        assert_eq!(scene.received_by_rtps(scene.next - 1), due, "carries {carries}");
    }
}

#[test]
fn rematched_reader_differs_from_lost_one() {
    let mut scene = Scene::new(145, RELIABLE);
    let mut link = scene.link(1, HERE);
    let guid = scene.reader();
    scene.request_rtps(&link, guid);
    scene.publish();
    let reader = scene.writer.readers(NODE)[0];
    let writer = RtpsWriter::new(Arc::clone(&scene.rtps), Arc::clone(&scene.writer));
    let publication = Arc::clone(&scene.publication);
    let left = |matching| {
        let left = LostReader { guid, dual_node_id: NODE, matching, unacknowledged: Vec::new() };
        let from = writer.next_number();
        publication.on_readers_lost(&mut lock(&publication.state), &writer, (from, vec![left]));
    };
    left(reader.matching - 1);
    assert_eq!(scene.reach_leave(&mut link, guid), 1);
    // RTPS serves it now, and continues to.
    left(reader.matching - 1);
    assert_eq!(scene.received_by_rtps(1), [1]);
    assert_eq!(scene.publication.dropped(), 0);
    left(reader.matching);
    scene.state(&link, Statement::Return { id: scene.pair(guid).id() });
    let Statement::Begin { epoch, .. } = link.next_change() else { panic!("a Begin") };
    assert_eq!(epoch, 2, "nothing was stated before it");
}

#[test]
fn statements_of_unknown_writer_are_answered() {
    let scene = Scene::new(146, RELIABLE);
    let mut link = scene.link(1, HERE);
    let unknown = PairId { writer: 77, reader: 8 };
    scene.state(&link, Statement::Needed { id: PairId { reader: 0, ..unknown }.id() });
    scene.state(&link, Statement::Return { id: unknown.id() });
    for id in [PairId { reader: 0, ..unknown }.id(), unknown.id()] {
        assert!(matches!(link.next_change(), Statement::Begin { id: of, .. } if of == id));
    }
}

/// The participant already knows the reader when the writer is created.
#[test]
fn new_writer_holds_readers_matched_before() {
    let scene = Scene::new(151, RELIABLE);
    let _link = scene.link(1, HERE);
    let reader = scene.reader();
    let qos = QoS::keep_last(7);
    let writer = scene.rtps.create_writer(chatter(qos));
    let group = scene.publication.writer_group(qos, &Arc::default());
    assert!(writer.readers(NODE).iter().any(|of| of.guid == reader && !of.is_held));
    group.set_writer(RtpsWriter::new(Arc::clone(&scene.rtps), Arc::clone(&writer)));
    assert!(writer.is_held(reader), "the link brings its first messages");
}

#[test]
fn waiting_messages_end_with_their_writer() {
    let mut scene = Scene::new(147, RELIABLE);
    let link = scene.link(1, HERE);
    let reader = scene.reader();
    scene.request_rtps(&link, reader);
    scene.publish();
    assert_eq!(scene.publication.unacknowledged().len(), 1);
    // Another publisher has another QoS, so this group can be removed.
    scene.publication.writer_group(QoS::keep_last(1).best_effort(), &Arc::default());
    scene.group.leave(&scene.events);
    assert!(scene.publication.withdraw(&scene.group));
    assert_eq!((scene.publication.unacknowledged().len(), scene.publication.dropped()), (0, 1));
}

/// A peer at another address that claims the id of a node takes nothing from it.
#[test]
fn link_from_other_address_leaves_reader_on_rtps() {
    let mut scene = Scene::new(148, RELIABLE);
    let mut forged = scene.link(1, OTHER_ADDRESS);
    let reader = scene.reader();
    assert!(!scene.is_held(reader), "RTPS serves it as ever");
    assert!(matches!(forged.next_change(), Statement::Leave { .. }), "and the link does not");
    let id = scene.pair(reader).id();
    scene.state(&forged, Statement::Return { id });
    assert!(!scene.is_held(reader));
    scene.publish();
    assert_eq!(scene.received_by_rtps(1), [1]);
    // It does not make a pair leave the node's own link either.
    let own = scene.link(2, HERE);
    let other = scene.reader();
    assert!(scene.is_held(other));
    scene.request_rtps(&forged, other);
    let pair = (scene.writer.id(), other);
    assert!(!lock(&scene.publication.state).is_leaving(pair, ConnId(0)));
    // It does not hold a reader that the own link held.
    scene.publication.leave(own.conn);
    assert!(!scene.is_held(other));
}

/// A UDPROS link cannot say which of a node's subscriptions need it.
#[test]
fn udpros_serves_node_that_rtps_serves_in_part() {
    for has_other in [false, true] {
        let mut scene = Scene::new(if has_other { 149 } else { 150 }, QoS::keep_last(100).best_effort());
        let reader = scene.reader();
        if has_other {
            // It requests more than the writer offers.
            node_reader(&scene.far, RELIABLE, NODE);
            let until = clock::monotonic() + LONG;
            while scene.rtps.readers_on("/chatter", NODE).len() < 2 {
                assert!(clock::monotonic() < until, "the other reader is not known");
                poll_once(&scene.rtps);
                poll_once(&scene.far);
            }
        }
        let far = Datagrams::bind(HERE).unwrap();
        let link = SubscriberLink {
            topic: "/chatter".into(),
            conn: ConnId(1),
            subscriber: "/listener".into(),
            answer: Vec::new(),
            datagrams: None,
            same_host: None,
            delivery: None,
            dual_node_id: Some(NODE),
            stats: Arc::default(),
        };
        let near = Arc::new(Datagrams::connect(far.address()).unwrap());
        scene.publication.join_datagrams(link, Fragmenter::new(1, 1000), Token(1), near);
        scene.publish();
        let carries = far.recv(&mut [0; 64]).unwrap().is_some();
        assert_eq!((carries, scene.is_held(reader)), (has_other, has_other));
    }
}
