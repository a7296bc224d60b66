//! Single forged datagrams from the peer's address end no link: the true peer's next datagram is believed.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::net::{Net, Received, announcement, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::{
    self, AckNack, Data, DataFrag, EntityId, FragmentSet, Gap, Guid, GuidPrefix, Heartbeat, HeartbeatFrag,
    InfoDestination, Message, NackFrag, Payload, SequenceNumber, SequenceSet, Submessage, VendorId,
};
use runnel_rtps::{Config, Event, Path, Rate};

const TOPIC: &str = "rt/chatter";

/// More than any count of a true peer here, and still later than each of them.
const MAX_COUNT: u32 = i32::MAX as u32;

/// Forged datagram: appends its content.
pub type Forge = fn(&Scene, &mut Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    Reader,
    Writer,
}

/// A writer at the first node, and a reader at the second.
pub struct Scene {
    pub net: Net,
    pub writer: EntityId,
    pub reader: EntityId,
    qos: QoS,
    len: usize,
    pub written: u32,
    /// The last announced number of each discovery writer.
    last_announced: BTreeMap<Guid, i64>,
}

impl Scene {
    pub fn new(vendor: VendorId, qos: QoS, len: usize) -> Self {
        Self::with_config(qos, len, |config| config.prefix.0[..2].copy_from_slice(&vendor.0))
    }

    pub fn with_config(qos: QoS, len: usize, change: impl Fn(&mut Config)) -> Self {
        let mut net = Net::new(7);
        net.capture_limit = 500;
        for _ in 0..2 {
            net.add_with(|config| {
                config.other_host = Path { datagram: 1444, rate: Rate::steady(100_000_000) };
                change(config);
            });
        }
        let (writer, reader) = (net.writer(0, TOPIC, qos), net.reader(1, TOPIC, qos));
        let mut scene = Self { net, writer, reader, qos, len, written: 0, last_announced: BTreeMap::new() };
        scene.net.run_until("the endpoints match", secs(3), |net| {
            net.is_matched(0, writer) && net.is_matched(1, reader)
        });
        scene.net.run_for(millis(500));
        scene.note_announced();
        scene
    }

    fn note_announced(&mut self) {
        self.net.capture_limit = 0;
        for captured in std::mem::take(&mut self.net.capture) {
            let Ok(message) = Message::parse(&captured.bytes) else { continue };
            for submessage in message.submessages().flatten() {
                let (writer, number) = match submessage {
                    Submessage::Heartbeat(heartbeat) => (heartbeat.writer, heartbeat.last),
                    Submessage::Data(data) => (data.writer, data.number),
                    _ => continue,
                };
                let last = self.last_announced.entry(message.prefix.with(writer)).or_default();
                *last = number.0.max(*last);
            }
        }
    }

    /// Returns the number of a node's next endpoint announcement.
    pub fn next_announced(&self, node: usize, role: Role) -> i64 {
        let writer = match role {
            Role::Writer => EntityId::PUBLICATIONS_WRITER,
            Role::Reader => EntityId::SUBSCRIPTIONS_WRITER,
        };
        self.last_announced[&self.prefix(node).with(writer)] + 1
    }

    pub fn prefix(&self, node: usize) -> GuidPrefix {
        self.net.nodes[node].participant.prefix()
    }

    /// Writes a sample, and runs for `pause`.
    pub fn write(&mut self, pause: u64) {
        let bytes = sample(self.written, self.len);
        self.net.write(0, self.writer, &bytes).unwrap();
        self.written += 1;
        self.net.run_for(millis(pause));
    }

    /// Returns the received sample numbers of the true writer, in order.
    pub fn received(&self) -> Vec<u32> {
        let is_true =
            |received: &&Received| received.reader == self.reader && received.bytes.len() == self.len.max(8);
        self.net.nodes[1].samples.iter().filter(is_true).map(|received| number_of(&received.bytes)).collect()
    }

