//! Types and messages of one generation in the form of the other, of types that a peer defines and of standard ones: there and
//! back again gives the same bytes, but for fields that one generation lacks.
//!
//! The input: which type, the definition's length in two bytes, the definition, the message.
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

fn there_and_back(message: &DynamicMessage, form: &Arc<Schema>) {
    let schema = message.schema();
    let Ok(there) = message.to_form(form) else { return };
    let bytes = there.to_bytes();
    let read = DynamicMessage::decode(form, &bytes).expect("a converted message can be read");
    assert_eq!(read.to_bytes(), bytes);
    if let Ok(payload) = there.to_payload(Encoding::Xcdr1) {
        DynamicMessage::decode_payload(form, &payload).expect("its payload, too");
    }
    let back = there.to_form(schema).expect("what was converted can be converted back");
    let again = back.to_form(form).expect("and there again");
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
        there_and_back(&message, &form);
    }
    if let Ok(message) = DynamicMessage::decode(&schema, bytes) {
        there_and_back(&message, &form);
    }
});
