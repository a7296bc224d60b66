//! Identifiers of participants, endpoints and vendors.

use core::cmp::Ordering;
use core::fmt;

/// Vendor of an implementation. Source: RTPS 2.5, section 9.3.2.3, and OMG's list of vendors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VendorId(pub [u8; 2]);

impl VendorId {
    /// Unknown.
    pub const UNKNOWN: Self = Self([0, 0]);
    /// Runnel. It is not yet on the list; peers accept unknown vendors.
    pub const RUNNEL: Self = Self([0x01, 0x72]);
    /// eProsima Fast DDS.
    pub const FAST_DDS: Self = Self([0x01, 0x0f]);
    /// Eclipse Cyclone DDS.
    pub const CYCLONE_DDS: Self = Self([0x01, 0x10]);
    /// RustDDS.
    pub const RUST_DDS: Self = Self([0x01, 0x12]);
    /// Dust DDS.
    pub const DUST_DDS: Self = Self([0x01, 0x14]);
    /// embeddedRTPS, as mROS 2 uses it. The number is its own choice and on no list.
    pub const EMBEDDED_RTPS: Self = Self([13, 37]);

    /// Returns the vendor's name, if it is known.
    pub fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            [1, 1] => "RTI Connext",
            [1, 2] => "OpenSplice",
            [1, 3] => "OpenDDS",
            [1, 15] => "Fast DDS",
            [1, 16] => "Cyclone DDS",
            [1, 18] => "RustDDS",
            [1, 20] => "Dust DDS",
            [0x01, 0x72] => "Runnel",
            [13, 37] => "embeddedRTPS",
            _ => return None,
        })
    }
}

impl fmt::Display for VendorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [high, low] = self.0;
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "vendor {high}.{low}"),
        }
    }
}

/// GUID prefix: id of a participant, unique in the domain.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct GuidPrefix(pub [u8; 12]);

impl GuidPrefix {
    /// Unknown: no participant, or all.
    pub const UNKNOWN: Self = Self([0; 12]);

    /// Returns whether the prefix begins with this vendor's number. Source: RTPS 2.5, section 9.3.1.5.
    pub fn is_of(self, vendor: VendorId) -> bool {
        self.0.starts_with(&vendor.0)
    }

    /// Returns the range of the participant's possible endpoint GUIDs, in order.
    pub fn endpoints(self) -> core::ops::RangeInclusive<Guid> {
        self.with(EntityId([0; 4]))..=self.with(EntityId([0xff; 4]))
    }

    /// Returns the GUID of one of its endpoints.
    pub const fn with(self, entity: EntityId) -> Guid {
        Guid { prefix: self, entity }
    }
}

impl fmt::Display for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Id of an endpoint within its participant: three bytes that the participant chose, and one for the kind. Source: RTPS
/// 2.5, section 9.3.1.2.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct EntityId(pub [u8; 4]);

/// Kind of an [`EntityId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntityKind {
    /// A writer.
    Writer,
    /// A reader.
    Reader,
    /// A participant or another entity.
    Other,
}

impl EntityId {
    /// Unknown: no endpoint, or all.
    pub const UNKNOWN: Self = Self([0; 4]);
    /// The participant itself.
    pub const PARTICIPANT: Self = Self([0, 0, 1, 0xc1]);
    /// Writer of participant announcements (SPDP).
    pub const SPDP_WRITER: Self = Self([0, 1, 0, 0xc2]);
    /// Reader of participant announcements (SPDP).
    pub const SPDP_READER: Self = Self([0, 1, 0, 0xc7]);
    /// Writer of writer announcements (SEDP).
    pub const PUBLICATIONS_WRITER: Self = Self([0, 0, 3, 0xc2]);
    /// Reader of writer announcements (SEDP).
    pub const PUBLICATIONS_READER: Self = Self([0, 0, 3, 0xc7]);
    /// Writer of reader announcements (SEDP).
    pub const SUBSCRIPTIONS_WRITER: Self = Self([0, 0, 4, 0xc2]);
    /// Reader of reader announcements (SEDP).
    pub const SUBSCRIPTIONS_READER: Self = Self([0, 0, 4, 0xc7]);
    /// Writer of liveliness messages of the participant's writers.
    pub const MESSAGE_WRITER: Self = Self([0, 2, 0, 0xc2]);
    /// Reader of liveliness messages.
    pub const MESSAGE_READER: Self = Self([0, 2, 0, 0xc7]);
    /// Writer of vendor messages to one participant of our vendor. Its kind is one that the standard leaves to vendors
    /// (RTPS 2.5, section 9.3.1.2): other vendors receive none of its messages and would not misinterpret them.
    pub const VENDOR_MESSAGE_WRITER: Self = Self([0, 0, 1, 0x43]);
    /// Reader of vendor messages.
    pub const VENDOR_MESSAGE_READER: Self = Self([0, 0, 1, 0x44]);