    pub fn forge(&mut self, victim: Victim, fill: impl FnOnce(&Self, &mut Vec<u8>)) {
        let (from, to) = if victim == Victim::Reader { (0, 1) } else { (1, 0) };
        let mut out = vec![];
        wire::begin(&mut out, VendorId::CYCLONE_DDS, self.prefix(from));
        InfoDestination { prefix: self.prefix(to) }.emit(&mut out);
        fill(self, &mut out);
        let (from, to): (SocketAddr, SocketAddr) = (self.net.nodes[from].address, self.net.nodes[to].address);
        self.net.send(from, to, &out);
        self.net.run_for(millis(1));
    }

    fn corrections(&self, node: usize) -> usize {
        let is_one = |event: &&Event| matches!(event, Event::Corrected { .. });
        self.net.nodes[node].events.iter().filter(is_one).count()
    }

    pub fn next(&self) -> i64 {
        i64::from(self.written) + 1
    }
}

pub fn heartbeat(scene: &Scene, first: i64, last: i64, count: u32) -> Heartbeat {
    Heartbeat {
        reader: EntityId::UNKNOWN,
        writer: scene.writer,
        first: SequenceNumber(first),
        last: SequenceNumber(last),
        count,
        is_final: false,
        liveliness: false,
    }
}

pub fn data(scene: &Scene, out: &mut Vec<u8>, number: i64) {
    let ends = (EntityId::UNKNOWN, scene.writer);
    let payload = sample(9999, scene.len + 1);
    if payload.len() < 1400 {
        Data::emit(out, ends, SequenceNumber(number), &[], Payload::Value(&payload));
    } else {
        DataFrag::emit(out, ends, SequenceNumber(number), &[], &payload, (1, 700));
    }
}

pub fn ack(scene: &Scene, base: i64, count: u32) -> AckNack {
    let missing = SequenceSet::new(SequenceNumber(base));
    AckNack { reader: scene.reader, writer: scene.writer, missing, count, is_final: true }
}

/// Appends the disposal of an endpoint, as its participant would send it with this number.
pub fn end_of(out: &mut Vec<u8>, guid: Guid, role: Role, number: i64) {
    let ends = match role {
        Role::Writer => (EntityId::PUBLICATIONS_READER, EntityId::PUBLICATIONS_WRITER),
        Role::Reader => (EntityId::SUBSCRIPTIONS_READER, EntityId::SUBSCRIPTIONS_WRITER),
    };
    let key = [&[0x70, 0, 16, 0][..], &guid.to_bytes()].concat();
    let gone = [&key[..], &[0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0]].concat();
    Data::emit(out, ends, SequenceNumber(number), &gone, Payload::Nothing);
}

/// Returns endpoint data with the GUID of another and changed content.
fn changed(scene: &Scene, node: usize, id: EntityId) -> Endpoint {
    let endpoint = scene.net.nodes[node].participant.endpoint(scene.prefix(node).with(id)).unwrap();
    Endpoint { topic: "rt/other".into(), ..endpoint.clone() }
}

pub fn announce_endpoint(out: &mut Vec<u8>, endpoint: &Endpoint, number: i64) {
    let mut payload = vec![];
    endpoint.emit(&mut payload);
    let ends = match endpoint.role() {
        Role::Writer => (EntityId::PUBLICATIONS_READER, EntityId::PUBLICATIONS_WRITER),
        Role::Reader => (EntityId::SUBSCRIPTIONS_READER, EntityId::SUBSCRIPTIONS_WRITER),
    };
    Data::emit(out, ends, SequenceNumber(number), &[], Payload::Value(&payload));
}

pub fn farewell(out: &mut Vec<u8>, prefix: GuidPrefix) {
    let guid = prefix.with(EntityId::PARTICIPANT).to_bytes();
    let key_hash = [&[0x70, 0, 16, 0][..], &guid].concat();
    let gone = [&key_hash[..], &[0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0]].concat();
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    Data::emit(out, ends, SequenceNumber(1 << 40), &gone, Payload::Nothing);
}

/// Appends an announcement of the node with these addresses and lease, without its header.
fn announced(out: &mut Vec<u8>, prefix: GuidPrefix, address: SocketAddr, lease: std::time::Duration) {
    out.extend(&announcement(prefix, address, Some(lease))[20..]);
}

