//! ROS 2 message payloads: a header of 4 bytes, which names the encoding, then the message.
//!
//! ```text
//! 0              8              16             24           30   32
//! +--------------+--------------+--------------+------------+----+
//! |  representation identifier  |           options         | pad|
//! +--------------+--------------+--------------+------------+----+
//! |  the message, from whose first byte alignment is counted     |
//! ```
//! The identifier is big-endian. The two lowest bits of the header's last byte are the number of padding bytes at the end of
//! the payload. Runnel writes them, and the padding, only in [`Encoding::Xcdr2`], as ROS 2's own programs do.
//!
//! The reader accepts the little-endian encodings of `@final` types, as all ROS 2 types are: `CDR_LE` (0x0001) and
//! `PLAIN_CDR2_LE` (0x0007), and `DELIMITED_CDR2_LE` (0x0009) of a message whose parts are `@final`.
//!
//! Source: OMG DDS-XTypes 1.3, 7.4 and 7.6.3.1.2; OMG DDSI-RTPS 2.5, 10.2.

use super::encoding::{XCDR1_ALIGNMENT, XCDR2_ALIGNMENT};
use super::{ByteCount, Bytes, DecodeError, DecodeErrorKind, EncodeError, Encoding, Reader, Sink, Wire};
use alloc::vec::Vec;

/// Bytes before the message.
pub const HEADER_LEN: usize = 4;

const CDR_LE: u16 = 0x0001;
const PLAIN_CDR2_LE: u16 = 0x0007;
const DELIMITED_CDR2_LE: u16 = 0x0009;

/// CDR writer: counts the written bytes, and aligns by the count.
#[derive(Debug)]
pub(crate) struct CdrSink<'a, S: ?Sized, const ALIGNMENT: u8> {
    out: &'a mut S,
    position: usize,
}

impl<'a, S: Sink + ?Sized, const ALIGNMENT: u8> CdrSink<'a, S, ALIGNMENT> {
    /// A writer to `out`, at the value's first byte.
    pub(crate) fn new(out: &'a mut S) -> Self {
        Self { out, position: 0 }
    }
}

impl<S: Sink + ?Sized, const ALIGNMENT: u8> Sink for CdrSink<'_, S, ALIGNMENT> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.position = self.position.wrapping_add(bytes.len());
        self.out.put(bytes);
    }

    #[inline]
    fn encoding(&self) -> Encoding {
        Encoding::aligned_by(ALIGNMENT)
    }

    #[inline]
    fn align(&mut self, to: usize) {
        let padding = self.encoding().padding(self.position, to);
        if padding > 0 {
            self.put(zeros(padding));
        }
    }

    #[inline]
    fn keeps_bytes(&self) -> bool {
        self.out.keeps_bytes()
    }
}

/// Zeros for alignment, at most seven.
#[inline]
pub(crate) fn zeros(count: usize) -> &'static [u8] {
    const ZEROS: &[u8] = &[0; XCDR1_ALIGNMENT as usize];
    ZEROS.get(..count).unwrap_or_default()
}

/// The header of a message of this length, and the padding after the message. ROS 1 has neither.
pub(crate) fn around(encoding: Encoding, len: usize) -> (&'static [u8], &'static [u8]) {
    match encoding {
        Encoding::Ros1 => (&[], &[]),
        Encoding::Xcdr1 => (&[0, 1, 0, 0], &[]),
        Encoding::Xcdr2 => match len % 4 {
            0 => (&[0, 7, 0, 0], &[]),
            1 => (&[0, 7, 0, 3], &[0; 3]),
            2 => (&[0, 7, 0, 2], &[0; 2]),
            _ => (&[0, 7, 0, 1], &[0; 1]),
        },
    }
}

/// Writes a value without a header.
fn write<T: Wire, S: Sink + ?Sized>(value: &T, encoding: Encoding, out: &mut S) {
    match encoding {
        Encoding::Ros1 => value.write(out),
        Encoding::Xcdr1 => value.write(&mut CdrSink::<_, XCDR1_ALIGNMENT>::new(out)),
        Encoding::Xcdr2 => value.write(&mut CdrSink::<_, XCDR2_ALIGNMENT>::new(out)),
    }
}

/// Bytes of a value without a header.
fn bare_len<T: Wire>(value: &T, encoding: Encoding) -> usize {
    let mut count = ByteCount::default();
    write(value, encoding, &mut count);
    count.len()
}

