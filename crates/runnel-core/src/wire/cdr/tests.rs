//! The rules of CDR, each as bytes, and properties of arbitrary values and bytes.

use super::*;
use crate::time::{Duration, Time};
use alloc::string::String;
use alloc::vec;
use core::fmt::Debug;
use proptest::prelude::*;

crate::message! {
    /// Nothing.
    #[derive(Default)]
    plain Nothing {}
    "p/Nothing", "", header: false, "", ros2: "p/msg/Nothing", "p::msg::dds_::Nothing_", ""
}

crate::message! {
    /// Something of every kind.
    #[derive(Default)]
    Everything as EverythingView {
        /// In ROS 1 only.
        seq "seq" [ros1]: u32,
        /// One byte.
        flag "flag": bool,
        /// Eight.
        wide "wide": f64,
        /// Text.
        text "text" [most 9]: String,
        /// In ROS 2 only.
        more "more" [ros2]: Vec<f64>,
        /// Messages without fields.
        nothings "nothings": Vec<Nothing>,
        /// A bounded array of bounded texts.
        texts "texts" [most 3 texts 4]: Vec<String>,
        /// Times.
        times "times": [Time; 2],
        /// Bytes.
        bytes "bytes": Vec<u8>,
        /// In ROS 2 only.
        last "last" [ros2]: [u16; 3],
    }
    "p/Everything", "", header: false, "", ros2: "p/msg/Everything", "p::msg::dds_::Everything_", ""
}

crate::message! {
    /// A number that ROS 2 does not have.
    #[derive(Default)]
    plain Number { /// It.
        number "number" [ros1]: u64, }
    "p/Number", "", header: false, "", ros2: "p/msg/Number", "p::msg::dds_::Number_", ""
}

crate::message! {
    /// Wide text.
    #[derive(Default)]
    Wide as WideView { /// It.
        text "text" [wide]: String, }
    "p/Wide", "", header: false, "", ros2: "p/msg/Wide", "p::msg::dds_::Wide_", ""
}

/// The message without its header in ROS 2's encodings.
fn both<T: Wire>(value: &T) -> [Vec<u8>; 2] {
    [Encoding::Xcdr1, Encoding::Xcdr2].map(|encoding| {
        let payload = encode(value, encoding).unwrap();
        assert_eq!(payload.len(), encoded_len(value, encoding));
        let len = bare_len(value, encoding);
        payload[HEADER_LEN..HEADER_LEN + len].to_vec()
    })
}

/// A value after one byte, so that alignment is visible.
#[track_caller]
fn after_a_byte<T: Wire + Default + Clone + PartialEq + Debug>(value: T, xcdr1: &[u8], xcdr2: &[u8]) {
    for (encoding, expected) in [(Encoding::Xcdr1, xcdr1), (Encoding::Xcdr2, xcdr2)] {
        let mut out = Vec::new();
        match encoding {
            Encoding::Xcdr1 => write_both(9u8, &value, &mut CdrSink::<_, XCDR1_ALIGNMENT>::new(&mut out)),
            _ => write_both(9u8, &value, &mut CdrSink::<_, XCDR2_ALIGNMENT>::new(&mut out)),
        }
        assert_eq!(out[1..], *expected, "{encoding:?}");
        let mut reader = Reader::of(encoding, &out);
        let mut back = T::default();
        assert_eq!(u8::read_view(&mut reader), Ok(9));
        let again = reader;
        back.read_into(&mut reader).unwrap();
        assert_eq!((back, reader.rest().len()), (value.clone(), 0), "{encoding:?}");
        T::read_view(&mut again.clone()).unwrap();
    }
}

fn write_both<T: Wire>(first: u8, then: &T, out: &mut impl Sink) {
    first.write(out);
    then.write(out);
}

#[test]
fn numbers_are_aligned_to_their_size_and_in_xcdr2_to_4_at_most() {
    after_a_byte(2u8, &[2], &[2]);
    after_a_byte(true, &[1], &[1]);
    after_a_byte(0x0203u16, &[0, 3, 2], &[0, 3, 2]);
    after_a_byte(-2i32, &[0, 0, 0, 254, 255, 255, 255], &[0, 0, 0, 254, 255, 255, 255]);
    let eight = [1, 2, 3, 4, 5, 6, 7, 8];
    let [xcdr1, xcdr2] = [[&[0; 7], &eight[..]].concat(), [&[0; 3], &eight[..]].concat()];
    after_a_byte(u64::from_le_bytes(eight), &xcdr1, &xcdr2);
}

