//! Command lines and names: a resolved name is valid, and resolves to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_core::names::{Arguments, resolve, validate_resolved};
use runnel_ros1::rpc::Uri;

fn resolve_name(namespace: &str, name: &str) {
    let Ok(resolved) = resolve(namespace, "node", name) else { return };
    validate_resolved(&resolved).expect("a resolved name is valid");
    assert_eq!(resolve(namespace, "node", &resolved).as_deref(), Ok(resolved.as_str()));
}

fn command_line(lines: &[&str]) {
    let Ok(arguments) = Arguments::parse(lines.iter().copied()) else { return };
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
    let lines: Vec<_> = text.split('\n').collect();
    if let [namespace, name, ..] = lines[..] {
        resolve_name(namespace, name);
    }
    command_line(&lines);
    lines.iter().for_each(|line| drop(Uri::parse(line)));
});