const FORGERIES: [(&str, Victim, Forge); 38] = [
    ("HEARTBEAT: last far", Victim::Reader, |s, out| heartbeat(s, 1, 1 << 40, 1000).emit(out)),
    ("HEARTBEAT: last maximal", Victim::Reader, |s, out| heartbeat(s, 1, i64::MAX, 1000).emit(out)),
    ("HEARTBEAT: last near", Victim::Reader, |s, out| heartbeat(s, 1, s.next() + 20, 1000).emit(out)),
    ("HEARTBEAT: first far", Victim::Reader, |s, out| heartbeat(s, 1 << 40, 1 << 40, 1000).emit(out)),
    ("HEARTBEAT: first maximal", Victim::Reader, |s, out| heartbeat(s, i64::MAX, i64::MAX, 1000).emit(out)),
    ("HEARTBEAT: first near", Victim::Reader, |s, out| {
        heartbeat(s, s.next() + 5, s.next() + 9, 1000).emit(out)
    }),
    ("HEARTBEAT: empty, behind", Victim::Reader, |s, out| {
        heartbeat(s, s.next() + 3, s.next() + 2, 50).emit(out)
    }),
    ("HEARTBEAT: count", Victim::Reader, |s, out| heartbeat(s, 1, 1, MAX_COUNT).emit(out)),
    ("HEARTBEAT: count near", Victim::Reader, |s, out| heartbeat(s, 1, 1, 5000).emit(out)),
    ("HEARTBEAT: count and first", Victim::Reader, |s, out| {
        heartbeat(s, 1 << 40, 1 << 40, MAX_COUNT).emit(out)
    }),
    ("HEARTBEAT: restarted", Victim::Reader, |s, out| heartbeat(s, 1, 1, 1).emit(out)),
    ("HEARTBEAT and DATA far", Victim::Reader, |s, out| {
        heartbeat(s, 1 << 40, 1 << 40, 1000).emit(out);
        data(s, out, 1 << 40);
    }),
    ("DATA and HEARTBEAT far", Victim::Reader, |s, out| {
        data(s, out, 1 << 40);
        heartbeat(s, 1 << 40, 1 << 40, 1000).emit(out);
    }),
    ("GAP: next", Victim::Reader, |s, out| gap(s, s.next(), s.next() + 1).emit(out)),
    ("GAP: next to near", Victim::Reader, |s, out| gap(s, s.next(), s.next() + 20).emit(out)),
    ("GAP: next to far", Victim::Reader, |s, out| gap(s, s.next(), 1 << 40).emit(out)),
    ("GAP: next to maximal", Victim::Reader, |s, out| gap(s, 1, i64::MAX).emit(out)),
    ("GAP: ahead to far", Victim::Reader, |s, out| gap(s, s.next() + 1, 1 << 40).emit(out)),
    ("GAP and DATA far", Victim::Reader, |s, out| {
        gap(s, 1, 1 << 40).emit(out);
        data(s, out, 1 << 40);
    }),
    ("GAP and HEARTBEAT far", Victim::Reader, |s, out| {
        gap(s, 1, 1 << 40).emit(out);
        heartbeat(s, 1, 1 << 40, 1000).emit(out);
    }),
    ("DATA: far", Victim::Reader, |s, out| data(s, out, 1 << 40)),
    ("DATA: maximal", Victim::Reader, |s, out| data(s, out, i64::MAX)),
    ("DATA: rather far", Victim::Reader, |s, out| data(s, out, s.next() + 200)),
    ("DATA_FRAG: other sizes", Victim::Reader, |s, out| {
        let ends = (EntityId::UNKNOWN, s.writer);
        DataFrag::emit(out, ends, SequenceNumber(s.next()), &[], &[7; 5000], (2, 1000));
    }),
    ("HEARTBEAT_FRAG: far", Victim::Reader, |s, out| {
        let number = SequenceNumber(1 << 40);
        let of = HeartbeatFrag {
            reader: s.reader,
            writer: s.writer,
            number,
            last_fragment: u32::MAX,
            count: MAX_COUNT,
        };
        of.emit(out);
    }),
    ("ACKNACK: count", Victim::Writer, |s, out| ack(s, 1, MAX_COUNT).emit(out)),
    ("ACKNACK: count near", Victim::Writer, |s, out| ack(s, 1, 5000).emit(out)),
    ("ACKNACK: base far", Victim::Writer, |s, out| ack(s, 1 << 40, 1000).emit(out)),
    ("ACKNACK: base maximal", Victim::Writer, |s, out| ack(s, i64::MAX, MAX_COUNT).emit(out)),
    ("ACKNACK: base first", Victim::Writer, |s, out| ack(s, 1, 1000).emit(out)),
    ("NACK_FRAG: count", Victim::Writer, |s, out| {
        let mut missing = FragmentSet::new(u32::MAX - 9);
        missing.insert(u32::MAX);
        let number = SequenceNumber(i64::MAX);
        NackFrag { reader: s.reader, writer: s.writer, number, missing, count: MAX_COUNT }.emit(out);
    }),
    ("end of the writer", Victim::Reader, |s, out| {
        end_of(out, s.prefix(0).with(s.writer), Role::Writer, s.next_announced(0, Role::Writer))
    }),
    ("end of the reader", Victim::Writer, |s, out| {
        end_of(out, s.prefix(1).with(s.reader), Role::Reader, s.next_announced(1, Role::Reader))
    }),
    ("another topic of the writer", Victim::Reader, |s, out| {
        announce_endpoint(out, &changed(s, 0, s.writer), s.next_announced(0, Role::Writer))
    }),
    ("another topic of the reader", Victim::Writer, |s, out| {
        announce_endpoint(out, &changed(s, 1, s.reader), s.next_announced(1, Role::Reader))
    }),
    ("end of the writer's participant", Victim::Reader, |s, out| farewell(out, s.prefix(0))),
    ("end of the reader's participant", Victim::Writer, |s, out| farewell(out, s.prefix(1))),
    ("a short lease", Victim::Writer, |s, out| {
        announced(out, s.prefix(1), s.net.nodes[1].address, millis(1))
    }),
];