#[test]
fn times_are_two_numbers_of_4_bytes() {
    let bytes = [0, 0, 0, 255, 255, 255, 255, 2, 0, 0, 0];
    after_a_byte(Time { sec: -1, nanosec: 2 }, &bytes, &bytes);
    after_a_byte(Duration { sec: -1, nanosec: 2 }, &bytes, &bytes);
}

#[test]
fn text_is_counted_with_the_zero_that_ends_it() {
    let bytes = [0, 0, 0, 3, 0, 0, 0, b'h', b'i', 0];
    after_a_byte(String::from("hi"), &bytes, &bytes);
    let empty = [0, 0, 0, 1, 0, 0, 0, 0];
    after_a_byte(String::new(), &empty, &empty);
}

#[test]
fn text_without_the_zero_is_read() {
    for (bytes, text) in [(&[0, 1, 0, 0, 0, 0, 0, 0][..], ""), (&[0, 1, 0, 0, 2, 0, 0, 0, b'h', b'i'], "hi")]
    {
        assert_eq!(decode::<String>(bytes).unwrap(), text);
        assert_eq!(decode_view::<String>(bytes).unwrap(), text);
    }
}

#[test]
fn elements_are_aligned_if_there_are_any() {
    let numbers = [0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let number = u64::from_le_bytes([1, 2, 3, 4, 5, 6, 7, 8]);
    after_a_byte(vec![number], &numbers, &numbers);
    let empty = [0, 0, 0, 0, 0, 0, 0];
    after_a_byte(Vec::<u64>::new(), &empty, &empty);
    after_a_byte([7u16, 8], &[0, 7, 0, 8, 0], &[0, 7, 0, 8, 0]);
    after_a_byte([1u8, 2], &[1, 2], &[1, 2]);
    after_a_byte(vec![true], &[0, 0, 0, 1, 0, 0, 0, 1], &[0, 0, 0, 1, 0, 0, 0, 1]);
}

#[test]
fn numbers_behind_a_count_are_aligned_from_the_first_byte() {
    let expected = [[1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0].to_vec(), [1, 0, 0, 0, 7].to_vec()];
    let [xcdr1, xcdr2] = both(&vec![7u64]);
    assert_eq!((&xcdr1, &xcdr2[..5]), (&expected[0], &expected[1][..]));
    assert_eq!(xcdr2.len(), 12);
}

#[test]
fn nonprimitive_array_has_length_header_in_xcdr2() {
    let text = [1, 0, 0, 0, 0];
    let texts = vec![String::new(), String::new()];
    let xcdr1 = [&[2, 0, 0, 0][..], &text, &[0; 3], &text].concat();
    let xcdr2 = [&[17, 0, 0, 0, 2, 0, 0, 0][..], &text, &[0; 3], &text].concat();
    assert_eq!(both(&texts), [xcdr1, xcdr2]);
    let times = [Time { sec: 1, nanosec: 2 }; 2];
    let numbers = [1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];
    assert_eq!(both(&times), [numbers.to_vec(), [&[16, 0, 0, 0], &numbers[..]].concat()]);
    let nested = vec![vec![String::new()]];
    assert_eq!(both(&nested)[1], [&[17, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0][..], &text].concat());
}

#[test]
fn wrong_length_header_is_refused() {
    let good = encode(&vec![String::from("a"); 2], Encoding::Xcdr2).unwrap();
    assert!(decode::<Vec<String>>(&good).is_ok());
    for wrong in [0, 1, 13, 255] {
        let mut bytes = good.clone();
        bytes[4] = wrong;
        assert!(decode::<Vec<String>>(&bytes).is_err(), "{wrong}");
        assert!(decode_view::<Vec<String>>(&bytes).is_err(), "{wrong}");
    }
}

#[test]
fn empty_message_is_one_zero_byte() {
    assert_eq!(both(&Nothing {}), [vec![0], vec![0]]);
    assert_eq!(super::super::encode(&Nothing {}), [0u8; 0]);
    assert_eq!(both(&vec![Nothing {}; 2])[0], [2, 0, 0, 0, 0, 0]);
    assert_eq!(decode::<Nothing>(&[0, 1, 0, 0, 0]), Ok(Nothing {}));
    assert!(decode::<Nothing>(&[0, 1, 0, 0]).is_err());
    assert!(decode_view::<Vec<Nothing>>(&[0, 1, 0, 0, 2, 0, 0, 0, 0]).is_err());
    assert_eq!(both(&Number { number: 7 }), [vec![0], vec![0]]);
}

#[test]
fn header_holds_encoding_and_padding() {
    assert_eq!(encode(&1u8, Encoding::Xcdr1).unwrap(), [0, 1, 0, 0, 1]);
    assert_eq!(encode(&1u8, Encoding::Xcdr2).unwrap(), [0, 7, 0, 3, 1, 0, 0, 0]);
    assert_eq!(encode(&1u16, Encoding::Xcdr2).unwrap(), [0, 7, 0, 2, 1, 0, 0, 0]);
    assert_eq!(encode(&1u32, Encoding::Xcdr2).unwrap(), [0, 7, 0, 0, 1, 0, 0, 0]);
    assert_eq!(encode(&1u8, Encoding::Ros1).unwrap(), [1]);
    assert_eq!(decode::<u8>(&[0, 9, 0, 0, 1, 0, 0, 0, 7]), Ok(7));
    assert_eq!(decode::<u64>(&[&[0, 9, 0, 0, 8, 0, 0, 0, 7][..], &[0; 7]].concat()), Ok(7));
}

#[test]
fn payload_may_have_trailing_bytes() {
    for more in 0..20 {
        let payload = [&[0, 1, 0, 0, 7][..], &[1; 20][..more]].concat();
        assert_eq!(decode::<u8>(&payload), Ok(7));
        assert_eq!(decode_view::<u8>(&payload), Ok(7));
    }
    assert_eq!(decode::<u8>(&[0, 7, 0, 3, 1]).unwrap_err().kind(), DecodeErrorKind::WrongLength);
}

#[test]
fn unsupported_encapsulation_is_named() {
    for identifier in [0u16, 2, 3, 6, 8, 10, 11, 0x0100, 0xffff] {
        let [high, low] = identifier.to_be_bytes();
        let error = decode::<u8>(&[high, low, 0, 0, 7]).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::UnknownEncapsulation { identifier });
    }
    let text = decode::<u8>(&[0, 0, 0, 0, 7]).unwrap_err();
    assert_eq!(
        alloc::format!("{text}"),
        "encapsulation 0x0000, where only little-endian CDR is read (0x0001, 0x0007, 0x0009)"
    );
    assert_eq!(
        decode::<u8>(&[0, 1]).unwrap_err().kind(),
        DecodeErrorKind::Truncated { needed: 4, remaining: 2 }
    );
}

