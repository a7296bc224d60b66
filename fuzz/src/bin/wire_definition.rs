//! A peer's type, from `message_definition` of a connection header, and a message of it in both generations: it can be
//! written, printed and read back, with bounded memory.
//!
//! The input: selector of the generation, length of the definition in two bytes, definition, message.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use runnel_core::dynamic::{DynamicError, DynamicMessage};
use runnel_core::schema::{Generation, Schema, TypeName};
use runnel_core::time::Time;
use runnel_core::wire::Encoding;
use runnel_core::yaml::{EchoOptions, from_yaml, to_csv, to_json, to_yaml};

fn check(
    message: &DynamicMessage,
    written: &[u8],
    read: impl Fn(&[u8]) -> Result<DynamicMessage, DynamicError>,
) {
    let again = read(written).expect("written bytes can be read");
    assert_eq!(again.to_bytes(), message.to_bytes());
}

fn print(schema: &Arc<Schema>, message: &DynamicMessage) {
    let options = EchoOptions::default();
    drop((to_csv(message, &options), to_json(message)));
    let text = to_yaml(message, &options);
    drop(from_yaml(schema, &text, Time::default()));
}

fuzz_target!(|data: &[u8]| {
    let [choice, low, high, rest @ ..] = data else { return };
    let len = usize::from(u16::from_le_bytes([*low, *high]));
    let (text, bytes) = rest.split_at(len.min(rest.len()));
    let text = String::from_utf8_lossy(text);
    let name = TypeName::new("some_msgs", "Some");
    let generation = if choice % 2 == 0 { Generation::Ros1 } else { Generation::Ros2 };
    let Ok(schema) = Schema::from_full_text_in(generation, &name, &text) else { return };
    if let Ok(message) = DynamicMessage::decode(&schema, bytes) {
        check(&message, &message.to_bytes(), |bytes| DynamicMessage::decode(&schema, bytes));
        print(&schema, &message);
    }
    let Ok(message) = DynamicMessage::decode_payload(&schema, bytes) else { return };
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        let Ok(payload) = message.to_payload(encoding) else { continue };
        check(&message, &payload, |bytes| DynamicMessage::decode_payload(&schema, bytes));
    }
    print(&schema, &message);
});
