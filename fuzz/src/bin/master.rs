//! The master, against arbitrary peers.
#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use runnel_core::time::Instant;
use runnel_fuzz::{Engine, run_script};
use runnel_ros1::master::{Master, MasterConfig};
use runnel_ros1::net::{ConnId, Transmit};

struct MasterUnderTest(Master);

impl Engine for MasterUnderTest {
    fn accepted(&mut self, now: Instant, _rpc: bool, peer: SocketAddr) -> Option<ConnId> {
        self.0.handle_accepted(now, peer)
    }
    fn connected(&mut self, now: Instant, conn: ConnId) {
        self.0.handle_connected(now, conn);
    }
    fn data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        self.0.handle_data(now, conn, bytes);
    }
    fn closed(&mut self, now: Instant, conn: ConnId, reason: Option<&str>) {
        self.0.handle_closed(now, conn, reason);
    }
    fn timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }
    fn transmit(&mut self) -> Option<Transmit> {
        self.0.poll_transmit()
    }
    fn take_events(&mut self) {
        while self.0.poll_event().is_some() {}
    }
}

fuzz_target!(|data: &[u8]| {
    run_script(&mut MasterUnderTest(Master::new(MasterConfig::new("http://h:1/", 1))), data);
});
