//! Serialization: little-endian, every sequence and string led by a 32-bit count; packed in ROS 1, aligned in ROS 2
//! ([`Encoding`]).
//!
//! [`Wire`] is implemented by all types of message fields and, in generated code, by messages. A value is read into an owned
//! value whose buffers are reused ([`Wire::read_into`]), or as a [view](Wire::View) that borrows text and arrays from the
//! received bytes ([`Bytes`]). A count allocates memory only after the remaining bytes have been checked.
//!
//! Nothing here panics on any bytes: reading checks them once, and accessors do not fail.
//!
//! The functions of this module use the ROS 1 encoding; those of [`cdr`] use the ROS 2 encodings.
//!
//! Source: the ROS 1 message wire format of rospy and roscpp, and the sources of [`cdr`].

mod arrays;
mod bytes;
pub mod cdr;
mod encoding;
mod error;
mod memory;
mod number_iter;
mod primitives;
mod reader;
mod seq;
mod sink;
mod text;
mod text_view;

#[cfg(feature = "dynamic")]
pub(crate) use arrays::{has_length_prefix, length_of, resize, write_array};
pub use bytes::Bytes;
pub use encoding::Encoding;
pub(crate) use encoding::{NO_ALIGNMENT, XCDR1_ALIGNMENT, XCDR2_ALIGNMENT};
pub use error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind};
pub(crate) use memory::try_clone_each;
#[doc(hidden)]
pub use memory::try_copy_all;
pub use memory::{GrowingSink, NoMemory, try_append, try_reserve, try_write};
#[cfg(feature = "dynamic")]
pub(crate) use memory::{try_clone_text, with_exact_capacity};
pub use number_iter::LeSliceIter;
pub use reader::{End, Reader};
pub use seq::{LeSlice, Number, Seq, SeqIter};
pub use sink::{ByteCount, Sink, SliceSink};
pub use text_view::Text;

use alloc::vec::Vec;

/// The most elements that a sequence of empty messages may claim: they take no bytes, so nothing else bounds them.
pub const MAX_EMPTY_ELEMENTS: usize = 65_536;

/// A value with a form as bytes.
pub trait Wire: Sized + 'static {
    /// Minimum length in bytes in any encoding, used to check counts from peers.
    const MIN_LEN: usize;

    /// Constant length in bytes in ROS 1; `None` if it varies. Lengths announced by ROS 1 peers are checked against it.
    const FIXED_LEN: Option<usize> = None;

    /// The value with every number zero, every truth value false and everything else empty. What the other generation's
    /// form of a message lacks is read as this.
    const ZERO: Self;

    /// True of single numbers and truth values, which [`Encoding::Xcdr2`] does not lead by a length.
    const IS_PRIMITIVE: bool = false;

    /// False if [`Wire::check`] always succeeds.
    const IS_CHECKED: bool = false;

    /// The value as borrowed from received bytes or from an owned value.
    type View<'a>;

    /// A borrowed sequence of these values.
    type Slice<'a>;

    /// Appends the value to `out`, in the encoding of `out`.
    fn write<S: Sink + ?Sized>(&self, out: &mut S);

    /// Checks that the value has a form in ROS 2.
    ///
    /// # Errors
    /// If something is longer than its type allows there, or is a `wstring`.
    fn check(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    /// Length in bytes in ROS 1.
    fn wire_len(&self) -> usize {
        let mut count = ByteCount::default();
        self.write(&mut count);
        count.len()
    }

    /// Reads a value, and reuses the buffers of `self`. Text that is not UTF-8, which ROS 1 allows, gets replacement
    /// characters.
    ///
    /// # Errors
    /// If the bytes end early or a count is impossible. `self` is then in an unspecified but valid state.
    fn read_into(&mut self, from: &mut Reader<'_>) -> Result<(), DecodeError>;

    /// Reads a view of a value. Its content is checked here, so that accessors do not fail.
    ///
    /// # Errors
    /// As [`Wire::read_into`], and if a text is not UTF-8, since a view borrows it.
    fn read_view<'a>(from: &mut Reader<'a>) -> Result<Self::View<'a>, DecodeError>;

    /// The same view, of an owned value.
    fn view(&self) -> Self::View<'_>;

    /// A copy of the value, as by `Clone`.
    ///
    /// # Errors
    /// If memory is exhausted.
    fn try_clone(&self) -> Result<Self, NoMemory>;

    /// Copies of all values; overridden for types that are copied in one block.
    ///
    /// # Errors
    /// If memory is exhausted.
    fn try_clone_all(values: &[Self]) -> Result<Vec<Self>, NoMemory> {
        try_clone_each(values, Self::try_clone)
    }

    /// Appends the wire forms of all values; overridden for types that are copied in one block.
    fn write_all<S: Sink + ?Sized>(values: &[Self], out: &mut S) {
        values.iter().for_each(|value| value.write(out));
    }

    /// Reads `values.len()` values; overridden for types that are copied in one block.
    ///
    /// # Errors
    /// As [`Wire::read_into`].
    fn read_all(values: &mut [Self], from: &mut Reader<'_>) -> Result<(), DecodeError> {
        values.iter_mut().try_for_each(|value| value.read_into(from))
    }

    /// Reads a view of `count` values.
    ///
    /// # Errors
    /// As [`Wire::read_view`].
    fn read_slice<'a>(from: &mut Reader<'a>, count: usize) -> Result<Self::Slice<'a>, DecodeError>;

    /// The same view, of owned values.
    fn slice(values: &[Self]) -> Self::Slice<'_>;
}