#[test]
fn fields_of_one_generation_are_skipped_in_the_other() {
    let value = Everything { seq: 7, more: vec![1.5], last: [1, 2, 3], ..Everything::default() };
    let bytes = super::super::encode(&value);
    let back: Everything = super::super::decode(&bytes).unwrap();
    assert_eq!(back, Everything { seq: 7, ..Everything::default() });
    let view = super::super::decode_view::<Everything>(&bytes).unwrap();
    assert_eq!((view.seq, view.more.len(), view.last.len()), (7, 0, 3));
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        let payload = encode(&value, encoding).unwrap();
        let mut used = Everything { seq: 9, bytes: vec![1], ..value.clone() };
        decode_into(&mut used, &payload).unwrap();
        assert_eq!(used, Everything { seq: 0, ..value.clone() });
        let view = decode_view::<Everything>(&payload).unwrap();
        assert_eq!((view.seq, view.more.get(0), view.last.get(2)), (0, Some(1.5), Some(3)));
    }
}

#[test]
fn bounds_are_checked_on_write_and_read() {
    let text = |len: usize| String::from_utf8(vec![b'x'; len]).unwrap();
    let of_text = |len| Everything { text: text(len), ..Everything::default() };
    let of_texts = |count, len| Everything { texts: vec![text(len); count], ..Everything::default() };
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        for good in [of_text(9), of_texts(3, 4)] {
            assert!(decode::<Everything>(&encode(&good, encoding).unwrap()).is_ok());
        }
        for (bad, expected) in [
            (of_text(10), "field text: length 10, where 9 is the most allowed"),
            (of_texts(4, 1), "field texts: length 4, where 3 is the most allowed"),
            (of_texts(1, 5), "field texts: length 5, where 4 is the most allowed"),
        ] {
            assert_eq!(alloc::format!("{}", encode(&bad, encoding).unwrap_err()), expected);
            let mut payload = around(encoding, 0).0.to_vec();
            write(&bad, encoding, &mut payload);
            assert_eq!(alloc::format!("{}", decode::<Everything>(&payload).unwrap_err()), expected);
            assert_eq!(alloc::format!("{}", decode_view::<Everything>(&payload).unwrap_err()), expected);
        }
        assert!(encode(&Wide::default(), encoding).is_err());
        assert!(encode(&vec![Wide::default()], encoding).is_err());
    }
    assert_eq!(super::super::decode(&super::super::encode(&of_text(10))), Ok(of_text(10)));
    let error = decode::<Wide>(&[0, 1, 0, 0, 0, 0, 0, 0]).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::WideText);
}