    /// Creates the id of a user writer without keys.
    pub const fn user_writer(number: u32) -> Self {
        Self::user(number, 0x03)
    }

    /// Creates the id of a user reader without keys.
    pub const fn user_reader(number: u32) -> Self {
        Self::user(number, 0x04)
    }

    const fn user(number: u32, kind: u8) -> Self {
        let [_, a, b, c] = number.to_be_bytes();
        Self([a, b, c, kind])
    }

    /// Returns its bytes as a number.
    pub const fn number(self) -> u32 {
        u32::from_be_bytes(self.0)
    }

    /// Creates the entity id from the number of its bytes.
    pub const fn from_number(number: u32) -> Self {
        Self(number.to_be_bytes())
    }

    /// Returns the kind.
    pub const fn kind(self) -> EntityKind {
        match self.0[3] & 0x0f {
            0x02 | 0x03 => EntityKind::Writer,
            0x04 | 0x07 => EntityKind::Reader,
            _ => EntityKind::Other,
        }
    }

    /// Returns whether it is a builtin endpoint rather than one of the user.
    pub const fn is_builtin(self) -> bool {
        self.0[3] & 0xc0 == 0xc0
    }

    /// Returns whether its type has keys.
    pub const fn has_key(self) -> bool {
        matches!(self.0[3] & 0x0f, 0x02 | 0x07)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Id of an endpoint or participant, unique in the domain.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Guid {
    /// The participant.
    pub prefix: GuidPrefix,
    /// The entity within the participant.
    pub entity: EntityId,
}

impl Guid {
    /// Returns the 16 bytes of the wire format.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..12].copy_from_slice(&self.prefix.0);
        bytes[12..].copy_from_slice(&self.entity.0);
        bytes
    }

    /// Creates a GUID from its 16 bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
        Self { prefix: GuidPrefix([a, b, c, d, e, f, g, h, i, j, k, l]), entity: EntityId([m, n, o, p]) }
    }
}

/// Orders identifiers by their bytes with one comparison of numbers: each datagram causes several look-ups in the
/// tables of a participant.
macro_rules! ordered_by_number {
    ($($type:ty: $number:expr;)*) => {$(
        impl Ord for $type {
            #[inline]
            fn cmp(&self, other: &Self) -> Ordering {
                let number = $number;
                number(self).cmp(&number(other))
            }
        }

        impl PartialOrd for $type {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
    )*};
}

ordered_by_number! {
    GuidPrefix: |prefix: &Self| u128::from_be_bytes(prefix.with(EntityId::UNKNOWN).to_bytes());
    EntityId: |id: &Self| u32::from_be_bytes(id.0);
    Guid: |guid: &Self| u128::from_be_bytes(guid.to_bytes());
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}", self.prefix, self.entity)
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn entity_id_shows_its_kind() {
        assert_eq!(
            (EntityId::user_writer(1).0, EntityId::user_reader(0x0102_0304).0),
            ([0, 0, 1, 3], [2, 3, 4, 4])
        );
        assert_eq!(EntityId::user_writer(7).kind(), EntityKind::Writer);
        assert_eq!(EntityId::SPDP_READER.kind(), EntityKind::Reader);
        assert_eq!(EntityId::PARTICIPANT.kind(), EntityKind::Other);
        assert!(EntityId::SPDP_READER.is_builtin() && EntityId::SPDP_READER.has_key());
        assert!(!EntityId::user_reader(1).is_builtin() && !EntityId::user_reader(1).has_key());
    }

    #[test]
    fn guid_roundtrips_and_displays_as_hex() {
        let guid = GuidPrefix([1, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xab]).with(EntityId::SPDP_WRITER);
        assert_eq!(Guid::from_bytes(guid.to_bytes()), guid);
        assert_eq!(guid.to_string(), "01.0f.00.00.00.00.00.00.00.00.00.ab|000100c2");
    }

    #[test]
    fn identifiers_are_ordered_by_bytes() {
        let guids = [[0; 16], [1; 16], [0xff; 16], core::array::from_fn(|index| index as u8)];
        for (one, other) in guids.iter().flat_map(|one| guids.iter().map(move |other| (one, other))) {
            let (a, b) = (Guid::from_bytes(*one), Guid::from_bytes(*other));
            assert_eq!(a.cmp(&b), one.cmp(other));
            assert_eq!(a.prefix.cmp(&b.prefix), one[..12].cmp(&other[..12]));
            assert_eq!(a.entity.cmp(&b.entity), one[12..].cmp(&other[12..]));
        }
    }

    #[test]
    fn known_vendor_has_name() {
        assert_eq!(VendorId::FAST_DDS.to_string(), "Fast DDS");
        assert_eq!(VendorId([1, 99]).to_string(), "vendor 1.99");
    }
}
