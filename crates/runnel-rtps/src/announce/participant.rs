//! Announcements of participants (SPDP).

use super::fields::{addresses, duration, text, user_data};
use super::{AnnounceError, PL_CDR_LE, parameters};
use crate::wire::{EntityId, Guid, GuidPrefix, Locator, ParametersOut, RtpsDuration, VendorId, pid};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// Lease duration of a participant that announces none. Source: RTPS 2.5, table 9.14.
const DEFAULT_LEASE: Duration = Duration::from_secs(100);

/// Builtin endpoints of a participant. Source: RTPS 2.5, section 9.3.2.12.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuiltinEndpoints(pub u32);

impl BuiltinEndpoints {
    /// The builtin endpoints of our participants.
    pub const OURS: Self = Self(0xc3f);

    /// Returns whether a builtin endpoint is included.
    pub fn has(self, entity: EntityId) -> bool {
        let bit = match entity {
            EntityId::SPDP_WRITER => 0,
            EntityId::SPDP_READER => 1,
            EntityId::PUBLICATIONS_WRITER => 2,
            EntityId::PUBLICATIONS_READER => 3,
            EntityId::SUBSCRIPTIONS_WRITER => 4,
            EntityId::SUBSCRIPTIONS_READER => 5,
            EntityId::MESSAGE_WRITER => 10,
            EntityId::MESSAGE_READER => 11,
            _ => return false,
        };
        self.0 & (1 << bit) != 0
    }
}

/// Announced data of a participant. Source: RTPS 2.5, section 8.5.3.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantData {
    /// GUID prefix.
    pub prefix: GuidPrefix,
    /// The protocol version, major and minor.
    pub version: (u8, u8),
    /// Vendor of the implementation.
    pub vendor: VendorId,
    /// Domain id, if announced.
    pub domain: Option<u32>,
    /// Domain tag: only participants with the same tag match.
    pub domain_tag: String,
    /// Lease duration; `None` if infinite.
    pub lease: Option<Duration>,
    /// Builtin endpoints.
    pub builtin: BuiltinEndpoints,
    /// Unicast addresses of the builtin endpoints.
    pub metatraffic: Vec<SocketAddr>,
    /// Default unicast addresses of the user endpoints.
    pub unicast: Vec<SocketAddr>,
    /// Name, possibly empty.
    pub name: String,
    /// User data; in ROS 2 `enclave=/;`.
    pub user_data: Vec<u8>,
}

impl ParticipantData {
    /// Parses an announcement, encapsulation header first.
    ///
    /// # Errors
    /// It is no parameter list, lacks the GUID, or has an invalid field.
    pub fn parse(bytes: &[u8]) -> Result<Self, AnnounceError> {
        let list = parameters(bytes)?;
        let mut guid = list.find(pid::PARTICIPANT_GUID).ok_or(AnnounceError::Missing("participant GUID"))?;
        let find = |id| list.find(id);
        Ok(Self {
            prefix: Guid::from_bytes(guid.array()?).prefix,
            version: find(pid::PROTOCOL_VERSION).map_or(Ok([2, 1]), |mut value| value.array())?.into(),
            vendor: VendorId(find(pid::VENDOR_ID).map_or(Ok([0, 0]), |mut value| value.array())?),
            domain: find(pid::DOMAIN_ID).map(|mut value| value.u32()).transpose()?,
            domain_tag: find(pid::DOMAIN_TAG).map_or(Ok(String::new()), |value| text(value, "domain tag"))?,
            lease: find(pid::PARTICIPANT_LEASE_DURATION).map_or(Ok(Some(DEFAULT_LEASE)), duration)?,
            builtin: BuiltinEndpoints(
                find(pid::BUILTIN_ENDPOINT_SET).map_or(Ok(0), |mut value| value.u32())?,
            ),
            metatraffic: addresses(list, pid::METATRAFFIC_UNICAST_LOCATOR)?,
            unicast: addresses(list, pid::DEFAULT_UNICAST_LOCATOR)?,
            name: find(pid::ENTITY_NAME).map_or(Ok(String::new()), |value| text(value, "name"))?,
            user_data: find(pid::USER_DATA).map_or(Ok(Vec::new()), user_data)?,
        })
    }