/// Appends the complete payload, header and message; in [`Encoding::Ros1`] only the message.
///
/// # Errors
/// If a field exceeds its bound in ROS 2, or cannot be encoded there. Then nothing is written.
pub fn encode_into<T: Wire>(
    value: &T,
    encoding: Encoding,
    out: &mut (impl Sink + ?Sized),
) -> Result<(), EncodeError> {
    if !encoding.is_ros1() {
        value.check()?;
    }
    // Only here must the length be known before the message is written.
    let len = if encoding == Encoding::Xcdr2 { bare_len(value, encoding) } else { 0 };
    let (before, after) = around(encoding, len);
    out.put(before);
    write(value, encoding, out);
    out.put(after);
    Ok(())
}

/// As [`encode_into`], for a message that `write` writes, such as a dynamic one. `write` may be called twice.
pub fn write_payload(encoding: Encoding, out: &mut dyn Sink, write: &dyn Fn(&mut dyn Sink)) {
    let write = |out: &mut dyn Sink| match encoding {
        Encoding::Ros1 => write(out),
        Encoding::Xcdr1 => write(&mut CdrSink::<_, XCDR1_ALIGNMENT>::new(out)),
        Encoding::Xcdr2 => write(&mut CdrSink::<_, XCDR2_ALIGNMENT>::new(out)),
    };
    let mut count = ByteCount::default();
    if encoding == Encoding::Xcdr2 {
        write(&mut count);
    }
    let (before, after) = around(encoding, count.len());
    out.put(before);
    write(out);
    out.put(after);
}

/// The complete payload in a new vector.
///
/// # Errors
/// As [`encode_into`].
pub fn encode<T: Wire>(value: &T, encoding: Encoding) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    encode_into(value, encoding, &mut out)?;
    Ok(out)
}

/// Number of bytes that [`encode_into`] writes.
pub fn encoded_len<T: Wire>(value: &T, encoding: Encoding) -> usize {
    let len = bare_len(value, encoding);
    let (before, after) = around(encoding, len);
    before.len() + len + after.len()
}

/// Parses the header of a payload; returns a reader of the message after it.
///
/// # Errors
/// If the header is missing, or its encoding is not supported, such as a big-endian one.
pub fn reader<'a>(payload: impl Into<Bytes<'a>>) -> Result<Reader<'a>, DecodeError> {
    let payload = payload.into();
    let Some(([high, low, _, options], bytes)) = payload.split_array::<HEADER_LEN>() else {
        return Err(DecodeErrorKind::Truncated { needed: HEADER_LEN, remaining: payload.len() }.into());
    };
    let identifier = u16::from_be_bytes([high, low]);
    let encoding = match identifier {
        CDR_LE => Encoding::Xcdr1,
        PLAIN_CDR2_LE | DELIMITED_CDR2_LE => Encoding::Xcdr2,
        _ => return Err(DecodeErrorKind::UnknownEncapsulation { identifier }.into()),
    };
    let mut reader = Reader::of(encoding, bytes);
    let padding = usize::from(options & 3);
    reader.shorten(bytes.len().checked_sub(padding).ok_or(DecodeErrorKind::WrongLength)?)?;
    if identifier == DELIMITED_CDR2_LE {
        let len = reader.length()?;
        reader.shorten(len)?;
    }
    Ok(reader)
}

/// Decodes a complete payload, with its header.
///
/// # Errors
/// As [`reader`] and [`Wire::read_into`]. Remaining bytes are not an error: see [`Reader::finish`].
pub fn decode<'a, T: Wire + Default>(payload: impl Into<Bytes<'a>>) -> Result<T, DecodeError> {
    let mut value = T::default();
    decode_into(&mut value, payload)?;
    Ok(value)
}

/// Decodes a complete payload, with its header, into an existing value, and reuses its buffers.
///
/// # Errors
/// As [`decode`].
pub fn decode_into<'a, T: Wire>(value: &mut T, payload: impl Into<Bytes<'a>>) -> Result<(), DecodeError> {
    let mut reader = reader(payload)?;
    value.read_into(&mut reader)?;
    reader.finish()
}

/// Decodes a complete payload, with its header, as a view.
///
/// # Errors
/// As [`decode`], and if a text is not UTF-8.
pub fn decode_view<'a, T: Wire>(payload: impl Into<Bytes<'a>>) -> Result<T::View<'a>, DecodeError> {
    let mut reader = reader(payload)?;
    let view = T::read_view(&mut reader)?;
    reader.finish()?;
    Ok(view)
}

#[cfg(test)]
#[expect(dead_code, reason = "some fields of views are unused")]
mod tests;
