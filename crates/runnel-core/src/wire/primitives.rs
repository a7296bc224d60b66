//! Wire forms of numbers, truth values and time.

use super::memory::try_copy_all;
use super::{Bytes, DecodeError, DecodeErrorKind, LeSlice, NoMemory, Reader, Seq, Sink, Wire};
use crate::time::{Duration, Time};
use alloc::vec::Vec;

/// Copies of values without heap memory.
macro_rules! copied {
    () => {
        #[inline]
        fn try_clone(&self) -> Result<Self, NoMemory> {
            Ok(*self)
        }
        fn try_clone_all(values: &[Self]) -> Result<Vec<Self>, NoMemory> {
            try_copy_all(values)
        }
    };
}

/// Numbers of more than one byte: little-endian, seen as [`LeSlice`] in arrays.
macro_rules! number {
    ($($type:ty),*) => {$(
        impl Wire for $type {
            const MIN_LEN: usize = size_of::<$type>();
            const FIXED_LEN: Option<usize> = Some(size_of::<$type>());
            const ZERO: Self = 0 as $type;
            const IS_PRIMITIVE: bool = true;
            type View<'a> = $type;
            type Slice<'a> = LeSlice<'a, $type>;

            #[inline]
            fn write<S: Sink + ?Sized>(&self, out: &mut S) {
                out.align(size_of::<$type>());
                out.put(&self.to_le_bytes());
            }
            #[inline]
            fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
                *self = Self::read_view(from)?;
                Ok(())
            }
            #[inline]
            fn read_view<'a>(from: &mut Reader<'a>) -> Result<$type, DecodeError> {
                from.align(size_of::<$type>())?;
                Ok(<$type>::from_le_bytes(from.array()?))
            }
            fn view(&self) -> $type {
                *self
            }
            copied!();
            #[inline]
            fn write_all<S: Sink + ?Sized>(values: &[Self], out: &mut S) {
                if !values.is_empty() {
                    out.align(size_of::<$type>());
                }
                out.put(bytemuck::cast_slice(values));
            }
            fn read_all(values: &mut [Self], from: &mut Reader<'_>) -> Result<(), DecodeError> {
                LeSlice::from_wire(elements(from, size_of::<$type>(), values.len())?).copy_to_slice(values);
                Ok(())
            }
            fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError> {
                Ok(LeSlice::from_wire(elements(from, size_of::<$type>(), count)?))
            }
            fn slice(values: &[Self]) -> Self::Slice<'_> {
                LeSlice::from_numbers(values)
            }
        }
    )*};
}
number!(i16, u16, i32, u32, i64, u64, f32, f64);

/// The bytes of `count` numbers of `size` bytes each. Nothing is aligned for no number.
fn elements<'a>(from: &mut Reader<'a>, size: usize, count: usize) -> Result<Bytes<'a>, DecodeError> {
    if count > 0 {
        from.align(size)?;
    }
    from.take(count.saturating_mul(size))
}

impl Wire for u8 {
    const MIN_LEN: usize = 1;
    const FIXED_LEN: Option<usize> = Some(1);
    const ZERO: Self = 0;
    const IS_PRIMITIVE: bool = true;
    type View<'a> = u8;
    type Slice<'a> = Bytes<'a>;

    #[inline]
    fn write<S: Sink + ?Sized>(&self, out: &mut S) {
        out.put(&[*self]);
    }
    #[inline]
    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
        [*self] = from.array()?;
        Ok(())
    }
    #[inline]
    fn read_view<'a>(from: &mut Reader<'a>) -> Result<u8, DecodeError> {
        let [byte] = from.array()?;
        Ok(byte)
    }
    fn view(&self) -> u8 {
        *self
    }
    copied!();
    #[inline]
    fn write_all<S: Sink + ?Sized>(values: &[Self], out: &mut S) {
        out.put(values);
    }
    fn read_all(values: &mut [Self], from: &mut Reader<'_>) -> Result<(), DecodeError> {
        from.take(values.len())?.copy_to_slice(values);
        Ok(())
    }
    fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Bytes<'a>, DecodeError> {
        from.take(count)
    }
    fn slice(values: &[Self]) -> Bytes<'_> {
        values.into()
    }
}

