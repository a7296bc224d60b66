//! Hosts for tests: each is a network namespace of its own, joined to others by cables that end in it.
//!
//! A namespace is of a thread, not of the process: what is on a host is made on a thread that moved there, and a socket
//! stays where it was made, whoever uses it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{self, Command};
use std::thread;

use crate::namespace::require_private_network;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// A network namespace with loopback, which is gone when nothing of it is used any more.
pub struct Host {
    namespace: File,
}

impl Host {
    /// One with loopback alone, which is up.
    ///
    /// # Panics
    /// Where the network is not private to the tests.
    #[allow(clippy::new_without_default, reason = "it makes something outside of the program")]
    pub fn new() -> Self {
        require_private_network();
        let made = thread::spawn(|| {
            // SAFETY: no table of descriptors is taken apart, only the network of this thread.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
                .expect("root of a user namespace, as ./test makes it");
            File::open("/proc/thread-self/ns/net").unwrap()
        });
        let host = Self { namespace: made.join().unwrap() };
        host.ip("link set lo up");
        host
    }

    /// Does something on this host.
    ///
    /// # Panics
    /// As `work` does.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let there = || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(self.namespace.as_fd(), network).unwrap();
            work()
        };
        thread::scope(|scope| scope.spawn(there).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Runs `ip` with these words.
    ///
    /// # Panics
    /// When it fails.
    pub fn ip(&self, words: &str) {
        let status =
            self.run(|| Command::new("ip").args(words.split(' ')).status().expect("ip, of iproute2"));
        assert!(status.success(), "ip {words}");
    }

    /// Lays a cable to another host: `name` is what both call their end of it. Both ends are up, and have no address.
    pub fn join(&self, other: &Self, name: &str) {
        let there = format!("/proc/{}/fd/{}", process::id(), other.namespace.as_raw_fd());
        self.ip(&format!("link add {name} type veth peer name {name} netns {there}"));
        for host in [self, other] {
            // What the kernel gives of itself may not be used before it is sure that nobody else has it.
            host.ip(&format!("link set {name} addrgenmode none"));
            host.ip(&format!("link set {name} up"));
        }
    }

    /// Gives an interface an address with its prefix.
    pub fn address(&self, name: &str, address: &str) {
        let sure = if address.contains(':') { " nodad" } else { "" };
        self.ip(&format!("address add {address} dev {name}{sure}"));
    }
}
