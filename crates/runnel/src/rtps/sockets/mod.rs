//! Sockets of a participant: for IPv4, and for IPv6 if the host supports it, one for unicast reception and all
//! sending, and one for multicast reception.

mod addresses;
mod family;

use std::array;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use runnel_io::Datagrams;
use runnel_io::interfaces::interfaces;
use runnel_io::udp::{Addressed, MOST_AT_ONCE};
use runnel_rtps::{Lend, Outgoing, Transmit};

use crate::settings::environment::{Ipv6, Ros2Settings};
use crate::sync::{Class, Mutex, lock};
use addresses::{announced, reached, used};
use family::Family;

/// Multicast group for participant announcements. Source: RTPS 2.5, section 9.6.2.3.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

/// Groups for IPv6, which the specification leaves open: that of Cyclone DDS, and that of Fast DDS.
const GROUPS_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0xffff, 0xefff, 1),
    Ipv6Addr::new(0xff1e, 0, 0, 0, 0, 0xffff, 0xefff, 1),
];

/// Limit of participants on a host.
const MOST_PARTICIPANTS: u16 = 120;

/// See the module's documentation.
pub(crate) struct Sockets {
    v4: Family,
    /// None if the host does not support IPv6, or the settings exclude it.
    v6: Option<Family>,
    settings: Ros2Settings,
    addresses: Mutex<Addresses>,
    /// Called before datagrams are sent.
    #[cfg(test)]
    pub(crate) before_sending: std::sync::OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// The addresses as last read from the interfaces.
#[derive(Default)]
struct Addresses {
    reached_at: Vec<IpAddr>,
    own: Vec<IpAddr>,
}

impl Sockets {
    pub(crate) fn open(settings: &Ros2Settings) -> io::Result<Self> {
        let (v4, v6) = open_at_first_free(settings)?;
        let sockets = Self {
            v4,
            v6,
            settings: settings.clone(),
            addresses: Mutex::new(Class::RtpsAddresses, Addresses::default()),
            #[cfg(test)]
            before_sending: std::sync::OnceLock::new(),
        };
        sockets.update_addresses()?;
        Ok(sockets)
    }

    fn families(&self) -> impl Iterator<Item = &Family> {
        [Some(&self.v4), self.v6.as_ref()].into_iter().flatten()
    }

    /// The sockets for reception.
    pub(crate) fn receivers(&self) -> Vec<Arc<Datagrams>> {
        let of_family = |family: &Family| [Some(Arc::clone(&family.unicast)), family.group.clone()];
        self.families().flat_map(of_family).flatten().collect()
    }

    /// Whether a socket receives multicast: announcements of participants, and no user data.
    pub(crate) fn is_multicast(&self, socket: &Datagrams) -> bool {
        let is_it = |group: &Arc<Datagrams>| std::ptr::eq(&**group, socket);
        self.families().filter_map(|family| family.group.as_ref()).any(is_it)
    }

    /// Reads the interfaces, which may have changed, and joins the groups on each.
    pub(crate) fn update_addresses(&self) -> io::Result<()> {
        let all = interfaces()?;
        let addresses_of = |ipv6| announced(&reached(&all, &self.settings, ipv6), &self.settings, ipv6);
        let mut reached_at = addresses_of(false);
        if self.v6.is_some() {
            reached_at.extend(addresses_of(true));
        }
        self.v4.join(&used(&all, &self.settings, false));
        if let Some(v6) = &self.v6 {
            v6.join(&used(&all, &self.settings, true));
        }
        let own = all.iter().flat_map(|interface| &interface.addresses).map(|address| address.ip).collect();
        *lock(&self.addresses) = Addresses { reached_at, own };
        Ok(())
    }

    /// The participant's unicast port.
    pub(crate) fn port(&self) -> u16 {
        self.v4.unicast.address().port()
    }

    /// The participant's unicast addresses: IPv4 first, unless IPv6 is preferred.
    pub(crate) fn reached_at(&self) -> Vec<SocketAddr> {
        let port = self.port();
        let reached_at = lock(&self.addresses).reached_at.clone();
        let mut all: Vec<_> = reached_at.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        all.sort_by_key(|address| address.is_ipv6() != self.prefers_ipv6());
        all
    }

