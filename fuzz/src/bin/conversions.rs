//! Conversion of types and messages between the generations, for a peer's types and standard ones: a round trip returns the
//! same bytes, except for fields that one generation lacks.
//!
//! The input: selector of the type, length of the definition in two bytes, definition, message.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::{Generation, Library, Schema, TypeName};
use runnel_core::wire::Encoding;

static LIBRARY: LazyLock<Library> = LazyLock::new(runnel_msgs::library);

fn schema(choice: u8, text: &str) -> Option<Arc<Schema>> {
    let name = TypeName::new("some_msgs", "Some");
    match choice % 4 {
        0 => Schema::from_full_text(&name, text).ok(),
        1 => Schema::from_full_text_in(Generation::Ros2, &name, text).ok(),
        _ => Some(Arc::clone(runnel_fuzz::schema(choice / 4))),
    }
}

fn other(generation: Generation) -> Generation {
    if generation == Generation::Ros1 { Generation::Ros2 } else { Generation::Ros1 }
}

fn round_trip(message: &DynamicMessage, form: &Arc<Schema>) {
    let schema = message.schema();
    let Ok(converted) = message.to_form(form) else { return };
    let bytes = converted.to_bytes();
    let read = DynamicMessage::decode(form, &bytes).expect("a converted message can be read");
    assert_eq!(read.to_bytes(), bytes);
    if let Ok(payload) = converted.to_payload(Encoding::Xcdr1) {
        DynamicMessage::decode_payload(form, &payload).expect("its payload can be read");
    }
    let back = converted.to_form(schema).expect("a converted message can be converted back");
    let again = back.to_form(form).expect("it can be converted again");
    assert_eq!(again.to_bytes(), bytes);
    if schema.is_laid_out_as(form) {
        assert_eq!(bytes, message.to_bytes(), "the same values in the same order");
    }
}

fuzz_target!(|data: &[u8]| {
    let [choice, low, high, rest @ ..] = data else { return };
    let len = usize::from(u16::from_le_bytes([*low, *high]));
    let (text, bytes) = rest.split_at(len.min(rest.len()));
    let Some(schema) = schema(*choice, &String::from_utf8_lossy(text)) else { return };
    let Ok(form) = LIBRARY.form_of(&schema, other(schema.generation)) else { return };
    assert_eq!(form.generation, other(schema.generation));
    if let Ok(message) = DynamicMessage::default_of(&schema) {
        round_trip(&message, &form);
    }
    if let Ok(message) = DynamicMessage::decode(&schema, bytes) {
        round_trip(&message, &form);
    }
});
