//! Definitions from files and connection headers. The first byte selects the kind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::parse::{parse_action, parse_message, parse_service};
use runnel_core::schema::{Generation, Schema, TypeName};
use runnel_core::wire::Encoding;

fn full_text(name: &TypeName, text: &str) {
    let Ok(schema) = Schema::from_full_text(name, text) else { return };
    let again = Schema::from_full_text(name, &schema.full_text).expect("a written full text can be read");
    assert_eq!(again.md5, schema.md5);
    let in_ros2 = Schema::from_full_text_in(Generation::Ros2, name, text).expect("it converts to ROS 2");
    assert!(in_ros2.rihs01().is_some());
    // A default message of a peer's type has a bounded size and can be read back.
    if let Ok(message) = DynamicMessage::default_of(&schema) {
        let bytes = message.to_bytes();
        let again = DynamicMessage::decode(&schema, &bytes).expect("a written message can be read");
        assert_eq!(again.to_bytes(), bytes);
        for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
            let Ok(payload) = message.to_payload(encoding) else { continue };
            let again = DynamicMessage::decode_payload(&schema, &payload).expect("a payload can be read");
            assert_eq!(again.to_bytes(), bytes);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let name = TypeName::new("some_msgs", "Some");
    match choice % 4 {
        0 => full_text(&name, &text),
        1 => drop(parse_message(&name, &text, "Some.msg")),
        2 => drop(parse_service(&name, &text, "Some.srv")),
        _ => drop(parse_action(&name, &text, "Some.action")),
    }
});
