//! Announcements by multicast in all domains, and a datagram of our own by each interface.

use std::collections::BTreeSet;
use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use runnel::DiscoveryRange;
use runnel_io::interfaces::{Interface, interfaces};
use runnel_io::udp::Options;
use runnel_io::{Datagrams, host};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::commands::doctor::network::found::{AnnouncedParticipant, InterfaceProbe};

/// Group of announcements. Source: RTPS 2.5, section 9.6.2.3.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

/// The last domain with valid ports.
const LAST_DOMAIN: u16 = 232;

/// Longer than the period in which participants of most implementations announce themselves, 3 s.
const LISTEN: Duration = Duration::from_millis(3300);

/// How long a probe may take to return, even if all else is known.
const PROBE_TIMEOUT: Duration = Duration::from_millis(200);

/// How often it is checked whether that is needed.
const CHECK: Duration = Duration::from_millis(50);

/// The first bytes of every datagram: the protocol, its version and our vendor id. Nothing follows the GUID prefix, so
/// that participants pass over it.
const HEADER: [u8; 8] = [b'R', b'T', b'P', b'S', 2, 4, 0x01, 0x72];

/// Length of such a header with the GUID prefix.
const HEADER_LEN: usize = 20;

/// Limit of participants that are recorded.
const MAX_PARTICIPANTS: usize = 1000;

/// Number of interfaces: by default, Linux allows 20 memberships per socket.
const MOST_INTERFACES: usize = 16;

/// Listens in all domains. Returns the participants whose announcements arrived, and the result of each interface.
pub fn gather(
    domain: u16,
    range: Option<DiscoveryRange>,
    is_enough: &AtomicBool,
) -> (Vec<AnnouncedParticipant>, Vec<InterfaceProbe>) {
    let all = interfaces().unwrap_or_default();
    let used: Vec<(&Interface, Ipv4Addr)> =
        all.iter().filter_map(with_address).take(MOST_INTERFACES).collect();
    let sockets: Vec<(u16, Datagrams)> =
        (0..=LAST_DOMAIN).filter_map(|domain| Some((domain, open(domain, &used)?))).collect();
    let listens = sockets.iter().any(|(of, _)| *of == domain);
    let mut token = [0; 11];
    token[..8].copy_from_slice(&host::random().unwrap_or_default().to_ne_bytes());
    let mut probes = if !listens || range == Some(DiscoveryRange::Off) {
        Vec::new()
    } else {
        send(domain, range, &used, token)
    };
    let own: Vec<IpAddr> = all.iter().flat_map(|one| &one.addresses).map(|address| address.ip).collect();
    let mut announced = BTreeSet::new();
    let start = Instant::now();
    while must_listen(start.elapsed(), is_enough.load(Ordering::Relaxed), &probes) {
        for (domain, prefix, from) in receive(&sockets) {
            if prefix[..11] == token {
                if let Some(probe) = probes.get_mut(usize::from(prefix[11])) {
                    probe.returned = true;
                }
            } else if announced.len() < MAX_PARTICIPANTS {
                announced.insert(AnnouncedParticipant {
                    domain,
                    from,
                    prefix,
                    is_same_host: own.contains(&from),
                });
            }
        }
    }
    (announced.into_iter().collect(), probes)
}

/// Whether to listen on, this long after the probes were sent. A probe is not given up early.
fn must_listen(elapsed: Duration, is_enough: bool, probes: &[InterfaceProbe]) -> bool {
    let is_pending = |probe: &InterfaceProbe| probe.error.is_none() && !probe.returned;
    match is_enough {
        true => elapsed < PROBE_TIMEOUT && probes.iter().any(is_pending),
        false => elapsed < LISTEN,
    }
}

/// An interface that carries multicast, with its first address. Loopback counts only if its flags say so, or if there is
/// no other, as for participants.
fn with_address(interface: &Interface) -> Option<(&Interface, Ipv4Addr)> {
    let first = interface.addresses.iter().find_map(|address| match address.ip {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    });
    first.filter(|_| interface.multicast || interface.loopback).map(|ip| (interface, ip))
}

fn group_port(domain: u16) -> u16 {
    7400 + 250 * domain
}

