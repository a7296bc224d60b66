//! Network interfaces that are added, removed and changed.

use std::time::Duration;

use runnel_io::interfaces::{Address, Interface, InterfaceMonitor, interfaces};
use runnel_io::{Events, Interest, Reactor, Token};
use runnel_testkit::hosts::Host;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{RecvFlags, recv};

fn found(host: &Host) -> Vec<Interface> {
    host.run(interfaces).unwrap()
}

fn names(host: &Host) -> Vec<String> {
    found(host).into_iter().map(|interface| interface.name).collect()
}

fn address(ip: &str, prefix: u8) -> Address {
    Address { ip: ip.parse().unwrap(), prefix }
}

/// Waits for a notification.
fn changed(changes: &InterfaceMonitor) {
    let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
    reactor.add(changes, Token(0), Interest::Read).unwrap();
    reactor.wait(&mut events, Some(Duration::from_secs(30))).unwrap();
    assert!(changes.any().unwrap());
}

#[test]
fn host_without_cables_has_loopback() {
    let [lo] = found(&Host::new()).try_into().unwrap();
    assert_eq!(lo.addresses, [address("127.0.0.1", 8), address("::1", 128)]);
    assert_eq!((lo.index, lo.name.as_str(), lo.loopback), (1, "lo", true));
}

#[test]
fn interface_lists_addresses_with_prefixes() {
    let [near, far] = [Host::new(), Host::new()];
    near.join(&far, "cable");
    near.address("cable", "10.1.0.1/24");
    near.ip("address add 10.2.0.1/30 dev cable label cable:other");
    near.address("cable", "fe80::1/64");
    let [_, cable] = found(&near).try_into().unwrap();
    let expected = [address("10.1.0.1", 24), address("10.2.0.1", 30), address("fe80::1", 64)];
    assert_eq!(cable.addresses, expected);
    assert_eq!((cable.name.as_str(), cable.loopback, cable.multicast), ("cable", false, true));
    assert!(cable.index > 1);
}

#[test]
fn only_interfaces_that_are_up_are_listed() {
    let [near, far] = [Host::new(), Host::new()];
    near.join(&far, "cable");
    assert_eq!(names(&near), ["lo", "cable"]);
    near.ip("link set cable multicast off");
    assert!(!found(&near)[1].multicast);
    near.ip("link set cable down");
    assert_eq!(names(&near), ["lo"]);
}

#[test]
fn address_changes_are_noticed() {
    let [near, far] = [Host::new(), Host::new()];
    near.join(&far, "cable");
    for (ip, prefix) in [("10.1.0.1", 24), ("fd01::1", 64)] {
        let changes = near.run(InterfaceMonitor::watch).unwrap();
        assert!(!changes.any().unwrap());
        near.address("cable", &format!("{ip}/{prefix}"));
        changed(&changes);
        assert_eq!(found(&near)[1].addresses, [address(ip, prefix)]);
        near.ip(&format!("address del {ip}/{prefix} dev cable"));
        changed(&changes);
        assert!(found(&near)[1].addresses.is_empty());
    }
}

#[test]
fn added_and_removed_interfaces_are_noticed() {
    let [near, far] = [Host::new(), Host::new()];
    let changes = near.run(InterfaceMonitor::watch).unwrap();
    near.join(&far, "cable");
    changed(&changes);
    assert_eq!(names(&near), ["lo", "cable"]);
    far.ip("link delete cable");
    changed(&changes);
    assert_eq!(names(&near), ["lo"]);
}

#[test]
fn overflow_of_changes_is_a_change() {
    let host = Host::new();
    let [changes, other] = [(); 2].map(|()| host.run(InterfaceMonitor::watch).unwrap());
    for watching in [&changes, &other] {
        // The kernel's smallest buffer, which some tens of addresses fill.
        set_socket_recv_buffer_size(watching, 1).unwrap();
    }
    for number in 1..40 {
        host.address("lo", &format!("10.0.0.{number}/32"));
    }
    assert_eq!(recv(&other, &mut [0; 1], RecvFlags::empty()).unwrap_err(), Errno::NOBUFS);
    changed(&changes);
    assert!(!changes.any().unwrap());
    host.address("lo", "10.9.9.9/32");
    changed(&changes);
}
