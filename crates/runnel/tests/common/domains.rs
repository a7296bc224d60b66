//! ROS 2 domains for tests: no two tests of a process share one.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::sync::atomic::{AtomicU16, Ordering};

use runnel_testkit::namespace::require_private_network;

/// The highest domain whose ports are below Linux's ephemeral ports. When numbers repeat, the first tests have ended.
const HIGHEST: u16 = 101;

/// A domain that no other running test of this process uses.
pub fn new_domain() -> u16 {
    static HANDED_OUT: AtomicU16 = AtomicU16::new(0);
    require_private_network();
    1 + HANDED_OUT.fetch_add(1, Ordering::Relaxed) % HIGHEST
}
