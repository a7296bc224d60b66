//! Command lines and names: what is resolved is valid, and resolves to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_core::names::{Arguments, resolve, validate_resolved};
use runnel_ros1::rpc::Uri;

fn resolve_name(namespace: &str, name: &str) {
    let Ok(resolved) = resolve(namespace, "node", name) else { return };
    validate_resolved(&resolved).expect("a resolved name is valid");
    assert_eq!(resolve(namespace, "node", &resolved).as_deref(), Ok(resolved.as_str()));
}

fn command_line(words: &[&str]) {
    let Ok(arguments) = Arguments::parse(words.iter().copied()) else { return };
    let Ok((namespace, name)) = arguments.node("node") else { return };
    let Ok(remapping) = arguments.remapping(&namespace, &name) else { return };
    for (from, to) in remapping.rules() {
        validate_resolved(from).expect("the left side of a rule is a name");
        validate_resolved(to).expect("the right side of a rule is a name");
    }
    arguments.params_of(&name).for_each(drop);
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let words: Vec<_> = text.split('\n').collect();
    if let [namespace, name, ..] = words[..] {
        resolve_name(namespace, name);
    }
    command_line(&words);
    words.iter().for_each(|word| drop(Uri::parse(word)));
});