/// A socket that receives the announcements of a domain.
fn open(domain: u16, used: &[(&Interface, Ipv4Addr)]) -> Option<Datagrams> {
    // Bound to the group, it takes no datagram from a program with this port.
    let at = SocketAddr::new(GROUP.into(), group_port(domain));
    let socket = Datagrams::open(&Options::shared(at)).ok()?;
    let joined =
        used.iter().filter(|(interface, _)| socket.join(GROUP.into(), interface.index).is_ok()).count();
    (joined > 0).then_some(socket)
}

/// Sends a datagram by each interface. Its GUID prefix ends with the index of the interface in the list.
fn send(
    domain: u16,
    range: Option<DiscoveryRange>,
    used: &[(&Interface, Ipv4Addr)],
    token: [u8; 11],
) -> Vec<InterfaceProbe> {
    // With a hop limit of 0, a multicast datagram stays on the host.
    let hops = u8::from(range != Some(DiscoveryRange::Localhost));
    let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    let socket = Datagrams::open(&Options { hops, ..Options::at(any) });
    let to = SocketAddr::new(GROUP.into(), group_port(domain));
    let probe = |(index, (interface, address)): (u8, &(&Interface, Ipv4Addr))| {
        let last = [index];
        let parts = [&HEADER[..], &token, &last].map(IoSlice::new);
        let sent = socket.as_ref().map(|socket| socket.send_by(interface.index, Some(*address), &parts, to));
        let error = match sent {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(crate::error::plain(&error.to_string())),
            Err(error) => Some(crate::error::plain(&error.to_string())),
        };
        InterfaceProbe { name: interface.name.clone(), address: (*address).into(), error, returned: false }
    };
    (0..).zip(used).map(probe).collect()
}

/// Waits for datagrams, and returns the domain, GUID prefix and source of each that a participant sent.
fn receive(sockets: &[(u16, Datagrams)]) -> Vec<(u16, [u8; 12], IpAddr)> {
    let mut ready: Vec<PollFd<'_>> =
        sockets.iter().map(|(_, socket)| PollFd::new(socket, PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: 0, tv_nsec: CHECK.subsec_nanos().into() };
    if poll(&mut ready, Some(&timeout)).is_err() {
        return Vec::new();
    }
    let is_ready = |one: &PollFd<'_>| one.revents().contains(PollFlags::IN);
    let ready: Vec<bool> = ready.iter().map(is_ready).collect();
    let mut found = Vec::new();
    let mut buffer = [0; HEADER_LEN];
    for ((domain, socket), _) in sockets.iter().zip(ready).filter(|(_, ready)| *ready) {
        if let Ok(Some(received)) = socket.recv_from(&mut buffer) {
            let header = buffer.get(..received.len).filter(|header| header.starts_with(b"RTPS"));
            if let Some(prefix) = header.and_then(|header| header.get(8..)?.try_into().ok()) {
                found.push((*domain, prefix, received.from.ip()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_io::interfaces::Address;

    #[test]
    fn pending_probe_is_awaited_although_all_else_is_known() {
        let probe = |error: Option<&str>, returned| InterfaceProbe {
            name: "x".into(),
            address: GROUP.into(),
            error: error.map(str::to_owned),
            returned,
        };
        let (early, late) = (Duration::from_millis(100), Duration::from_millis(200));
        let pending = [probe(None, true), probe(None, false)];
        assert!(must_listen(early, true, &pending) && !must_listen(late, true, &pending));
        assert!(!must_listen(early, true, &[probe(None, true), probe(Some("refused"), false)]));
        assert!(must_listen(late, false, &[]) && !must_listen(LISTEN, false, &pending));
    }

    #[test]
    fn interfaces_with_ipv4_and_multicast_are_used() {
        let interface = |ip: &str, loopback, multicast| Interface {
            index: 1,
            name: "x".into(),
            addresses: vec![Address { ip: ip.parse().unwrap(), prefix: 24 }],
            loopback,
            multicast,
        };
        assert!(with_address(&interface("10.0.0.1", false, true)).is_some());
        assert!(with_address(&interface("127.0.0.1", true, false)).is_some());
        assert!(with_address(&interface("10.0.0.1", false, false)).is_none());
        assert!(with_address(&interface("fe80::1", false, true)).is_none());
    }
}
