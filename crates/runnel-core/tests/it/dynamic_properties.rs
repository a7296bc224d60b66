//! Properties of dynamic messages with random values, and of random bytes and texts.
#![cfg(feature = "yaml")]

use proptest::collection::vec;
use proptest::prelude::*;
use runnel_core::dynamic::{Array, DynamicMessage, Value};
use runnel_core::schema::{Schema, TypeName};
use runnel_core::time::{Duration, Time};
use runnel_core::wire::Encoding;
use runnel_core::yaml::{EchoOptions, from_json, from_yaml, to_csv, to_json, to_yaml};
use std::sync::Arc;

const RULE: &str =
    "\n================================================================================\nMSG: ";

fn schema() -> Arc<Schema> {
    let parts = [
        "std_msgs/Header header\nP[] ps\nP[2] two\nE[] es\nfloat64 d\nuint8[] bytes\nstring[] texts\nbool[3] flags\n\
         duration[] lengths\nuint64 big\nint8 small",
        "std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id",
        "a/P\nint32 x\nfloat32[] f\nQ q",
        "a/Q\nstring name\nint64[2] n",
        "a/E\n",
    ];
    Schema::from_full_text(&TypeName::new("a", "Top"), &parts.join(RULE)).unwrap()
}

/// One change of a message: path and value.
fn change() -> impl Strategy<Value = (&'static str, Value)> {
    let texts = || prop_oneof![any::<String>(), "[ -~\n]{0,100}", "[a '\n]{0,200}"];
    let time = (any::<i32>(), any::<u32>()).prop_map(|(sec, nanosec)| Time { sec, nanosec });
    let length = (any::<i32>(), any::<u32>()).prop_map(|(sec, nanosec)| Duration { sec, nanosec });
    prop_oneof![
        (Just("header.seq"), any::<u32>().prop_map(Value::from)),
        (Just("header.stamp"), time.prop_map(Value::from)),
        (Just("header.frame_id"), texts().prop_map(Value::from)),
        (Just("two[1].q.name"), texts().prop_map(Value::from)),
        (Just("two[0].q.n[1]"), any::<i64>().prop_map(Value::from)),
        (Just("two[1].f"), vec(any::<f32>(), 0..5).prop_map(|f| Array::F32(f).into())),
        (Just("d"), any::<f64>().prop_map(Value::from)),
        (Just("bytes"), vec(any::<u8>(), 0..20).prop_map(|bytes| Array::U8(bytes).into())),
        (Just("texts"), vec(texts(), 0..5).prop_map(|texts| Array::String(texts).into())),
        (Just("flags[2]"), any::<bool>().prop_map(Value::from)),
        (Just("lengths"), vec(length, 0..3).prop_map(|lengths| Array::Duration(lengths).into())),
        (Just("big"), any::<u64>().prop_map(Value::from)),
        (Just("small"), any::<i8>().prop_map(Value::from)),
    ]
}

/// Messages with random values, `ps` and `es` of random lengths.
fn message() -> impl Strategy<Value = DynamicMessage> {
    (vec(change(), 0..20), 0..4usize, 0..4usize).prop_map(|(changes, ps, es)| {
        let schema = schema();
        let text = format!("{{ps: [{}], es: [{}]}}", "{}, ".repeat(ps), "{}, ".repeat(es));
        let mut message = from_yaml(&schema, &text, Time::default()).unwrap();
        for (path, value) in changes {
            message.set(path, value).unwrap();
        }
        message
    })
}