#[test]
fn dyn_sink_writes_the_same_bytes() {
    let value =
        Everything { text: "text".into(), times: [Time { sec: 1, nanosec: 2 }; 2], ..Everything::default() };
    for encoding in Encoding::ALL {
        let mut out = Vec::new();
        encode_into(&value, encoding, &mut out as &mut dyn Sink).unwrap();
        assert_eq!(out, encode(&value, encoding).unwrap());
    }
}

#[test]
fn impossible_count_reserves_no_memory() {
    let claim = [0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 2];
    for error in [
        decode::<Vec<u64>>(&claim).map(drop).unwrap_err(),
        decode::<Vec<String>>(&claim).map(drop).unwrap_err(),
        decode::<Vec<Nothing>>(&claim).map(drop).unwrap_err(),
        decode_view::<String>(&claim).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error.kind(), DecodeErrorKind::CountBeyondMessage { .. }), "{error}");
    }
}

prop_compose! {
    fn everything()(
        seq in any::<u32>(),
        flag in any::<bool>(),
        wide in -1e9..1e9f64,
        text in "[a-zü]{0,4}",
        more in prop::collection::vec(-1e9..1e9f64, 0..4),
        nothings in 0..4usize,
        texts in prop::collection::vec("[a-z]{0,4}", 0..4),
        times in any::<[(i32, u32); 2]>(),
        bytes in any::<Vec<u8>>(),
        last in any::<[u16; 3]>(),
    ) -> Everything {
        let nothings = vec![Nothing {}; nothings];
        let times = times.map(|(sec, nanosec)| Time { sec, nanosec });
        Everything { seq, flag, wide, text, more, nothings, texts, times, bytes, last }
    }
}

proptest! {
    #[test]
    fn values_survive_every_encoding(value in everything()) {
        let bytes = super::super::encode(&value);
        let of_ros1 = Everything { more: vec![], last: [0; 3], ..value.clone() };
        prop_assert_eq!(super::super::decode::<Everything>(&bytes).unwrap(), of_ros1);
        for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
            let payload = encode(&value, encoding).unwrap();
            prop_assert_eq!(payload.len(), encoded_len(&value, encoding));
            prop_assert!(payload.len() >= HEADER_LEN + Everything::MIN_LEN);
            let of_ros2 = Everything { seq: 0, ..value.clone() };
            prop_assert_eq!(decode::<Everything>(&payload).unwrap(), of_ros2.clone());
            let view = decode_view::<Everything>(&payload).unwrap();
            prop_assert_eq!(alloc::format!("{view:?}"), alloc::format!("{:?}", of_ros2.view()));
        }
    }

    #[test]
    fn owned_and_view_reading_agree_on_noise(
        identifier in prop_oneof![Just(1u8), Just(7), Just(9), any::<u8>()],
        options in any::<u8>(),
        noise in prop::collection::vec(prop_oneof![4 => 0..5u8, 1 => any::<u8>()], 0..200),
    ) {
        let payload = [&[0, identifier, 0, options][..], &noise].concat();
        let owned = decode::<Everything>(&payload);
        let view = decode_view::<Everything>(&payload);
        let not_text = view.as_ref().is_err_and(|error| error.kind() == DecodeErrorKind::NotUtf8);
        prop_assert!(owned.is_ok() == view.is_ok() || not_text);
        if let Ok(value) = owned && !not_text {
            let again = encode(&value, reader(&payload).unwrap().encoding()).unwrap();
            let back = decode::<Everything>(&again).unwrap();
            prop_assert_eq!(alloc::format!("{back:?}"), alloc::format!("{value:?}"));
        }
    }
}
