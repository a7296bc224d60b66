//! INFO_REPLY: addresses for answers to the next submessages.

use super::locator::Locators;
use super::submessage::{emit, id};
use super::{Cursor, Locator, WireError};
use alloc::vec::Vec;
use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

const MULTICAST: u8 = 2;

/// Requests answers to other addresses. We parse it but answer at the announced address of the participant, so that no
/// peer can direct our datagrams to a third party.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |  INFO_REPLY   |. . . . . . M E|            length             |
/// |                  unicast: count and locators                  |
/// |              multicast, if M: count and locators              |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.9 and 9.4.5.10; INFO_REPLY_IP4, which has one IPv4 address of each, 9.4.5.13.
#[derive(Clone, Debug)]
pub struct InfoReply<'a> {
    /// Unicast addresses.
    pub unicast: ReplyLocators<'a>,
    /// Multicast addresses.
    pub multicast: Option<ReplyLocators<'a>>,
}

/// Locators in one of the two formats.
#[derive(Clone, Copy, Debug)]
pub enum ReplyLocators<'a> {
    /// List of INFO_REPLY.
    List(Locators<'a>),
    /// Address of INFO_REPLY_IP4.
    Ip4(SocketAddrV4),
}

impl<'a> InfoReply<'a> {
    pub(super) fn parse(flags: u8, body: &mut Cursor<'a>) -> Result<Self, WireError> {
        Self::parse_with(flags, body, |body| Locators::parse(body).map(ReplyLocators::List))
    }

    pub(super) fn parse_ip4(flags: u8, body: &mut Cursor<'a>) -> Result<Self, WireError> {
        Self::parse_with(flags, body, |body| {
            let ip = Ipv4Addr::from(body.u32()?);
            let port = u16::try_from(body.u32()?);
            let port = port.map_err(|_| WireError::Invalid { what: "INFO_REPLY_IP4", field: "port" })?;
            Ok(ReplyLocators::Ip4(SocketAddrV4::new(ip, port)))
        })
    }

    fn parse_with(
        flags: u8,
        body: &mut Cursor<'a>,
        locators: impl Fn(&mut Cursor<'a>) -> Result<ReplyLocators<'a>, WireError>,
    ) -> Result<Self, WireError> {
        let unicast = locators(body)?;
        let multicast = if flags & MULTICAST != 0 { Some(locators(body)?) } else { None };
        Ok(Self { unicast, multicast })
    }

    /// Appends an INFO_REPLY with these unicast addresses.
    pub fn emit(unicast: &[Locator], out: &mut Vec<u8>) {
        emit(out, id::INFO_REPLY, 0, |out| {
            out.extend_from_slice(&(unicast.len() as u32).to_le_bytes());
            unicast.iter().for_each(|locator| locator.emit(out));
        });
    }
}

impl ReplyLocators<'_> {
    /// Returns the addresses.
    pub fn to_vec(self) -> Vec<SocketAddr> {
        match self {
            Self::List(locators) => locators.iter().map(|locator| locator.0).collect(),
            Self::Ip4(address) => Vec::from([address.into()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Submessage;
    use super::super::submessage::testing::{emitted, every_cut_is_survived, parse};
    use super::*;

    #[test]
    fn emitted_bytes_match_specification() {
        let to: SocketAddr = "127.0.0.1:7411".parse().unwrap();
        let bytes = [
            0x0f, 1, 28, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0xf3, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            127, 0, 0, 1,
        ];
        assert_eq!(emitted(|out| InfoReply::emit(&[Locator(to)], out)), bytes);
        let Ok(Submessage::InfoReply(parsed)) = parse(&bytes) else { panic!("refused") };
        assert_eq!((parsed.unicast.to_vec(), parsed.multicast.is_some()), (Vec::from([to]), false));
        every_cut_is_survived(&bytes);
    }

    #[test]
    fn ip4_form_is_parsed() {
        let bytes = [0x0d, 3, 16, 0, 1, 0, 0, 127, 0xf3, 0x1c, 0, 0, 1, 0, 255, 239, 0xe8, 0x1c, 0, 0];
        let Ok(Submessage::InfoReply(parsed)) = parse(&bytes) else { panic!("refused") };
        assert_eq!(parsed.unicast.to_vec(), ["127.0.0.1:7411".parse().unwrap()]);
        assert_eq!(parsed.multicast.unwrap().to_vec(), ["239.255.0.1:7400".parse().unwrap()]);
        every_cut_is_survived(&bytes);
    }
}
