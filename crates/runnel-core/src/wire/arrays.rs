//! Wire forms of arrays: of fixed size without a count, of variable size after one.

use super::{DecodeError, Reader, Seq, Sink, Wire};
use alloc::vec::Vec;

impl<T: Wire + Default> Wire for Vec<T> {
    const MIN_LEN: usize = 4;
    type View<'a> = T::Slice<'a>;
    type Slice<'a> = Seq<'a, Vec<T>>;

    fn write<S: Sink + ?Sized>(&self, out: &mut S) {
        (self.len() as u32).write(out);
        T::write_all(self, out);
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
        let count = from.count(T::MIN_LEN)?;
        self.resize_with(count, T::default);
        T::read_all(self, from)
    }

    fn read_view<'a>(from: &mut Reader<'a>) -> Result<T::Slice<'a>, DecodeError> {
        let count = from.count(T::MIN_LEN)?;
        T::read_slice(from, count)
    }

    fn view(&self) -> T::Slice<'_> {
        T::slice(self)
    }

    fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError> {
        Seq::read(from, count)
    }

    fn slice(values: &[Self]) -> Self::Slice<'_> {
        Seq::from_values(values)
    }
}

impl<T: Wire, const N: usize> Wire for [T; N] {
    const MIN_LEN: usize = N * T::MIN_LEN;
    type View<'a> = T::Slice<'a>;
    type Slice<'a> = Seq<'a, [T; N]>;

    fn write<S: Sink + ?Sized>(&self, out: &mut S) {
        T::write_all(self, out);
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
        T::read_all(self, from)
    }

    fn read_view<'a>(from: &mut Reader<'a>) -> Result<T::Slice<'a>, DecodeError> {
        T::read_slice(from, N)
    }

    fn view(&self) -> T::Slice<'_> {
        T::slice(self)
    }

    fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError> {
        Seq::read(from, count)
    }

    fn slice(values: &[Self]) -> Self::Slice<'_> {
        Seq::from_values(values)
    }
}
