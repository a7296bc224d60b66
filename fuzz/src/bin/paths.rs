//! Field paths, as in `topic echo /topic/field[0]`: setting a field to its value changes nothing, and both kinds of paths find
//! the same value.
//!
//! The input: selector of the type, length of the message, message, paths separated by line ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::yaml::{EchoOptions, value_to_yaml};

/// Whether a path has the same meaning in both kinds.
fn is_plain(path: &str) -> bool {
    !path.contains(['.', ':', '-', '+']) && !path.is_empty()
}

fn check(message: &DynamicMessage, path: &str) {
    let got = message.get(path).map(|value| value.to_value());
    let selected = message.select(path);
    if let Ok(value) = &selected {
        drop(value_to_yaml(value.view(), &EchoOptions::default()));
    }
    let Ok(value) = got else { return };
    if is_plain(path)
        && let Ok(selected) = &selected
    {
        let print = |value| format!("{value:?}");
        assert_eq!(print(&value), print(selected), "{path}");
    }
    let mut changed = message.clone();
    if changed.set(path, value).is_ok() {
        assert_eq!(changed.to_bytes(), message.to_bytes(), "{path}");
    }
}

fuzz_target!(|data: &[u8]| {
    let [choice, len, rest @ ..] = data else { return };
    let schema = runnel_fuzz::schema(*choice);
    let (bytes, paths) = rest.split_at(usize::from(*len).min(rest.len()));
    let message = DynamicMessage::decode(schema, bytes);
    let Ok(message) = message.or_else(|_| DynamicMessage::default_of(schema)) else { return };
    let paths = String::from_utf8_lossy(paths);
    for path in paths.lines().take(20) {
        check(&message, path);
        // An array has elements only after it was set.
        let mut changed = message.clone();
        if changed.set(path, 1_i64).is_ok() {
            check(&changed, path);
        }
    }
});
