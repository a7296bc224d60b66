//! Wire form of text: a 32-bit count of bytes, then UTF-8 without a terminator.

use super::{DecodeError, DecodeErrorKind, Reader, Seq, Wire};
use alloc::string::String;
use alloc::vec::Vec;

impl Wire for String {
    const MIN_LEN: usize = 4;
    type View<'a> = &'a str;
    type Slice<'a> = Seq<'a, String>;

    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u32).write(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
        let text = Self::read_view(from)?;
        self.clear();
        self.push_str(text);
        Ok(())
    }

    fn read_view<'a>(from: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
        let count = from.count(1)?;
        core::str::from_utf8(from.take(count)?).map_err(|_| DecodeErrorKind::NotUtf8.into())
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
