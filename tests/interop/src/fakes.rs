//! Participants that only announce themselves, and never answer.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// How long each claims to live without another word.
pub const LEASE: Duration = Duration::from_secs(10);

/// The port at which all claim to be reached, each at an address of its own.
pub const PORT: u16 = 40_000;

/// The address of a fake: none is another's, and nobody of the host is among them.
pub fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 64, 0, 1)) + number)
}

/// Where all participants of a domain hear announcements.
pub fn everybody(domain: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(239, 255, 0, 1), 7400 + 250 * domain)
}

/// A parameter of a list: its number and length, then the value. RTPS 2.5, section 9.4.2.11.
fn parameter(message: &mut Vec<u8>, id: u16, value: &[u8]) {
    message.extend(id.to_le_bytes());
    message.extend((value.len() as u16).to_le_bytes());
    message.extend(value);
}

/// The announcement of a participant, as a whole message: RTPS 2.5, section 8.5.3.2 and 9.6.2.2.
pub fn announcement(number: u32) -> Vec<u8> {
    const VENDOR: [u8; 2] = [1, 0xff];
    const PARTICIPANT: [u8; 4] = [0, 0, 1, 0xc1];
    const ANNOUNCER: [u8; 4] = [0, 1, 0, 0xc2];
    const LISTENER: [u8; 4] = [0, 1, 0, 0xc7];
    const ALL_THAT_ROS_HAS: u32 = 0xc3f;
    let prefix = [&VENDOR[..], &[0xfa, 0xce, 0, 0, 0, 0], &number.to_be_bytes()].concat();
    let locator =
        [&[1, 0, 0, 0][..], &u32::from(PORT).to_le_bytes(), &[0; 12], &address(number).octets()].concat();
    let mut list = vec![0, 3, 0, 0];
    parameter(&mut list, 0x15, &[2, 3, 0, 0]);
    parameter(&mut list, 0x16, &[VENDOR[0], VENDOR[1], 0, 0]);
    parameter(&mut list, 0x50, &[&prefix[..], &PARTICIPANT].concat());
    parameter(&mut list, 0x32, &locator);
    parameter(&mut list, 0x31, &locator);
    parameter(&mut list, 0x02, &[&(LEASE.as_secs() as u32).to_le_bytes()[..], &[0; 4]].concat());
    parameter(&mut list, 0x58, &ALL_THAT_ROS_HAS.to_le_bytes());
    parameter(&mut list, 0x01, &[]);
    // No flags and no inline QoS to skip; the first sample.
    let data = [&[0, 0, 16, 0][..], &LISTENER, &ANNOUNCER, &[0, 0, 0, 0, 1, 0, 0, 0], &list].concat();
    let header = [&b"RTPS"[..], &[2, 3], &VENDOR, &prefix].concat();
    [&header[..], &[0x15, 5], &(data.len() as u16).to_le_bytes(), &data].concat()
}
