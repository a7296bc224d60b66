//! Messages without available memory: each is an error, and the program continues.
#![cfg(feature = "dynamic")]

use std::sync::Arc;

use runnel_core::dynamic::{DynamicError, DynamicErrorKind, DynamicMessage};
use runnel_core::schema::{Generation, Kind, Library, Schema, TypeName};
use runnel_core::wire::{DecodeErrorKind, Encoding, NoMemory, Wire, cdr, decode, try_write};
use scarce_memory::{Scarce, with_memory};

#[path = "../../runnel-testkit/src/scarce_memory.rs"]
mod scarce_memory;

#[global_allocator]
static ALLOCATOR: Scarce = Scarce;

/// Bytes of a message.
const LONG: usize = 1_000_000;

/// Bytes that are too few for it.
const LITTLE: usize = LONG / 2;

fn schema(generation: Generation, text: &'static str) -> Arc<Schema> {
    let name = TypeName::new("a", "B");
    let mut library = Library::new();
    library.add_text(Kind::Message, TypeName::new("a", "Part"), "uint8 At\nfloat64 x", "Part.msg");
    library.add_text(Kind::Message, name.clone(), text, "B.msg");
    library.message_in(generation, &name).unwrap()
}

/// A message of one sequence, in either form, of which `bytes` are the elements.
fn message(text: &'static str, count: usize, bytes: &[u8]) -> (DynamicMessage, Arc<Schema>) {
    let [ros1, ros2] = Generation::ALL.map(|generation| schema(generation, text));
    let bytes = [&(count as u32).to_le_bytes(), bytes].concat();
    (DynamicMessage::decode(&ros1, &bytes).unwrap(), ros2)
}

fn is_refused<T>(result: Result<T, DynamicError>) -> bool {
    result
        .is_err_and(|error| matches!(error.kind(), DynamicErrorKind::Bytes(DecodeErrorKind::NoMemory { .. })))
}

#[test]
fn typed_message_beyond_memory_is_an_error() {
    let message = vec![1u8; LONG];
    let mut out = Vec::new();
    let refused = with_memory(LITTLE, || try_write(&mut out, |out| message.write(out)));
    assert_eq!((refused, out.capacity()), (Err(NoMemory { bytes: 4 + LONG }), 0));
    let mut encoded = Ok(());
    let encode = |encoding| {
        with_memory(LITTLE, || try_write(&mut out, |out| encoded = cdr::encode_into(&message, encoding, out)))
    };
    assert_eq!(Encoding::ALL.map(encode), [4, 8, 8].map(|before| Err(NoMemory { bytes: before + LONG })));
    assert_eq!(encoded, Ok(()));
}

/// A buffer doubles when it grows, or grows to the exact size if memory is short.
#[test]
fn message_grows_only_within_available_memory() {
    let message = vec![vec![1u8; LONG]; 3];
    let mut out = Vec::new();
    // During the last growth both buffers exist: that of two parts and that of three.
    let written = with_memory(5 * LONG + LITTLE, || try_write(&mut out, |out| message.write(out)));
    assert_eq!((written, out.len()), (Ok(()), 4 + 3 * (4 + LONG)));
    let written = with_memory(5 * LONG - LITTLE, || try_write(&mut Vec::new(), |out| message.write(out)));
    assert_eq!(written, Err(NoMemory { bytes: out.len() }));
}

#[test]
fn copy_beyond_memory_is_an_error() {
    let refused = Err(NoMemory { bytes: LONG });
    let bytes = vec![1u8; LONG];
    assert!(with_memory(LITTLE, || bytes.try_clone()).map(drop) == refused);
    let texts = vec![String::from("b"), "a".repeat(LONG)];
    assert!(with_memory(LITTLE, || texts.try_clone()).map(drop) == refused);
    let arrays = [vec![0u16; 3], vec![0; LONG / 2]];
    assert!(with_memory(LITTLE, || arrays.try_clone()).map(drop) == refused);
    assert_eq!(
        (bytes.try_clone(), texts.try_clone(), arrays.try_clone()),
        (Ok(bytes), Ok(texts), Ok(arrays))
    );
}

#[test]
fn replaced_text_beyond_memory_is_an_error() {
    let mut bytes = vec![0xff; 4 + LONG];
    bytes[..4].copy_from_slice(&(LONG as u32).to_le_bytes());
    let read = with_memory(LONG + LITTLE, || decode::<String>(&bytes));
    assert!(matches!(read.unwrap_err().kind(), DecodeErrorKind::NoMemory { bytes } if bytes > LONG));
    assert_eq!(decode::<String>(&bytes).unwrap(), "\u{fffd}".repeat(LONG));
}

#[test]
fn dynamic_message_beyond_memory_is_an_error() {
    let (message, form) = message("uint8[] Data", LONG, &vec![1; LONG]);
    let mut out = Vec::new();
    let refused = with_memory(LITTLE, || try_write(&mut out, |out| message.encode(out)));
    assert_eq!(refused, Err(NoMemory { bytes: 4 + LONG }));
    let mut encoded = Ok(());
    let refused = with_memory(LITTLE, || {
        try_write(&mut out, |out| encoded = message.encode_payload(Encoding::Xcdr1, out))
    });
    assert_eq!((refused, encoded), (Err(NoMemory { bytes: 8 + LONG }), Ok(())));
    assert!(with_memory(LITTLE, || is_refused(message.to_form(&form))));
    assert!(with_memory(LITTLE, || message.try_clone()) == Err(NoMemory { bytes: LONG }));
    assert_eq!(message.try_clone(), Ok(message));
}

#[test]
fn dynamic_parts_beyond_memory_are_an_error() {
    let count = LONG / 9;
    let (message, form) = message("Part[] parts", count, &vec![1; 9 * count]);
    let bytes = with_memory(usize::MAX >> 1, || {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        bytes
    });
    // Each part needs more memory than its nine bytes. The failure of any allocation is an error.
    for little in (1..40).map(|step| step * LITTLE / 7 + step) {
        assert!(with_memory(little, || is_refused(message.to_form(&form))), "{little}");
        assert!(with_memory(little, || message.try_clone().is_err()), "{little}");
        assert!(with_memory(little, || is_refused(DynamicMessage::decode(message.schema(), &bytes))));
    }
}

#[test]
fn other_elements_beyond_memory_are_an_error() {
    let (message, _) = message("uint8[] data", LONG, &vec![1; LONG]);
    let wide = schema(Generation::Ros2, "int64[] data");
    assert!(with_memory(4 * LONG, || is_refused(message.to_form(&wide))));
    assert!(message.to_form(&wide).is_ok());
}

#[test]
fn default_beyond_memory_is_an_error() {
    for text in ["uint8[1000000] data", "Part[5000] parts", "string[100000] texts"] {
        let schema = schema(Generation::Ros1, text);
        assert!(with_memory(LITTLE, || is_refused(DynamicMessage::default_of(&schema))), "{text}");
    }
}
