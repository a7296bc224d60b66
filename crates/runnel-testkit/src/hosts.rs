//! Test hosts: network namespaces joined by virtual cables.
//!
//! A namespace belongs to a thread, not to the process. A socket created on a thread in the namespace stays there,
//! whatever thread uses it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{self, Command};
use std::thread;

use crate::namespace::require_private_network;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// A network namespace with loopback. It is removed when nothing in it is used any more.
pub struct Host {
    namespace: File,
}

impl Host {
    /// A host with only loopback, which is up.
    ///
    /// # Panics
    /// Outside the tests' private network.
    #[allow(clippy::new_without_default, reason = "it makes something outside of the program")]
    pub fn new() -> Self {
        require_private_network();
        let made = thread::spawn(|| {
            // SAFETY: only the network namespace of this thread changes, no descriptor table.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
                .expect("root of a user namespace, as ./test makes it");
            File::open("/proc/thread-self/ns/net").unwrap()
        });
        let host = Self { namespace: made.join().unwrap() };
        host.ip("link set lo up");
        host
    }

    /// Runs `work` on this host.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let there = || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(self.namespace.as_fd(), network).unwrap();
            work()
        };
        thread::scope(|scope| scope.spawn(there).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Runs `ip` with these arguments.
    ///
    /// # Panics
    /// If it fails.
    pub fn ip(&self, words: &str) {
        let status =
            self.run(|| Command::new("ip").args(words.split(' ')).status().expect("ip, of iproute2"));
        assert!(status.success(), "ip {words}");
    }

    /// Adds a cable to another host. Both ends have this name, are up, and have no address.
    pub fn join(&self, other: &Self, name: &str) {
        let there = format!("/proc/{}/fd/{}", process::id(), other.namespace.as_raw_fd());
        self.ip(&format!("link add {name} type veth peer name {name} netns {there}"));
        for host in [self, other] {
            // A link-local address of the kernel could not be used until duplicate detection has ended.
            host.ip(&format!("link set {name} addrgenmode none"));
            host.ip(&format!("link set {name} up"));
        }
    }

    /// Adds an address with its prefix length to an interface.
    pub fn address(&self, name: &str, address: &str) {
        let sure = if address.contains(':') { " nodad" } else { "" };
        self.ip(&format!("address add {address} dev {name}{sure}"));
    }
}
