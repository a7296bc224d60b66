//! Check that tests run in a network namespace with only loopback.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};

/// Interfaces that some kernels add to every new namespace. They are down and stay down.
const BORN_DOWN: [&str; 10] =
    ["tunl0", "sit0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6tnl0", "ip6gre0", "teql0"];

/// Checks that no packet of the calling test can leave the machine. Call it before a test uses the network or starts
/// a program that does.
///
/// # Panics
/// If the process is not in a network namespace whose only interface is loopback, or that is down.
pub fn require_private_network() {
    let devices = fs::read_to_string("/proc/self/net/dev").expect("/proc shows this process's interfaces");
    let others = outward_interfaces(&devices);
    assert!(
        others.is_empty(),
        "this test uses the network and runs only where there is nothing but loopback, but here is {}: {HOW}",
        others.join(", ")
    );
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap_or_else(|error| panic!("loopback: {error}; {HOW}"));
}

const HOW: &str = "run it by ./test, or by unshare -rn bash -c 'ip link set lo up; ip link set lo multicast on; \
                   ip route add 224.0.0.0/4 dev lo; exec cargo test ...'";

/// The interfaces in a `/proc/net/dev` table by which a packet could leave.
fn outward_interfaces(devices: &str) -> Vec<&str> {
    let names = devices.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    names.filter(|name| *name != "lo" && !BORN_DOWN.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n";

    #[test]
    fn only_loopback_is_private() {
        assert!(outward_interfaces(&format!("{HEAD}    lo: 1 2 3 4\n  sit0: 0 0 0 0\n")).is_empty());
    }

    #[test]
    fn other_interface_is_named() {
        let devices = format!("{HEAD}  eth0: 1 2 3 4\n    lo: 1 2 3 4\nwlan0:99 2 3 4\n");
        assert_eq!(outward_interfaces(&devices), ["eth0", "wlan0"]);
    }
}
