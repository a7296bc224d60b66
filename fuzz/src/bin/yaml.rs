//! Messages typed by users in YAML and JSON: a printed message is read back as equal. The first byte selects the type.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::time::Time;
use runnel_core::yaml::{EchoOptions, from_json, from_yaml, parse_documents, to_csv, to_json, to_yaml};

fn print(message: &DynamicMessage, now: Time) {
    let options = EchoOptions::default();
    let json = to_json(message).to_string();
    let again = from_json(message.schema(), &json, now).expect("printed JSON can be read");
    assert_eq!(again.to_bytes(), message.to_bytes(), "{json}");
    drop(to_csv(message, &options));
    drop(to_yaml(message, &options));
    drop(to_yaml(message, &EchoOptions { no_arr: true, no_str: true, truncate: Some(3), ..options }));
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let Ok(text) = str::from_utf8(text) else { return };
    let schema = runnel_fuzz::schema(*choice);
    let now = Time::from_nanos(1_234_567_890);
    drop(parse_documents(text));
    for message in [from_yaml(schema, text, now), from_json(schema, text, now)].into_iter().flatten() {
        print(&message, now);
    }
});