pub fn gap(scene: &Scene, start: i64, end: i64) -> Gap {
    Gap::range(EntityId::UNKNOWN, scene.writer, SequenceNumber(start), SequenceNumber(end))
}

/// Kinds of links, with their sample lengths.
fn links() -> [(&'static str, QoS, usize); 5] {
    [
        ("best effort", QoS::sensor_data(), 100),
        ("reliable", QoS::keep_last(60), 100),
        ("keeps all", QoS::keep_all(), 100),
        ("transient local", QoS::keep_last(60).transient_local(), 100),
        ("fragments", QoS::keep_last(60), 8000),
    ]
}

/// Checks a link after one forged datagram: samples written a second later or more arrive, those of reliable writers
/// all, and none twice.
fn link_survives(
    name: &str,
    vendor: VendorId,
    (link, qos, len): (&str, QoS, usize),
    victim: Victim,
    forge: Forge,
    pause: u64,
) {
    let mut scene = Scene::new(vendor, qos, len);
    (0..12).for_each(|_| scene.write(20));
    scene.forge(victim, forge);
    let before = scene.written;
    let rounds = 1000 / pause + 1;
    (0..rounds).for_each(|_| scene.write(pause));
    let healed = scene.written;
    (0..5).for_each(|_| scene.write(pause));
    scene.net.run_for(secs(1));
    let received = scene.received();
    let what = format!("{name}, {link}, {vendor:?}, every {pause} ms: {before} {healed} {received:?}");
    let since: Vec<u32> = received.iter().copied().filter(|number| *number >= healed).collect();
    assert_eq!(since, (healed..scene.written).collect::<Vec<_>>(), "{what}");
    assert!(received.is_sorted_by(|one, other| one < other), "{what}");
    if scene.qos.reliability == runnel_core::qos::Reliability::Reliable {
        assert_eq!(received, (0..scene.written).collect::<Vec<_>>(), "{what}");
    }
}

#[test]
fn one_forged_datagram_ends_no_user_link() {
    let only = std::env::var("FORGERY").unwrap_or_default();
    let mut failed = vec![];
    for (name, victim, forge) in FORGERIES.iter().filter(|(name, ..)| name.contains(&only)) {
        // GUIDs of Runnel are random; those of others may be reused.
        let vendors = [VendorId::RUNNEL, VendorId::CYCLONE_DDS];
        for (link, vendor) in links().into_iter().flat_map(|link| vendors.map(|vendor| (link, vendor))) {
            for pause in [10, 100, 600] {
                let run = || link_survives(name, vendor, link, *victim, *forge, pause);
                if let Err(why) = std::panic::catch_unwind(run) {
                    failed.push(panic_text(why));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}: {:#?}", failed.len(), failed);
}

/// Restarts a node as a participant with the same GUID and no state.
fn reboot(scene: &mut Scene, node: usize, qos: QoS) -> EntityId {
    scene.net.reboot(node);
    if node == 0 { scene.net.writer(0, TOPIC, qos) } else { scene.net.reader(1, TOPIC, qos) }
}

/// Checks a link whose writer's or reader's participant restarts with its GUID after this number of samples and this time.
fn link_survives_reboot(
    node: usize,
    vendor: VendorId,
    (link, qos, len): (&str, QoS, usize),
    samples: u32,
    away: u64,
) {
    let mut scene = Scene::new(vendor, qos, len);
    (0..samples).for_each(|_| scene.write(20));
    scene.net.nodes[node].stopped = true;
    scene.net.run_for(millis(away));
    let id = reboot(&mut scene, node, qos);
    let before = scene.net.nodes[1].samples.len();
    let first = 1000;
    scene.written = first;
    let end = scene.net.now + secs(2);
    while scene.net.now < end {
        scene.write(50);
    }
    let healed = scene.written;
    (0..20).for_each(|_| scene.write(50));
    scene.net.run_for(secs(1));
    let what = format!("{link}, {vendor:?}, node {node}, {samples} samples, away for {away} ms");
    assert_eq!([scene.writer, scene.reader][node], id, "{what}");
    let received: Vec<u32> =
        scene.net.nodes[1].samples[before..].iter().map(|received| number_of(&received.bytes)).collect();
    let since: Vec<u32> = received.iter().copied().filter(|number| *number >= healed).collect();
    assert_eq!(since, (healed..scene.written).collect::<Vec<_>>(), "{what}: {received:?}");
    assert!(received.is_sorted_by(|one, other| one < other), "{what}: {received:?}");
    if node == 1 && qos.durability == runnel_core::qos::Durability::TransientLocal {
        assert!(received.contains(&(samples - 1)), "{what}: kept samples are repeated: {received:?}");
    }
}

#[test]
fn rebooted_participant_with_same_guid_is_received() {
    let mut failed = vec![];
    for vendor in [VendorId::RUNNEL, VendorId::CYCLONE_DDS] {
        for link in links() {
            for node in [0, 1] {
                for samples in [1, 5, 300] {
                    for away in [1, 200, 5000, 30_000] {
                        let run = || link_survives_reboot(node, vendor, link, samples, away);
                        if let Err(why) = std::panic::catch_unwind(run) {
                            failed.push(panic_text(why));
                        }
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}: {:#?}", failed.len(), failed);
}

/// Returns the beginning of a panic message.
fn panic_text(why: Box<dyn std::any::Any + Send>) -> String {
    why.downcast::<String>().map_or("?".into(), |why| why.chars().take(300).collect())
}

/// Discovery of a new endpoint works after each forgery that moves the position of discovery.
#[test]
fn forged_discovery_hides_no_later_endpoint() {
    let writers = [EntityId::PUBLICATIONS_WRITER, EntityId::SUBSCRIPTIONS_WRITER, EntityId::MESSAGE_WRITER];
    for vendor in [VendorId::RUNNEL, VendorId::CYCLONE_DDS] {
        for forgery in 0..7 {
            for (node, writer) in [(0, writers[0]), (1, writers[1]), (0, writers[2])] {
                let mut scene = Scene::new(vendor, QoS::default(), 100);
                let victim = if node == 0 { Victim::Reader } else { Victim::Writer };
                scene.forge(victim, |scene, out| forge_discovery(scene, out, (node, writer), forgery));
                scene.net.run_for(millis(50));
                let ids = [
                    scene.net.writer(0, "rt/later", QoS::default()),
                    scene.net.reader(1, "rt/later", QoS::default()),
                ];
                scene.net.run_for(secs(1));
                let matched = [0, 1].map(|node| scene.net.is_matched(node, ids[node]));
                assert_eq!(matched, [true; 2], "{vendor:?}: forgery {forgery} of {writer}");
                scene.write(10);
                scene.net.run_for(secs(1));
                assert_eq!(scene.received(), [0], "{vendor:?}: forgery {forgery} of {writer}");
            }
        }
    }
}

fn forge_discovery(scene: &Scene, out: &mut Vec<u8>, (node, writer): (usize, EntityId), forgery: u32) {
    let reader = EntityId::UNKNOWN;
    let far = SequenceNumber(1 << 40);
    let next = scene.last_announced.get(&scene.prefix(node).with(writer)).map_or(1, |last| last + 1);
    let heartbeat = |first, last, count| Heartbeat { writer, ..heartbeat(scene, first, last, count) };
    match forgery {
        0 => heartbeat(1 << 40, 1 << 40, 1000).emit(out),
        1 => heartbeat(1, i64::MAX, 1000).emit(out),
        2 => heartbeat(1, 1, MAX_COUNT).emit(out),
        3 => Gap::range(reader, writer, SequenceNumber(1), far).emit(out),
        4 => Data::emit(out, (reader, writer), SequenceNumber(next), &[], Payload::Value(&[0, 3, 0, 0])),
        5 => {
            let (id, role) =
                if node == 0 { (scene.writer, Role::Writer) } else { (scene.reader, Role::Reader) };
            end_of(out, scene.prefix(node).with(id), role, scene.next_announced(node, role));
        }
        _ => {
            // As an acknowledgement of the reader of this builtin topic.
            let missing = SequenceSet::new(far);
            let reader = EntityId([0, 0, writer.0[2], 0xc7]);
            AckNack { reader, writer, missing, count: MAX_COUNT, is_final: true }.emit(out);
        }
    }
}

/// A run of three is believed, and so is the true peer's afterwards.
#[test]
fn link_survives_three_consecutive_forged_heartbeats() {
    for (link, qos, len) in links().into_iter().skip(1) {
        let mut scene = Scene::new(VendorId::CYCLONE_DDS, qos, len);
        (0..12).for_each(|_| scene.write(20));
        scene.net.run_for(millis(500));
        for count in 1..=3 {
            scene.forge(Victim::Reader, |scene, out| heartbeat(scene, 1, 3, 5000 + count).emit(out));
        }
        scene.net.run_for(secs(1));
        let before = scene.written;
        (0..50).for_each(|_| scene.write(20));
        let received = scene.received();
        let since: Vec<u32> = received.into_iter().filter(|number| *number >= before).collect();
        assert_eq!(since, (before..scene.written).collect::<Vec<_>>(), "{link}");
    }
}

#[test]
fn corrections_are_counted_and_reported() {
    let mut scene = Scene::new(VendorId::RUNNEL, QoS::default(), 100);
    (0..12).for_each(|_| scene.write(20));
    assert_eq!((scene.corrections(0), scene.corrections(1)), (0, 0));
    scene.net.run_for(millis(300));
    scene.forge(Victim::Reader, |scene, out| gap(scene, scene.next(), 1 << 40).emit(out));
    scene.forge(Victim::Writer, |scene, out| farewell(out, scene.prefix(1)));
    (0..100).for_each(|_| scene.write(10));
    assert!(scene.corrections(0) > 0 && scene.corrections(1) > 0);
    assert!(scene.net.nodes[1].participant.corrections(scene.reader) > 0);
}