/// Values that are read one by one from the bytes of a `$wire`; one-byte values are written in one block. All bytes are
/// valid.
macro_rules! through {
    ($type:ty, zero: $zero:expr, align: $align:literal, $wire:ty, $to:expr, $from:expr $(, at once as $bytes:ty)?) => {
        impl Wire for $type {
            const MIN_LEN: usize = size_of::<$wire>();
            const FIXED_LEN: Option<usize> = Some(size_of::<$wire>());
            const ZERO: Self = $zero;
            const IS_PRIMITIVE: bool = $align == 1;
            type View<'a> = $type;
            type Slice<'a> = Seq<'a, $type>;

            #[inline]
            fn write<S: Sink + ?Sized>(&self, out: &mut S) {
                let to: fn(&$type) -> $wire = $to;
                out.align($align);
                out.put(&to(self).to_le_bytes());
            }
            #[inline]
            fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
                *self = Self::read_view(from)?;
                Ok(())
            }
            #[inline]
            fn read_view<'a>(from: &mut Reader<'a>) -> Result<$type, DecodeError> {
                let back: fn($wire) -> $type = $from;
                from.align($align)?;
                Ok(back(<$wire>::from_le_bytes(from.array()?)))
            }
            fn view(&self) -> $type {
                *self
            }
            copied!();
            fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError> {
                Seq::read(from, count)
            }
            fn slice(values: &[Self]) -> Self::Slice<'_> {
                Seq::from_values(values)
            }
            $(
                #[inline]
                fn write_all<S: Sink + ?Sized>(values: &[Self], out: &mut S) {
                    out.put(bytemuck::cast_slice::<Self, $bytes>(values));
                }
            )?
        }
    };
}
through!(i8, zero: 0, align: 1, u8, |value| *value as u8, |byte| byte as i8, at once as u8);

/// A byte that is 0 or 1. Other values are refused, as in the ROS 2 middlewares: the bytes are not a message of this type.
impl Wire for bool {
    const MIN_LEN: usize = 1;
    const FIXED_LEN: Option<usize> = Some(1);
    const ZERO: Self = false;
    const IS_PRIMITIVE: bool = true;
    type View<'a> = bool;
    type Slice<'a> = Seq<'a, bool>;

    #[inline]
    fn write<S: Sink + ?Sized>(&self, out: &mut S) {
        out.put(&[u8::from(*self)]);
    }
    #[inline]
    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError> {
        *self = Self::read_view(from)?;
        Ok(())
    }
    #[inline]
    fn read_view<'a>(from: &mut Reader<'a>) -> Result<bool, DecodeError> {
        match from.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [byte] => Err(DecodeErrorKind::NotABool { byte }.into()),
        }
    }
    fn view(&self) -> bool {
        *self
    }
    copied!();
    #[inline]
    fn write_all<S: Sink + ?Sized>(values: &[Self], out: &mut S) {
        out.put(bytemuck::cast_slice::<Self, u8>(values));
    }
    fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError> {
        Seq::read(from, count)
    }
    fn slice(values: &[Self]) -> Self::Slice<'_> {
        Seq::from_values(values)
    }
}

/// Two numbers of 32 bits, the first of them signed: in ROS 2 each is aligned to 4.
macro_rules! seconds {
    ($($type:ident),*) => {$(
        through!(
            $type,
            zero: $type { sec: 0, nanosec: 0 },
            align: 4,
            u64,
            |time| u64::from(time.sec as u32) | u64::from(time.nanosec) << 32,
            |bits| $type { sec: bits as u32 as i32, nanosec: (bits >> 32) as u32 }
        );
    )*};
}
seconds!(Time, Duration);