/// [`Wire::FIXED_LEN`] of two values in a row.
pub const fn fixed_sum(first: Option<usize>, second: Option<usize>) -> Option<usize> {
    match (first, second) {
        (Some(first), Some(second)) => first.checked_add(second),
        _ => None,
    }
}

/// Decodes all of `bytes`.
///
/// # Errors
/// As [`Wire::read_into`], and if bytes remain.
pub fn decode<'a, T: Wire + Default>(bytes: impl Into<Bytes<'a>>) -> Result<T, DecodeError> {
    let mut value = T::default();
    decode_into(&mut value, bytes)?;
    Ok(value)
}

/// Decodes all of `bytes` into an existing value, and reuses its buffers.
///
/// # Errors
/// As [`decode`].
pub fn decode_into<'a, T: Wire>(value: &mut T, bytes: impl Into<Bytes<'a>>) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    value.read_into(&mut reader)?;
    reader.finish()
}

/// Decodes all of `bytes` as a view.
///
/// # Errors
/// As [`Wire::read_view`], and if bytes remain.
pub fn decode_view<'a, T: Wire>(bytes: impl Into<Bytes<'a>>) -> Result<T::View<'a>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let view = T::read_view(&mut reader)?;
    reader.finish()?;
    Ok(view)
}

/// The wire form of a value in a new vector.
pub fn encode<T: Wire>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    value.write(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;
    use alloc::string::String;
    use alloc::vec;

    #[test]
    fn numbers_are_little_endian_and_packed() {
        assert_eq!(encode(&0x0102_0304u32), [4, 3, 2, 1]);
        assert_eq!(encode(&-2i16), [0xfe, 0xff]);
        assert_eq!(encode(&vec![1u16, 2]), [2, 0, 0, 0, 1, 0, 2, 0]);
        assert_eq!(encode(&[true, false]), [1, 0]);
        assert_eq!(encode(&Time { sec: 1, nanosec: 2 }), [1, 0, 0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn bool_is_zero_or_one() {
        assert_eq!(decode::<[bool; 2]>(&[0, 1]).unwrap(), [false, true]);
        let refused = DecodeErrorKind::NotABool { byte: 7 };
        assert_eq!(decode::<bool>(&[7]).unwrap_err().kind(), refused);
        assert_eq!(decode_view::<bool>(&[7]).unwrap_err().kind(), refused);
        assert_eq!(decode::<Vec<bool>>(&[2, 0, 0, 0, 1, 7]).unwrap_err().kind(), refused);
        assert_eq!(decode_view::<Vec<bool>>(&[2, 0, 0, 0, 1, 7]).map(drop).unwrap_err().kind(), refused);
        for encapsulation in [[0, 1, 0, 0], [0, 7, 0, 0]] {
            let bytes = [&encapsulation[..], &[7]].concat();
            assert_eq!(cdr::decode::<bool>(&bytes).unwrap_err().kind(), refused);
        }
    }

    #[test]
    fn fixed_len_is_known_where_nothing_varies() {
        assert_eq!((bool::FIXED_LEN, <[f64; 36]>::FIXED_LEN, Time::FIXED_LEN), (Some(1), Some(288), Some(8)));
        assert_eq!((String::FIXED_LEN, Vec::<u8>::FIXED_LEN, <[String; 2]>::FIXED_LEN), (None, None, None));
    }

    #[test]
    fn text_is_counted_and_not_terminated() {
        assert_eq!(encode(&String::from("hé")), [3, 0, 0, 0, b'h', 0xc3, 0xa9]);
    }

    #[test]
    fn invalid_utf_8_is_replaced_but_not_borrowed() {
        let latin = [2, 0, 0, 0, b'h', 0xe9];
        assert_eq!(decode::<String>(&latin).unwrap(), "h\u{fffd}");
        let error = decode_view::<String>(&latin).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::NotUtf8);
    }

    #[test]
    fn values_survive_encoding() {
        let texts = vec![String::from("a"), String::new(), String::from("ccc")];
        assert_eq!(decode::<Vec<String>>(&encode(&texts)).unwrap(), texts);
        let numbers = vec![1.5f64, -0.0, f64::MAX];
        assert_eq!(decode::<Vec<f64>>(&encode(&numbers)).unwrap(), numbers);
    }

    #[test]
    fn view_of_bytes_equals_view_of_value() {
        let texts = vec![String::from("a"), String::from("bb")];
        let bytes = encode(&texts);
        let view = decode_view::<Vec<String>>(&bytes).unwrap();
        assert!(view.iter().eq(texts.view().iter()));
        assert_eq!((view.len(), view.get(1), view.get(2)), (2, Some("bb".into()), None));
    }

    #[test]
    fn numbers_are_seen_at_any_alignment() {
        let bytes = encode(&vec![7u32, 8]);
        let mut shifted = vec![0u8];
        shifted.extend_from_slice(&bytes);
        let view = decode_view::<Vec<u32>>(&shifted[1..]).unwrap();
        assert_eq!((view.to_vec(), view.get(1), view.get(2)), (vec![7, 8], Some(8), None));
        assert!(decode_view::<Vec<u32>>(&bytes).unwrap().len() == 2);
    }

    #[test]
    fn count_beyond_message_reserves_no_memory() {
        let claim = [0xff, 0xff, 0xff, 0xff, 1, 2];
        for error in [
            decode::<Vec<u8>>(&claim).map(drop).unwrap_err(),
            decode::<Vec<String>>(&claim).map(drop).unwrap_err(),
            decode_view::<String>(&claim).map(drop).unwrap_err(),
        ] {
            assert!(matches!(error.kind(), DecodeErrorKind::CountBeyondMessage { .. }), "{error}");
        }
    }

    #[test]
    fn bytes_that_end_early_or_late_are_refused() {
        assert_eq!(
            decode::<u32>(&[1, 2]).unwrap_err().kind(),
            DecodeErrorKind::Truncated { needed: 4, remaining: 2 }
        );
        assert_eq!(decode::<u8>(&[1, 2]).unwrap_err().kind(), DecodeErrorKind::TrailingBytes { count: 1 });
    }

    #[test]
    fn error_names_fields_outermost_first() {
        let error = DecodeError::from(DecodeErrorKind::NotUtf8).within("frame_id").within("header");
        assert_eq!(alloc::format!("{error}"), "field header.frame_id: text is not UTF-8");
    }

    #[test]
    fn buffers_are_reused() {
        let mut value = vec![0u8; 100];
        let place = value.as_ptr();
        decode_into(&mut value, &encode(&vec![9u8; 50])).unwrap();
        assert_eq!((value.as_ptr(), value.len()), (place, 50));
        let mut text = String::from("something long");
        let place = text.as_ptr();
        decode_into(&mut text, &encode(&String::from("shört"))).unwrap();
        assert_eq!((text.as_ptr(), text.as_str()), (place, "shört"));
    }
}
