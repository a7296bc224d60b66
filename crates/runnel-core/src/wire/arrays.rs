//! Wire forms of arrays: of fixed size without a count, of variable size after one. In [`Encoding::Xcdr2`] both are led
//! by their length in bytes, unless they are of primitives.

use super::cdr::CdrSink;
use super::encoding::XCDR2_ALIGNMENT;
use super::{ByteCount, DecodeError, EncodeError, Encoding, NoMemory, Reader, Seq, Sink, Wire};
use alloc::vec::Vec;

impl<T: Wire + Default> Wire for Vec<T> {
    const MIN_LEN: usize = 4;
    const ZERO: Self = Self::new();
    const IS_CHECKED: bool = T::IS_CHECKED;
    type View<'a> = T::Slice<'a>;
    type Slice<'a> = Seq<'a, Vec<T>>;

    fn write<S: Sink + ?Sized>(&self, out: &mut S) {
        if has_length_prefix(T::IS_PRIMITIVE, out) {
            length_of(out, |count| write_counted(self, count)).write(out);
        }
        write_counted(self, out);
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
        let end = from.enter(T::IS_PRIMITIVE)?;
        let count = from.count(T::MIN_LEN)?;
        resize(self, count)?;
        T::read_all(self, from)?;
        from.leave(end)
    }

    fn read_view<'a>(from: &mut Reader<'a>) -> Result<T::Slice<'a>, DecodeError> {
        let end = from.enter(T::IS_PRIMITIVE)?;
        let count = from.count(T::MIN_LEN)?;
        let view = T::read_slice(from, count)?;
        from.leave(end)?;
        Ok(view)
    }

    fn check(&self) -> Result<(), EncodeError> {
        check_all(self)
    }

    fn view(&self) -> T::Slice<'_> {
        T::slice(self)
    }

    fn try_clone(&self) -> Result<Self, NoMemory> {
        T::try_clone_all(self)
    }

    fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError> {
        Seq::read(from, count)
    }

    fn slice(values: &[Self]) -> Self::Slice<'_> {
        Seq::from_values(values)
    }
}

/// Resizes a vector whose elements are read afterwards.
///
/// # Errors
/// If memory is exhausted.
pub(crate) fn resize<T: Default>(vector: &mut Vec<T>, count: usize) -> Result<(), DecodeError> {
    let more = count.saturating_sub(vector.len());
    let refused = NoMemory { bytes: count.saturating_mul(size_of::<T>()) };
    vector.try_reserve(more).map_err(|_| refused)?;
    vector.resize_with(count, T::default);
    Ok(())
}

impl<T: Wire, const N: usize> Wire for [T; N] {
    const MIN_LEN: usize = N * T::MIN_LEN;
    const FIXED_LEN: Option<usize> = match T::FIXED_LEN {
        Some(len) => len.checked_mul(N),
        None => None,
    };
    const ZERO: Self = [T::ZERO; N];
    const IS_CHECKED: bool = T::IS_CHECKED;
    type View<'a> = T::Slice<'a>;
    type Slice<'a> = Seq<'a, [T; N]>;

    fn write<S: Sink + ?Sized>(&self, out: &mut S) {
        write_array(self, out);
    }

    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
        let end = from.enter(T::IS_PRIMITIVE)?;
        T::read_all(self, from)?;
        from.leave(end)
    }

    fn read_view<'a>(from: &mut Reader<'a>) -> Result<T::Slice<'a>, DecodeError> {
        let end = from.enter(T::IS_PRIMITIVE)?;
        let view = T::read_slice(from, N)?;
        from.leave(end)?;
        Ok(view)
    }

    fn check(&self) -> Result<(), EncodeError> {
        check_all(self)
    }

    fn view(&self) -> T::Slice<'_> {
        T::slice(self)
    }

    fn try_clone(&self) -> Result<Self, NoMemory> {
        let mut copy = Self::ZERO;
        for (place, value) in copy.iter_mut().zip(self) {
            *place = value.try_clone()?;
        }
        Ok(copy)
    }

    fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError> {
        Seq::read(from, count)
    }

    fn slice(values: &[Self]) -> Self::Slice<'_> {
        Seq::from_values(values)
    }
}

/// Sink that counts the bytes of a part for [`Encoding::Xcdr2`]. A part begins aligned.
pub(crate) type Count<'a> = CdrSink<'a, ByteCount, XCDR2_ALIGNMENT>;

#[inline]
pub(crate) fn has_length_prefix<S: Sink + ?Sized>(primitives: bool, out: &S) -> bool {
    out.encoding() == Encoding::Xcdr2 && !primitives
}

/// The number of bytes that `write` writes. Returns 0 while the sink only counts, so that nested parts are not counted
/// repeatedly.
pub(crate) fn length_of<S: Sink + ?Sized>(out: &S, write: impl FnOnce(&mut Count<'_>)) -> u32 {
    let mut bytes = ByteCount::default();
    if out.keeps_bytes() {
        write(&mut CdrSink::new(&mut bytes));
    }
    bytes.len() as u32
}

/// Appends an array without its count, which is that of its type.
#[inline]
pub(crate) fn write_array<T: Wire, S: Sink + ?Sized>(values: &[T], out: &mut S) {
    if has_length_prefix(T::IS_PRIMITIVE, out) {
        length_of(out, |count| T::write_all(values, count)).write(out);
    }
    T::write_all(values, out);
}

#[inline]
fn write_counted<T: Wire, S: Sink + ?Sized>(values: &[T], out: &mut S) {
    (values.len() as u32).write(out);
    T::write_all(values, out);
}

fn check_all<T: Wire>(values: &[T]) -> Result<(), EncodeError> {
    if T::IS_CHECKED { values.iter().try_for_each(T::check) } else { Ok(()) }
}
