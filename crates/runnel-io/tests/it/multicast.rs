//! Multicast between sockets, interfaces and hosts.

use std::io::{ErrorKind, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use runnel_io::interfaces::interfaces;
use runnel_io::udp::{Addressed, Batch, MOST_AT_ONCE, Options, Received};
use runnel_io::{Datagrams, Events, Interest, Reactor, Token};
use runnel_testkit::hosts::Host;
use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};

const PORT: u16 = 7400;

/// Per family: the receivers' bind address, the group, and the addresses of two hosts in two networks.
const V4: Net = Net {
    any: "0.0.0.0",
    group: "239.255.0.1",
    near: ["10.1.0.1", "10.2.0.1"],
    far: ["10.1.0.2", "10.2.0.2"],
    bits: 24,
};
const V6: Net =
    Net { any: "::", group: "ff15::1", near: ["fd01::1", "fd02::1"], far: ["fd01::2", "fd02::2"], bits: 64 };

struct Net {
    any: &'static str,
    group: &'static str,
    near: [&'static str; 2],
    far: [&'static str; 2],
    bits: u8,
}

impl Net {
    /// Two hosts with two cables between them, `one` and `two`.
    fn hosts(&self) -> [Host; 2] {
        let hosts = [Host::new(), Host::new()];
        for (number, name) in ["one", "two"].into_iter().enumerate() {
            hosts[0].join(&hosts[1], name);
            hosts[0].address(name, &format!("{}/{}", self.near[number], self.bits));
            hosts[1].address(name, &format!("{}/{}", self.far[number], self.bits));
        }
        hosts
    }

    fn group(&self) -> IpAddr {
        self.group.parse().unwrap()
    }

    fn to_group(&self) -> SocketAddr {
        (self.group(), PORT).into()
    }

    /// Options of a sender without a chosen interface.
    fn sender(&self) -> Options {
        Options::at((self.any.parse::<IpAddr>().unwrap(), 0).into())
    }

    /// A socket that has joined the group on these interfaces of a host.
    fn receiver(&self, host: &Host, names: &[&str]) -> Datagrams {
        let address = (self.any.parse::<IpAddr>().unwrap(), PORT).into();
        let socket = open(host, Options::shared(address));
        for name in names {
            socket.join(self.group(), index(host, name)).unwrap();
        }
        socket
    }
}

fn open(host: &Host, options: Options) -> Datagrams {
    host.run(|| Datagrams::open(&options)).unwrap()
}

fn index(host: &Host, name: &str) -> u32 {
    let interfaces = host.run(interfaces).unwrap();
    interfaces.iter().find(|interface| interface.name == name).unwrap().index
}

fn wait_for(socket: &Datagrams) {
    let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
    reactor.add(socket, Token(0), Interest::Read).unwrap();
    reactor.wait(&mut events, Some(Duration::from_secs(30))).unwrap();
}

/// Waits for a datagram.
fn received(socket: &Datagrams, buffer: &mut [u8]) -> Received {
    wait_for(socket);
    socket.recv_from(buffer).unwrap().expect("a datagram")
}

/// Text and sender of the next datagram.
fn receive_from(socket: &Datagrams) -> (String, SocketAddr) {
    let mut buffer = [0; 64];
    let Received { len, from, cut } = received(socket, &mut buffer);
    assert!(!cut);
    (String::from_utf8(buffer[..len].to_vec()).unwrap(), from)
}

fn receive_text(socket: &Datagrams) -> String {
    receive_from(socket).0
}

/// Checks that no datagram is waiting. Datagrams arrive promptly: each caller first receives one that was sent at the
/// same moment or later.
fn assert_empty(socket: &Datagrams) {
    assert_eq!(socket.recv_from(&mut [0; 64]).unwrap(), None);
}

fn send_text(socket: &Datagrams, interface: u32, what: &str, to: SocketAddr) {
    let (head, tail) = what.as_bytes().split_at(what.len() / 2);
    assert!(socket.send_by(interface, None, &[IoSlice::new(head), IoSlice::new(tail)], to).unwrap());
}

#[test]
fn group_is_received_on_joined_interfaces() {
    for net in [V4, V6] {
        let [near, far] = net.hosts();
        let [both, one, neither] =
            [&["one", "two"][..], &["one"], &[]].map(|names| net.receiver(&far, names));
        let sender = open(&near, net.sender());
        for (name, from) in ["one", "two"].into_iter().zip(net.near) {
            send_text(&sender, index(&near, name), name, net.to_group());
            let address = SocketAddr::new(from.parse().unwrap(), sender.address().port());
            let (said, from) = receive_from(&both);
            assert_eq!((said.as_str(), from), (name, address));
        }
        assert_eq!(receive_text(&one), "one");
        // With IPv6 the kernel checks only the group: `both` made the host receive it on `two`, too.
        if net.group().is_ipv6() {
            assert_eq!(receive_text(&one), "two");
        }
        [&both, &one, &neither].into_iter().for_each(assert_empty);
    }
}

#[test]
fn sockets_of_host_share_group_and_port() {
    for net in [V4, V6] {
        let [host, _far] = net.hosts();
        let receivers: Vec<_> = (0..3).map(|_| net.receiver(&host, &["one"])).collect();
        send_text(&open(&host, net.sender()), index(&host, "one"), "all", net.to_group());
        for receiver in &receivers {
            assert_eq!(receive_text(receiver), "all");
        }
    }
}

#[test]
fn left_group_is_not_received() {
    for net in [V4, V6] {
        let [near, far] = net.hosts();
        let receiver = net.receiver(&far, &["one", "two", "two"]);
        for _ in 0..2 {
            receiver.leave(net.group(), index(&far, "one")).unwrap();
        }
        let sender = open(&near, net.sender());
        for name in ["one", "two"] {
            send_text(&sender, index(&near, name), name, net.to_group());
        }
        assert_eq!(receive_text(&receiver), "two");
        assert_empty(&receiver);
    }
}

#[test]
fn groups_on_removed_interfaces_can_be_left() {
    let [near, far] = [Host::new(), Host::new()];
    let sockets = [V4, V6].map(|net| (net.receiver(&near, &[]), net.group()));
    // More often than the number of IPv4 groups of one socket.
    for _ in 0..25 {
        near.join(&far, "one");
        let one = index(&near, "one");
        for (socket, group) in &sockets {
            socket.join(*group, one).unwrap();
        }
        near.ip("link delete one");
        for (socket, group) in &sockets {
            socket.leave(*group, one).unwrap();
        }
    }
}

#[test]
fn port_is_shared_with_reuseport_peers() {
    for net in [V4, V6] {
        let [near, _far] = net.hosts();
        // As Cyclone DDS does.
        let peer = near.run(|| {
            let family = if net.group().is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let peer = socket(family, SocketType::DGRAM, None).unwrap();
            sockopt::set_socket_reuseport(&peer, true).unwrap();
            sockopt::set_socket_reuseaddr(&peer, true).unwrap();
            bind(&peer, &SocketAddr::new(net.any.parse().unwrap(), PORT)).unwrap();
            peer
        });
        let receiver = net.receiver(&near, &["one"]);
        send_text(&open(&near, net.sender()), index(&near, "one"), "all", net.to_group());
        assert_eq!(receive_text(&receiver), "all");
        drop(peer);
    }
}

#[test]
fn socket_sends_multicast_by_chosen_interface() {
    for net in [V4, V6] {
        let [near, far] = net.hosts();
        let receiver = net.receiver(&far, &["one", "two"]);
        for (name, from) in ["two", "one"].into_iter().zip([net.near[1], net.near[0]]) {
            let sender = open(&near, Options { interface: Some(index(&near, name)), ..net.sender() });
            assert!(sender.send_to_vectored(&[IoSlice::new(b"here")], net.to_group()).unwrap());
            let (said, address) = receive_from(&receiver);
            assert_eq!((said.as_str(), address.ip()), ("here", from.parse().unwrap()));
        }
    }
}

#[test]
fn zero_hop_datagram_stays_on_host() {
    for net in [V4, V6] {
        let [near, far] = net.hosts();
        let [here, there] = [&near, &far].map(|host| net.receiver(host, &["one"]));
        let one = index(&near, "one");
        send_text(&open(&near, Options { hops: 0, ..net.sender() }), one, "host", net.to_group());
        send_text(&open(&near, net.sender()), one, "network", net.to_group());
        assert_eq!([receive_text(&here), receive_text(&here)], ["host", "network"]);
        assert_eq!(receive_text(&there), "network");
        assert_empty(&there);
    }
}

#[test]
fn loopback_multicast_needs_join_on_loopback() {
    let [near, _far] = V4.hosts();
    let [looped, outer] = ["lo", "one"].map(|name| V4.receiver(&near, &[name]));
    let sender = open(&near, V4.sender());
    for name in ["lo", "one"] {
        send_text(&sender, index(&near, name), name, V4.to_group());
    }
    assert_eq!([receive_text(&outer), receive_text(&looped)], ["one", "lo"]);
    [&outer, &looped].into_iter().for_each(assert_empty);
}

#[test]
fn loopback_carries_no_ipv6_group() {
    let host = Host::new();
    let (sender, loopback) = (open(&host, V6.sender()), index(&host, "lo"));
    let error = sender.send_by(loopback, None, &[], V6.to_group()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NetworkUnreachable);
}

#[test]
fn group_can_be_joined_without_address() {
    for net in [V4, V6] {
        let [near, far] = [Host::new(), Host::new()];
        near.join(&far, "one");
        let receiver = net.receiver(&far, &["one"]);
        far.address("one", &format!("{}/{}", net.far[0], net.bits));
        near.address("one", &format!("{}/{}", net.near[0], net.bits));
        send_text(&open(&near, net.sender()), index(&near, "one"), "late", net.to_group());
        assert_eq!(receive_text(&receiver), "late");
    }
}

#[test]
fn socket_without_loop_reaches_only_other_hosts() {
    for net in [V4, V6] {
        let [near, far] = net.hosts();
        let [here, there] = [&near, &far].map(|host| net.receiver(host, &["one"]));
        let one = index(&near, "one");
        send_text(&open(&near, Options { loopback: false, ..net.sender() }), one, "others", net.to_group());
        send_text(&open(&near, net.sender()), one, "all", net.to_group());
        assert_eq!([receive_text(&there), receive_text(&there)], ["others", "all"]);
        assert_eq!(receive_text(&here), "all");
    }
}

#[test]
fn link_local_group_is_received_and_answered() {
    let [near, far] = V6.hosts();
    near.address("one", "fe80::1/64");
    far.address("one", "fe80::2/64");
    let group: IpAddr = "ff02::7400".parse().unwrap();
    let receiver = V6.receiver(&far, &[]);
    receiver.join(group, index(&far, "one")).unwrap();
    let sender = open(&near, V6.sender());
    send_text(&sender, index(&near, "one"), "link", (group, PORT).into());
    let (said, from) = receive_from(&receiver);
    assert_eq!((said.as_str(), from.ip()), ("link", "fe80::1".parse().unwrap()));
    // The source address selects the interface of the answer.
    assert!(receiver.send_to_vectored(&[IoSlice::new(b"back")], from).unwrap());
    let (said, from) = receive_from(&sender);
    assert_eq!((said.as_str(), from.ip()), ("back", "fe80::2".parse().unwrap()));
}

#[test]
fn batch_arrives_in_order() {
    for loopback in ["127.0.0.1:0", "[::1]:0"] {
        let host = Host::new();
        let [near, far] = [(); 2].map(|()| open(&host, Options::at(loopback.parse().unwrap())));
        let texts: Vec<_> = (0..MOST_AT_ONCE + 3).map(|number| number.to_string()).collect();
        let slices: Vec<_> =
            texts.iter().map(|text| [IoSlice::new(b"no "), IoSlice::new(text.as_bytes())]).collect();
        let other = open(&host, Options::at(loopback.parse().unwrap()));
        // Every third goes to the other socket.
        let to = |number: usize| if number % 3 == 2 { other.address() } else { far.address() };
        let datagrams: Vec<_> =
            slices.iter().enumerate().map(|(number, slices)| Addressed { slices, to: to(number) }).collect();
        assert_eq!(near.send_batch(&datagrams).unwrap(), MOST_AT_ONCE);
        assert_eq!(near.send_batch(&datagrams[MOST_AT_ONCE..]).unwrap(), 3);
        assert_eq!(near.send_batch(&[]).unwrap(), 0);
        for (number, text) in texts.iter().enumerate() {
            let receiver = if to(number) == far.address() { &far } else { &other };
            assert_eq!(receive_from(receiver), (format!("no {text}"), near.address()));
        }
        assert_empty(&far);
        assert_empty(&other);
    }
}

#[test]
fn batch_stops_at_unsendable_datagram() {
    let host = Host::new();
    let socket = open(&host, Options::at("127.0.0.1:0".parse().unwrap()));
    let slices = [3, 65_508, 4].map(|len| [IoSlice::new(&[0; 65_508][..len])]);
    let datagrams = slices.each_ref().map(|slices| Addressed { slices, to: socket.address() });
    assert_eq!(socket.send_batch(&datagrams).unwrap(), 1);
    assert!(socket.send_batch(&datagrams[1..]).is_err());
    assert_eq!(receive_text(&socket).len(), 3);
    assert_empty(&socket);
}

#[test]
fn batch_receive_reports_senders() {
    for loopback in ["127.0.0.1:0", "[::1]:0"] {
        let host = Host::new();
        let [one, two, far] = [(); 3].map(|()| open(&host, Options::at(loopback.parse().unwrap())));
        let mut batch = Batch::new(3, 4);
        assert_eq!(far.recv_batch(&mut batch).unwrap(), 0);
        let sent = [(&one, "first"), (&two, "2nd"), (&one, ""), (&two, "last")];
        for (near, text) in sent {
            assert!(near.send_to_vectored(&[IoSlice::new(text.as_bytes())], far.address()).unwrap());
        }
        let expected = sent.map(|(near, text)| {
            let len = text.len().min(4);
            (text.as_bytes()[..len].to_vec(), Received { len, from: near.address(), cut: text.len() > 4 })
        });
        let mut found = Vec::new();
        while found.len() < sent.len() {
            wait_for(&far);
            let count = far.recv_batch(&mut batch).unwrap();
            assert_eq!(batch.iter().count(), count);
            found.extend(batch.iter().map(|(bytes, received)| (bytes.to_vec(), received)));
        }
        assert_eq!(found, expected);
        assert_eq!(far.recv_batch(&mut batch).unwrap(), 0);
        assert_eq!(batch.iter().count(), 0);
    }
}

#[test]
fn too_long_datagram_is_marked_truncated() {
    for loopback in ["127.0.0.1:0", "[::1]:0"] {
        let host = Host::new();
        let [near, far] = [(); 2].map(|()| open(&host, Options::at(loopback.parse().unwrap())));
        for (len, cut) in [(8, false), (9, true), (0, false)] {
            assert!(near.send_to_vectored(&[IoSlice::new(&b"123456789"[..len])], far.address()).unwrap());
            let expected = Received { len: len.min(8), from: near.address(), cut };
            assert_eq!(received(&far, &mut [0; 8]), expected);
        }
    }
}

#[test]
fn receive_buffer_size_can_be_requested() {
    let host = Host::new();
    let plain = open(&host, V4.sender()).receive_buffer_size().unwrap();
    let asked = [plain / 4, 1 << 30].map(|bytes| Options { receive_buffer_size: Some(bytes), ..V4.sender() });
    let [less, most] = asked.map(|options| open(&host, options).receive_buffer_size().unwrap());
    assert_eq!(less, plain / 4 * 2);
    assert!(most >= plain && most < 1 << 30);
}

#[test]
fn one_port_serves_both_families() {
    let host = Host::new();
    for any in ["0.0.0.0:7400", "[::]:7400"] {
        // Kept open until the second is.
        std::mem::forget(open(&host, Options::at(any.parse().unwrap())));
    }
}

#[test]
fn socket_errors_name_addresses() {
    let host = Host::new();
    let open_at = |options: Options| host.run(move || Datagrams::open(&options));
    let first = open_at(Options::at("127.0.0.1:0".parse().unwrap())).unwrap();
    let any = open_at(V4.sender()).unwrap();
    let group = V4.group();
    let errors = [
        (
            open_at(Options::at(first.address())).map(drop),
            vec![first.address().to_string(), "in use".to_owned()],
        ),
        (
            open_at(Options { interface: Some(99), ..V4.sender() }).map(drop),
            vec!["by interface 99".to_owned()],
        ),
        (any.join(group, 99), vec!["joining 239.255.0.1 on interface 99 at 0.0.0.0:".to_owned()]),
        (any.join(V6.group(), 1), vec!["joining ff15::1 on interface 1".to_owned()]),
        (any.join("10.0.0.1".parse().unwrap(), 1), vec!["joining 10.0.0.1 on interface 1".to_owned()]),
        (
            any.send_to_vectored(&[], "10.0.0.1:5".parse().unwrap()).map(drop),
            vec!["to 10.0.0.1:5 from".to_owned()],
        ),
        (
            any.send_by(99, None, &[], V4.to_group()).map(drop),
            vec!["to 239.255.0.1:7400 by interface 99".to_owned()],
        ),
        (
            any.send_by(u32::MAX, None, &[], V4.to_group()).map(drop),
            vec!["by interface 4294967295".to_owned()],
        ),
        (
            any.send_batch(&[Addressed { slices: &[IoSlice::new(&[0; 65_508])], to: first.address() }])
                .map(drop),
            vec![format!("datagrams, the first to {}, from", first.address())],
        ),
    ];
    for (outcome, parts) in errors {
        let error = outcome.unwrap_err();
        assert_ne!(error.kind(), ErrorKind::WouldBlock);
        assert!(parts.iter().all(|part| error.to_string().contains(part)), "{error}");
    }
}