proptest! {
    #[test]
    fn encoded_message_is_decoded(message in message()) {
        let bytes = message.to_bytes();
        let decoded = DynamicMessage::decode(message.schema(), &bytes).unwrap();
        prop_assert_eq!(decoded.to_bytes(), bytes);
    }

    #[test]
    fn encoded_message_is_decoded_in_ros_2_encodings(message in message()) {
        for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
            let payload = message.to_payload(encoding).unwrap();
            let decoded = DynamicMessage::decode_payload(message.schema(), &payload).unwrap();
            prop_assert_eq!(decoded.to_bytes(), message.to_bytes());
            prop_assert_eq!(decoded.to_payload(encoding).unwrap(), payload);
        }
    }

    #[test]
    fn random_payloads_never_panic(
        identifier in prop_oneof![Just(1u8), Just(7), Just(9), any::<u8>()],
        bytes in vec(prop_oneof![4 => 0..3u8, 1 => any::<u8>()], 0..300),
    ) {
        let payload = [&[0, identifier, 0, 0][..], &bytes].concat();
        if let Ok(message) = DynamicMessage::decode_payload(&schema(), &payload) {
            let again = message.to_payload(Encoding::Xcdr2).unwrap();
            let decoded = DynamicMessage::decode_payload(&schema(), &again).unwrap();
            prop_assert_eq!(decoded.to_bytes(), message.to_bytes());
        }
    }

    #[test]
    fn printed_random_message_is_read_back(message in message()) {
        let text = to_yaml(&message, &EchoOptions::default());
        let read = from_yaml(message.schema(), &text, Time::default());
        prop_assert!(read.is_ok(), "{}\n{}", read.unwrap_err(), text);
        prop_assert_eq!(read.unwrap().to_bytes(), without_nan_bits(&message), "{}", text);
        let json = to_json(&message).to_string();
        let read = from_json(message.schema(), &json, Time::default()).unwrap();
        prop_assert_eq!(read.to_bytes(), without_nan_bits(&message));
    }

    #[test]
    fn random_bytes_never_panic_and_are_what_they_decode_to(bytes in vec(prop_oneof![Just(0u8), Just(1), any::<u8>()], 0..300)) {
        if let Ok(message) = DynamicMessage::decode(&schema(), &bytes) {
            prop_assert!(DynamicMessage::decode(&schema(), &message.to_bytes()).is_ok());
            prop_assert_eq!(message.to_bytes().len(), bytes.len());
        }
    }

    #[test]
    fn broken_messages_never_panic(message in message(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = message.to_bytes();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(message) = DynamicMessage::decode(&schema(), &bytes) {
            let options = EchoOptions { no_arr: to & 1 == 0, no_str: to & 2 == 0, truncate: Some(usize::from(to >> 4)), ..EchoOptions::default() };
            let _ = (to_yaml(&message, &options), to_csv(&message, &options));
        }
        bytes.truncate(at);
        prop_assert!(DynamicMessage::decode(&schema(), &bytes).is_err());
    }

    #[test]
    fn random_texts_never_panic(text in prop_oneof![any::<String>(), "[a-e:,\\[\\]{}&*!'\"\n -]{0,60}", "(ps|es|d|big|header|texts)(: |[\\[\\]{}, 0-9a])*"]) {
        let _ = from_yaml(&schema(), &text, Time::default());
        let _ = from_json(&schema(), &text, Time::default());
    }

    #[test]
    fn random_paths_never_panic(path in "[a-z.\\[\\]0-9/]{0,20}") {
        let mut message = DynamicMessage::default_of(&schema()).unwrap();
        let _ = message.set(&path, 1u8);
        let _ = message.get(&path).map(|value| value.to_value());
    }
}

/// The bytes of the message with every NaN replaced by the one that texts parse to.
fn without_nan_bits(message: &DynamicMessage) -> Vec<u8> {
    let mut message = message.clone();
    if let Ok(d) = message.get("d").map(|value| value.as_f64())
        && d.is_some_and(f64::is_nan)
    {
        message.set("d", f64::NAN).unwrap();
    }
    for path in ["two[0].f", "two[1].f"] {
        let Some(Value::Array(Array::F32(numbers))) = message.get(path).ok().map(|value| value.to_value())
        else {
            continue;
        };
        let plain = numbers.iter().map(|number| if number.is_nan() { f32::NAN } else { *number });
        message.set(path, Array::F32(plain.collect())).unwrap();
    }
    message.to_bytes()
}
