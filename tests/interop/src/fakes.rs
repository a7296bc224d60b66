//! Fake participants: they announce themselves, and never answer.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// The lease that each fake announces.
pub const LEASE: Duration = Duration::from_secs(10);

/// The port that all fakes announce, each at its own address.
pub const PORT: u16 = 40_000;

/// The address of a fake: unique, and not used by any process of this host.
pub fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 64, 0, 1)) + number)
}

/// The address on which the participants of a domain receive announcements.
pub fn discovery_address(domain: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(239, 255, 0, 1), 7400 + 250 * domain)
}

/// A parameter of a parameter list: id, length and value. RTPS 2.5, section 9.4.2.11.
fn parameter(message: &mut Vec<u8>, id: u16, value: &[u8]) {
    message.extend(id.to_le_bytes());
    message.extend((value.len() as u16).to_le_bytes());
    message.extend(value);
}

/// The announcement of a participant as a whole message: RTPS 2.5, section 8.5.3.2 and 9.6.2.2.
pub fn announcement(number: u32) -> Vec<u8> {
    announcement_for(number, address(number), Some(LEASE), None)
}

/// An announcement with an address, a finite or infinite lease, and a destination: the participant of a GUID prefix,
/// or all.
pub fn announcement_for(
    number: u32,
    address: Ipv4Addr,
    lease: Option<Duration>,
    victim: Option<[u8; 12]>,
) -> Vec<u8> {
    const VENDOR: [u8; 2] = [1, 0xff];
    const PARTICIPANT: [u8; 4] = [0, 0, 1, 0xc1];
    const ANNOUNCER: [u8; 4] = [0, 1, 0, 0xc2];
    const LISTENER: [u8; 4] = [0, 1, 0, 0xc7];
    const ALL_THAT_ROS_HAS: u32 = 0xc3f;
    let prefix = [&VENDOR[..], &[0xfa, 0xce, 0, 0, 0, 0], &number.to_be_bytes()].concat();
    let locator = [&[1, 0, 0, 0][..], &u32::from(PORT).to_le_bytes(), &[0; 12], &address.octets()].concat();
    let mut list = vec![0, 3, 0, 0];
    parameter(&mut list, 0x15, &[2, 3, 0, 0]);
    parameter(&mut list, 0x16, &[VENDOR[0], VENDOR[1], 0, 0]);
    parameter(&mut list, 0x50, &[&prefix[..], &PARTICIPANT].concat());
    parameter(&mut list, 0x32, &locator);
    parameter(&mut list, 0x31, &locator);
    let seconds = lease.map_or(0x7fff_ffff, |lease| lease.as_secs() as u32);
    let fraction = if lease.is_some() { 0_u32 } else { u32::MAX };
    parameter(&mut list, 0x02, &[seconds.to_le_bytes(), fraction.to_le_bytes()].concat());
    parameter(&mut list, 0x58, &ALL_THAT_ROS_HAS.to_le_bytes());
    parameter(&mut list, 0x01, &[]);
    // No flags and no inline QoS; the first sample.
    let data = [&[0, 0, 16, 0][..], &LISTENER, &ANNOUNCER, &[0, 0, 0, 0, 1, 0, 0, 0], &list].concat();
    let header = [&b"RTPS"[..], &[2, 3], &VENDOR, &prefix].concat();
    let info_destination = victim.map_or(vec![], |victim| [&[0x0e, 1, 12, 0][..], &victim].concat());
    [&header[..], &info_destination, &[0x15, 5], &(data.len() as u16).to_le_bytes(), &data].concat()
}
