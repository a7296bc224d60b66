//! Locators: addresses of participants and endpoints.

use super::{Cursor, WireError};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const KIND_UDP_V4: i32 = 1;
const KIND_UDP_V6: i32 = 2;

/// UDP address in wire format: kind, port and 16 bytes. Source: RTPS 2.5, section 9.3.2.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator(pub SocketAddr);

impl Locator {
    /// Bytes of a locator.
    pub const LEN: usize = 24;

    /// Parses a locator: `None` for an unsupported kind (shared memory, TCP) or an unreachable address (port 0,
    /// unspecified address).
    ///
    /// # Errors
    /// The bytes are truncated.
    pub fn parse(from: &mut Cursor<'_>) -> Result<Option<Self>, WireError> {
        let kind = from.i32()?;
        let port = from.u32()?;
        let address: [u8; 16] = from.array()?;
        let ip = match kind {
            KIND_UDP_V4 => {
                let [.., a, b, c, d] = address;
                IpAddr::V4(Ipv4Addr::new(a, b, c, d))
            }
            KIND_UDP_V6 => IpAddr::V6(Ipv6Addr::from(address)),
            _ => return Ok(None),
        };
        let reachable = |port: &u16| *port != 0 && !ip.is_unspecified();
        Ok(u16::try_from(port).ok().filter(reachable).map(|port| Self(SocketAddr::new(ip, port))))
    }

    /// Appends the locator.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let (kind, address) = match self.0.ip() {
            IpAddr::V4(ip) => (KIND_UDP_V4, ip.to_ipv6_compatible().octets()),
            IpAddr::V6(ip) => (KIND_UDP_V6, ip.octets()),
        };
        out.extend_from_slice(&kind.to_le_bytes());
        out.extend_from_slice(&u32::from(self.0.port()).to_le_bytes());
        out.extend_from_slice(&address);
    }
}

/// Validated list of locators in a message.
#[derive(Clone, Copy, Debug)]
pub struct Locators<'a> {
    rest: Cursor<'a>,
}

impl<'a> Locators<'a> {
    /// Parses a count and the locators.
    ///
    /// # Errors
    /// The bytes are truncated.
    pub fn parse(from: &mut Cursor<'a>) -> Result<Self, WireError> {
        let count = from.u32()? as usize;
        let bytes = from.take(count.saturating_mul(Locator::LEN))?;
        Ok(Self { rest: Cursor::new(bytes, from.is_little()) })
    }

    /// Returns the supported locators, in order.
    pub fn iter(&self) -> impl Iterator<Item = Locator> + use<'a> {
        let mut rest = self.rest;
        core::iter::from_fn(move || Locator::parse(&mut rest).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn emitted(address: &str) -> Vec<u8> {
        let mut out = vec![];
        Locator(address.parse().unwrap()).emit(&mut out);
        out
    }

    #[test]
    fn ipv4_locator_uses_last_four_bytes() {
        let out = emitted("127.0.0.2:7410");
        assert_eq!(out, [1, 0, 0, 0, 0xf2, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 2]);
        for address in ["127.0.0.2:7410", "[fe80::1]:7411"] {
            let out = emitted(address);
            let read = Locator::parse(&mut Cursor::new(&out, true)).unwrap().unwrap();
            assert_eq!((read, out.len()), (Locator(address.parse().unwrap()), Locator::LEN));
        }
    }

    #[test]
    fn unsupported_and_unreachable_locators_are_skipped() {
        let mut shared_memory = emitted("127.0.0.1:7410");
        shared_memory[0] = 16;
        let mut port_too_high = emitted("127.0.0.1:7410");
        port_too_high[6] = 1;
        for bytes in [shared_memory, port_too_high, emitted("127.0.0.1:0"), emitted("0.0.0.0:7410")] {
            assert_eq!(Locator::parse(&mut Cursor::new(&bytes, true)), Ok(None));
        }
    }

    #[test]
    fn locator_list_is_validated_before_iteration() {
        let mut list = vec![2, 0, 0, 0];
        list.extend(emitted("127.0.0.1:0"));
        list.extend(emitted("127.0.0.1:7410"));
        let locators = Locators::parse(&mut Cursor::new(&list, true)).unwrap();
        assert!(locators.iter().eq([Locator("127.0.0.1:7410".parse().unwrap())]));
        list[3] = 0x80;
        assert!(Locators::parse(&mut Cursor::new(&list, true)).is_err());
    }
}