    /// Appends the announcement, encapsulation header first.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&PL_CDR_LE);
        let mut list = ParametersOut::new(out);
        list.bytes(pid::PROTOCOL_VERSION, &[self.version.0, self.version.1, 0, 0]);
        list.bytes(pid::VENDOR_ID, &[self.vendor.0[0], self.vendor.0[1], 0, 0]);
        if let Some(domain) = self.domain {
            list.u32(pid::DOMAIN_ID, domain);
        }
        if !self.domain_tag.is_empty() {
            list.text(pid::DOMAIN_TAG, &self.domain_tag);
        }
        list.bytes(pid::PARTICIPANT_GUID, &self.prefix.with(EntityId::PARTICIPANT).to_bytes());
        for (id, addresses) in [
            (pid::METATRAFFIC_UNICAST_LOCATOR, &self.metatraffic),
            (pid::DEFAULT_UNICAST_LOCATOR, &self.unicast),
        ] {
            addresses.iter().for_each(|address| list.put(id, |out| Locator(*address).emit(out)));
        }
        list.put(pid::PARTICIPANT_LEASE_DURATION, |out| RtpsDuration::from(self.lease).emit(out));
        list.u32(pid::BUILTIN_ENDPOINT_SET, self.builtin.0);
        if !self.name.is_empty() {
            list.text(pid::ENTITY_NAME, &self.name);
        }
        if !self.user_data.is_empty() {
            list.octets(pid::USER_DATA, &self.user_data);
        }
        list.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn data() -> ParticipantData {
        ParticipantData {
            prefix: GuidPrefix([7; 12]),
            version: (2, 4),
            vendor: VendorId::RUNNEL,
            domain: Some(3),
            domain_tag: "tag".into(),
            lease: Some(Duration::from_millis(20_500)),
            builtin: BuiltinEndpoints::OURS,
            metatraffic: vec!["127.0.0.1:7410".parse().unwrap()],
            unicast: vec!["127.0.0.1:7411".parse().unwrap(), "[::1]:7411".parse().unwrap()],
            name: "node".into(),
            user_data: b"enclave=/;".to_vec(),
        }
    }

    fn emitted(data: &ParticipantData) -> Vec<u8> {
        let mut out = vec![];
        data.emit(&mut out);
        out
    }

    #[test]
    fn parsed_announcement_equals_emitted_one() {
        assert_eq!(ParticipantData::parse(&emitted(&data())), Ok(data()));
    }

    #[test]
    fn announcement_with_guid_only_has_defaults() {
        let mut bytes = PL_CDR_LE.to_vec();
        let mut list = ParametersOut::new(&mut bytes);
        list.bytes(pid::PARTICIPANT_GUID, &[9; 16]);
        list.bytes(0x8123, &[1, 2, 3, 4]);
        list.end();
        let read = ParticipantData::parse(&bytes).unwrap();
        assert_eq!((read.prefix, read.lease, read.domain), (GuidPrefix([9; 12]), Some(DEFAULT_LEASE), None));
        assert!(!read.builtin.has(EntityId::PUBLICATIONS_READER));
    }

    #[test]
    fn announcement_without_guid_is_refused() {
        let bytes = [&PL_CDR_LE[..], &[1, 0, 0, 0]].concat();
        assert_eq!(ParticipantData::parse(&bytes), Err(AnnounceError::Missing("participant GUID")));
        assert_eq!(ParticipantData::parse(&[0, 1, 0, 0]), Err(AnnounceError::Encapsulation));
    }

    #[test]
    fn texts_and_user_data_have_limits() {
        let long = ParticipantData { name: "x".repeat(super::super::MAX_NAME + 1), ..data() };
        assert_eq!(ParticipantData::parse(&emitted(&long)), Err(AnnounceError::Field("name")));
        let long = ParticipantData { user_data: vec![0; super::super::MAX_USER_DATA + 1], ..data() };
        assert_eq!(ParticipantData::parse(&emitted(&long)), Err(AnnounceError::Field("user data")));
        let many = ParticipantData { unicast: vec!["1.2.3.4:5".parse().unwrap(); 99], ..data() };
        let read = ParticipantData::parse(&emitted(&many)).unwrap();
        assert_eq!(read.unicast.len(), super::super::MAX_ADDRESSES);
    }

    #[test]
    fn announced_builtin_endpoints_exist() {
        let ours = BuiltinEndpoints::OURS;
        for entity in [
            EntityId::SPDP_WRITER,
            EntityId::SPDP_READER,
            EntityId::PUBLICATIONS_WRITER,
            EntityId::PUBLICATIONS_READER,
            EntityId::SUBSCRIPTIONS_WRITER,
            EntityId::SUBSCRIPTIONS_READER,
            EntityId::MESSAGE_WRITER,
            EntityId::MESSAGE_READER,
        ] {
            assert!(ours.has(entity), "{entity}");
        }
        assert_eq!(ours.0.count_ones(), 8);
    }

    proptest! {
        #[test]
        fn damaged_announcement_causes_no_panic(at in 0usize..200, byte in any::<u8>(), len in 0usize..250) {
            let mut bytes = emitted(&data());
            bytes.truncate(len);
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            let _ = ParticipantData::parse(&bytes);
        }
    }
}