    /// True if IPv6 is preferred where both families are usable.
    pub(crate) fn prefers_ipv6(&self) -> bool {
        self.settings.ipv6 == Ipv6::Preferred
    }

    /// The addresses of this host.
    pub(crate) fn own(&self) -> Vec<IpAddr> {
        lock(&self.addresses).own.clone()
    }

    /// The addresses for announcements.
    pub(crate) fn groups(&self) -> Vec<SocketAddr> {
        self.families().flat_map(Family::groups).collect()
    }

    /// Sends datagrams in order; consecutive ones of one socket in one system call. A datagram that the kernel does
    /// not accept is lost.
    pub(crate) fn send<P: Lend>(&self, datagrams: &[Outgoing<P>]) {
        #[cfg(test)]
        self.before_sending.get().into_iter().for_each(|before| before());
        let same_socket = |one: &Outgoing<P>, next: &Outgoing<P>| {
            let sockets = self.unicast(one).zip(self.unicast(next));
            sockets.is_some_and(|((one, _), (next, _))| std::ptr::eq(one, next))
        };
        for row in datagrams.chunk_by(same_socket) {
            match row {
                [only] => self.send_one(&only.transmit()),
                several => self.send_row(several),
            }
        }
    }

    /// The socket and the address of a datagram with a single receiver.
    fn unicast<P: Lend>(&self, datagram: &Outgoing<P>) -> Option<(&Datagrams, SocketAddr)> {
        let to = *datagram.transmit().to.as_array::<1>()?.first()?;
        let family = self.family(to).filter(|_| !to.ip().is_multicast())?;
        Some((&*family.unicast, to))
    }

    fn family(&self, to: SocketAddr) -> Option<&Family> {
        if to.is_ipv4() { Some(&self.v4) } else { self.v6.as_ref() }
    }

    fn send_one(&self, transmit: &Transmit<'_>) {
        let slices = transmit.parts.map(IoSlice::new);
        for to in transmit.to {
            if let Some(family) = self.family(*to) {
                family.send(filled(&slices), *to);
            }
        }
    }

    /// Sends datagrams of one socket.
    fn send_row<P: Lend>(&self, row: &[Outgoing<P>]) {
        let Some((socket, first)) = row.first().and_then(|first| self.unicast(first)) else { return };
        for some in row.chunks(MOST_AT_ONCE) {
            let slices: [_; MOST_AT_ONCE] = array::from_fn(|index| {
                some.get(index).map_or([&[][..]; 3], |datagram| datagram.transmit().parts).map(IoSlice::new)
            });
            let addressed: [_; MOST_AT_ONCE] = array::from_fn(|index| {
                let to = some.get(index).and_then(|datagram| datagram.transmit().to.first());
                Addressed { slices: filled(&slices[index]), to: to.copied().unwrap_or(first) }
            });
            let mut left = &addressed[..some.len()];
            while !left.is_empty() {
                // The first one that is not accepted is skipped.
                let taken = socket.send_batch(left).unwrap_or(0);
                left = left.get(taken.max(1)..).unwrap_or_default();
            }
        }
    }
}

/// The parts without empty ones at the end.
fn filled<'a, 'b>(parts: &'a [IoSlice<'b>; 3]) -> &'a [IoSlice<'b>] {
    match parts {
        [_, body, _] if body.is_empty() => &parts[..1],
        [_, _, tail] if tail.is_empty() => &parts[..2],
        _ => parts,
    }
}

/// Opens sockets of both families on the first free ports where other participants look.
fn open_at_first_free(settings: &Ros2Settings) -> io::Result<(Family, Option<Family>)> {
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for participant in 0..MOST_PARTICIPANTS {
        let opened = Family::open(settings, participant, vec![GROUP.into()])
            .and_then(|v4| Ok((v4, open_v6(settings, participant)?)));
        match opened {
            Ok(families) => return Ok(families),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => refused = error,
            Err(error) => return Err(error),
        }
    }
    Err(refused)
}

/// Opens IPv6 sockets, if the settings allow it and the host supports it.
fn open_v6(settings: &Ros2Settings, participant: u16) -> io::Result<Option<Family>> {
    if !settings.uses_ipv6() {
        return Ok(None);
    }
    match Family::open(settings, participant, GROUPS_V6.map(IpAddr::V6).to_vec()) {
        Ok(family) => Ok(Some(family)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(_) => Ok(None),
    }
}
