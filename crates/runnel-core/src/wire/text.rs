//! Wire form of text: a 32-bit count of bytes, then UTF-8. In ROS 2 the count includes a terminating zero byte.
//!
//! ROS 1 accepts any bytes as text, so peers may send text that is not UTF-8: a Latin-1 name, a driver's raw response. An
//! owned text then gets replacement characters; a view of it is refused.

use super::memory::try_clone_text;
use super::{Bytes, DecodeError, DecodeErrorKind, NoMemory, Reader, Seq, Sink, Text, Wire};
use alloc::string::String;
use core::str::Utf8Chunk;

impl Wire for String {
    const MIN_LEN: usize = 4;
    const ZERO: Self = Self::new();
    type View<'a> = Text<'a>;
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
        let mut copy = core::mem::take(self).into_bytes();
        copy.clear();
        bytes.append_to(&mut copy)?;
        // The copy is checked: another process may write the original memory.
        match Self::from_utf8(copy) {
            Ok(text) => *self = text,
            Err(not_utf8) => push_lossy(self, not_utf8.as_bytes())?,
        }
        Ok(())
    }

    /// Unlike [`Wire::read_into`] this fails on text that is not UTF-8.
    fn read_view<'a>(from: &mut Reader<'a>) -> Result<Text<'a>, DecodeError> {
        Ok(Text::read(bytes(from)?)?)
    }

    fn view(&self) -> Text<'_> {
        self.as_str().into()
    }

    fn try_clone(&self) -> Result<Self, NoMemory> {
        try_clone_text(self)
    }

    fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError> {
        Seq::read(from, count)
    }

    fn slice(values: &[Self]) -> Self::Slice<'_> {
        Seq::from_values(values)
    }
}

fn reserve(text: &mut String, bytes: usize) -> Result<(), DecodeErrorKind> {
    text.try_reserve(bytes).map_err(|_| DecodeErrorKind::NoMemory { bytes })
}

/// Appends bytes, with replacement characters of three bytes for invalid UTF-8.
fn push_lossy(text: &mut String, bytes: &[u8]) -> Result<(), DecodeErrorKind> {
    let replacement = |chunk: &Utf8Chunk<'_>| if chunk.invalid().is_empty() { "" } else { "\u{fffd}" };
    reserve(text, bytes.utf8_chunks().map(|chunk| chunk.valid().len() + replacement(&chunk).len()).sum())?;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.push_str(replacement(&chunk));
    }
    Ok(())
}

/// The bytes of a text. In ROS 2 some peers leave out the zero byte that ends it.
fn bytes<'a>(from: &mut Reader<'a>) -> Result<Bytes<'a>, DecodeError> {
    let count = from.count(1)?;
    let bytes = from.take(count)?;
    if from.encoding().is_ros1() {
        return Ok(bytes);
    }
    let ended = count.checked_sub(1).and_then(|len| bytes.split_at(len));
    Ok(ended.filter(|(_, end)| end.get(0) == Some(0)).map_or(bytes, |(text, _)| text))
}
