//! Encodings of values.

/// Encoding of values as bytes.
///
/// Each encoding belongs to one generation and contains that generation's fields: the ROS 1 encoding has, for example, the
/// `seq` of a `std_msgs/Header`, the others do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// ROS 1's: little-endian and packed.
    #[default]
    Ros1 = NO_ALIGNMENT,
    /// ROS 2's usual one, `PLAIN_CDR`: little-endian, numbers at multiples of their size. Source: OMG DDS-XTypes 1.3,
    /// 7.4.1.
    Xcdr1 = XCDR1_ALIGNMENT,
    /// `PLAIN_CDR2`: as [`Encoding::Xcdr1`], but with a maximum alignment of 4, and with the length in bytes before arrays of
    /// non-primitive elements. Source: OMG DDS-XTypes 1.3, 7.4.3.
    Xcdr2 = XCDR2_ALIGNMENT,
}

/// The low bits of a position that must be zero for the largest number, in each encoding.
pub(crate) const NO_ALIGNMENT: u8 = 0;
pub(crate) const XCDR1_ALIGNMENT: u8 = 7;
pub(crate) const XCDR2_ALIGNMENT: u8 = 3;

impl Encoding {
    /// All encodings.
    pub const ALL: [Self; 3] = [Self::Ros1, Self::Xcdr1, Self::Xcdr2];

    /// True for the ROS 1 encoding; the others are ROS 2 encodings.
    #[inline]
    pub const fn is_ros1(self) -> bool {
        matches!(self, Self::Ros1)
    }

    /// Padding bytes at `position` before a value that is aligned to `to`, a power of two.
    #[inline]
    pub const fn padding(self, position: usize, to: usize) -> usize {
        position.wrapping_neg() & to.wrapping_sub(1) & (self as usize)
    }

    /// The encoding whose numbers are aligned so.
    #[inline]
    pub(crate) const fn aligned_by(mask: u8) -> Self {
        match mask {
            XCDR1_ALIGNMENT => Self::Xcdr1,
            XCDR2_ALIGNMENT => Self::Xcdr2,
            _ => Self::Ros1,
        }
    }
}
