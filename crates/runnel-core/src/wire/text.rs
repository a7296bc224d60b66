//! Wire form of text: a 32-bit count of bytes, then UTF-8. In ROS 2 a zero byte ends it, which is counted.
//!
//! ROS 1 takes any bytes for text, so peers may send what is not UTF-8: a Latin-1 name, a driver's raw answer. An owned
//! text then has replacement characters; a borrowed one, which is a `&str`, cannot be had.

use super::{DecodeError, DecodeErrorKind, Reader, Seq, Sink, Wire};
use alloc::string::String;

impl Wire for String {
    const MIN_LEN: usize = 4;
    const ZERO: Self = Self::new();
    type View<'a> = &'a str;
    type Slice<'a> = Seq<'a, String>;

    fn write<S: Sink + ?Sized>(&self, out: &mut S) {
        if out.encoding().is_ros1() {
            (self.len() as u32).write(out);
            out.put(self.as_bytes());
        } else {
            (self.len() as u32).wrapping_add(1).write(out);
            out.put(self.as_bytes());
            out.put(&[0]);
        }
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
        let bytes = bytes(from)?;
        self.clear();
        let refused = |_| DecodeErrorKind::NoMemory { bytes: bytes.len() };
        self.try_reserve(bytes.len()).map_err(refused)?;
        match core::str::from_utf8(bytes) {
            Ok(text) => self.push_str(text),
            Err(_) => self.push_str(&Self::from_utf8_lossy(bytes)),
        }
        Ok(())
    }

    /// Unlike [`Wire::read_into`] this fails on text that is not UTF-8.
    fn read_view<'a>(from: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
        core::str::from_utf8(bytes(from)?).map_err(|_| DecodeErrorKind::NotUtf8.into())
    }

    fn view(&self) -> &str {
        self
    }

    fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError> {
        Seq::read(from, count)
    }

    fn slice(values: &[Self]) -> Self::Slice<'_> {
        Seq::from_values(values)
    }
}

/// The bytes of a text. In ROS 2 some peers leave out the zero byte that ends it.
fn bytes<'a>(from: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let count = from.count(1)?;
    let bytes = from.take(count)?;
    Ok(match bytes {
        [text @ .., 0] if !from.encoding().is_ros1() => text,
        _ => bytes,
    })
}
