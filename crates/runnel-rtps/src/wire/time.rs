//! Timestamps and durations: seconds and 2^-32 fractions of a second.

use super::{Cursor, WireError};
use alloc::vec::Vec;
use core::time::Duration;
use runnel_core::time::Time;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Timestamp. Source: RTPS 2.5, section 9.3.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970.
    pub seconds: u32,
    /// Fraction in 2^-32 seconds.
    pub fraction: u32,
}

impl Timestamp {
    /// Invalid timestamp.
    pub const INVALID: Self = Self { seconds: u32::MAX, fraction: u32::MAX };

    /// Converts to seconds and nanoseconds.
    pub fn to_time(self) -> Time {
        Time { sec: self.seconds.cast_signed(), nanosec: nanos_of(self.fraction) }
    }

    /// Parses a timestamp.
    ///
    /// # Errors
    /// The bytes are truncated.
    pub fn parse(from: &mut Cursor<'_>) -> Result<Self, WireError> {
        Ok(Self { seconds: from.u32()?, fraction: from.u32()? })
    }

    /// Appends the timestamp.
    pub fn emit(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.seconds.to_le_bytes());
        out.extend_from_slice(&self.fraction.to_le_bytes());
    }
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self { seconds: time.sec.cast_unsigned(), fraction: fraction_of(time.nanosec) }
    }
}

/// Duration, possibly infinite. Source: RTPS 2.5, section 9.3.2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RtpsDuration {
    /// Whole seconds; negative ones count as 0.
    pub seconds: i32,
    /// Fraction in 2^-32 seconds.
    pub fraction: u32,
}

impl RtpsDuration {
    /// Infinite duration.
    pub const INFINITE: Self = Self { seconds: i32::MAX, fraction: u32::MAX };
    /// Zero duration.
    pub const ZERO: Self = Self { seconds: 0, fraction: 0 };

    /// Converts to nanoseconds; `None` if infinite. Some peers send an infinite duration with a fraction of 0.
    pub fn finite(self) -> Option<Duration> {
        match self.seconds {
            i32::MAX => None,
            seconds => Some(Duration::new(seconds.max(0).unsigned_abs().into(), nanos_of(self.fraction))),
        }
    }

    /// Parses a duration.
    ///
    /// # Errors
    /// The bytes are truncated.
    pub fn parse(from: &mut Cursor<'_>) -> Result<Self, WireError> {
        Ok(Self { seconds: from.i32()?, fraction: from.u32()? })
    }

    /// Appends the duration.
    pub fn emit(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.seconds.to_le_bytes());
        out.extend_from_slice(&self.fraction.to_le_bytes());
    }
}

impl From<Option<Duration>> for RtpsDuration {
    fn from(duration: Option<Duration>) -> Self {
        let Some(duration) = duration else { return Self::INFINITE };
        match i32::try_from(duration.as_secs()) {
            Ok(i32::MAX) | Err(_) => Self::INFINITE,
            Ok(seconds) => Self { seconds, fraction: fraction_of(duration.subsec_nanos()) },
        }
    }
}

/// Converts nanoseconds, rounded up so that the inverse gives the same value; saturates at the last fraction.
fn fraction_of(nanos: u32) -> u32 {
    let parts = (u64::from(nanos) << 32).div_ceil(NANOS_PER_SECOND);
    u32::try_from(parts).unwrap_or(u32::MAX)
}

fn nanos_of(fraction: u32) -> u32 {
    ((u64::from(fraction) * NANOS_PER_SECOND) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn nanoseconds_roundtrip() {
        for nanosec in [0, 1, 2, 499_999_999, 500_000_000, 999_999_999] {
            let time = Time { sec: 1_700_000_000, nanosec };
            assert_eq!(Timestamp::from(time).to_time(), time);
            let length = Duration::new(3, nanosec);
            assert_eq!(RtpsDuration::from(Some(length)).finite(), Some(length));
        }
        assert_eq!(fraction_of(500_000_000), 1 << 31);
        assert_eq!(fraction_of(u32::MAX), u32::MAX);
    }

    #[test]
    fn infinite_duration_roundtrips() {
        assert_eq!(RtpsDuration::from(None), RtpsDuration::INFINITE);
        assert_eq!(RtpsDuration::from(Some(Duration::MAX)), RtpsDuration::INFINITE);
        assert_eq!(RtpsDuration { seconds: i32::MAX, fraction: 0 }.finite(), None);
        assert_eq!(RtpsDuration { seconds: -5, fraction: 0 }.finite(), Some(Duration::ZERO));
    }

    #[test]
    fn seconds_precede_fraction() {
        let mut out = vec![];
        Timestamp { seconds: 1, fraction: 2 }.emit(&mut out);
        RtpsDuration { seconds: -1, fraction: 3 }.emit(&mut out);
        assert_eq!(out, [1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255, 3, 0, 0, 0]);
        let mut cursor = Cursor::new(&out, true);
        assert_eq!(Timestamp::parse(&mut cursor), Ok(Timestamp { seconds: 1, fraction: 2 }));
        assert_eq!(RtpsDuration::parse(&mut cursor), Ok(RtpsDuration { seconds: -1, fraction: 3 }));
    }
}
