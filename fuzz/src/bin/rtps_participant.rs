//! A participant that receives arbitrary submessages from a matched one: it does not panic, stops sending, and its memory has
//! bounds.
//!
//! The input consists of steps: kind, length, bytes.
#![no_main]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use runnel_core::qos::QoS;
use runnel_core::time::Instant;
use runnel_rtps::wire::{self, EntityId, GuidPrefix, InfoDestination, Timestamp, VendorId};
use runnel_rtps::{Config, EndpointOptions, ParticipantWithWriters};

type Bytes = Arc<[u8]>;

const STAMP: Timestamp = Timestamp { seconds: 1, fraction: 2 };

struct Scene {
    now: Instant,
    /// The participant under test, and the one whose identity is used.
    ends: [ParticipantWithWriters<Bytes>; 2],
    writer: EntityId,
}

fn address(index: usize) -> SocketAddr {
    ([10, 0, 0, index as u8 + 1], 7410).into()
}

fn participant(index: usize, now: Instant) -> ParticipantWithWriters<Bytes> {
    let mut config = Config::new(GuidPrefix([index as u8 + 1; 12]), 0);
    config.unicast = vec![address(index)];
    config.own_addresses = vec![address(index).ip()];
    config.peers = vec![address(1 - index)];
    config.limits.sample_bytes = 1 << 20;
    ParticipantWithWriters::new(now, config)
}

fn options(qos: QoS) -> EndpointOptions {
    EndpointOptions { topic: "rt/t".into(), type_name: "T".into(), qos, user_data: Vec::new() }
}

impl Scene {
    /// Both have matched each other's writer and reader.
    fn new() -> Self {
        let now = Instant(1_000_000_000);
        let mut ends = [participant(0, now), participant(1, now)];
        let writer = ends[0].create_writer(now, STAMP, options(QoS::keep_last(10)));
        for (end, qos) in [(0, QoS::keep_last(10)), (1, QoS::keep_all())] {
            ends[end].create_reader(now, STAMP, options(qos));
        }
        ends[1].create_writer(now, STAMP, options(QoS::keep_all()));
        let mut scene = Self { now, ends, writer };
        for _ in 0..20 {
            scene.pass(Duration::from_millis(5));
            scene.exchange(0);
            scene.exchange(1);
        }
        assert_eq!(scene.ends[0].matched(scene.writer).len(), 1);
        scene
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for end in &mut self.ends {
            if end.poll_timeout().is_some_and(|at| at <= self.now) {
                end.handle_timeout(self.now);
            }
        }
    }

    /// Delivers all pending datagrams of one participant to the other.
    fn exchange(&mut self, from: usize) {
        for datagram in self.sent(from) {
            self.deliver(1 - from, address(from), &datagram);
        }
    }

    fn sent(&mut self, by: usize) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(transmit) = self.ends[by].poll_transmit(self.now) {
            all.push(transmit.parts.concat());
            assert!(all.len() < 20_000, "it does not stop sending");
        }
        all
    }

    fn deliver(&mut self, to: usize, from: SocketAddr, datagram: &[u8]) {
        let end = &mut self.ends[to];
        end.handle_datagram(self.now, from, datagram);
        while let Some(sample) = end.poll_sample() {
            assert!(sample.payload.bytes(datagram).len() <= 1 << 20);
        }
        while end.poll_event().is_some() {}
    }

    /// Delivers bytes as submessages of the other participant.
    fn deliver_submessages(&mut self, submessages: &[u8]) {
        let mut datagram = Vec::new();
        wire::begin(&mut datagram, VendorId::RUNNEL, self.ends[1].prefix());
        InfoDestination { prefix: self.ends[0].prefix() }.emit(&mut datagram);
        datagram.extend_from_slice(submessages);
        self.deliver(0, address(1), &datagram);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut scene = Scene::new();
    let mut rest = data;
    while let [kind, len, more @ ..] = rest {
        let (bytes, later) = more.split_at(usize::from(*len).min(more.len()));
        rest = later;
        match kind % 6 {
            0 | 1 => scene.deliver_submessages(bytes),
            2 => scene.deliver(0, address(1), bytes),
            3 => scene.pass(Duration::from_millis(u64::from(*len))),
            4 => drop(scene.ends[0].write(scene.now, STAMP, scene.writer, bytes.into())),
            _ => scene.exchange(usize::from(*len % 2)),
        }
        drop(scene.sent(0));
    }
    scene.pass(Duration::from_secs(1));
    drop(scene.sent(0));
});
