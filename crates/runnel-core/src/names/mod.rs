//! Names in the ROS graph: validation, resolution, remapping, and command-line arguments.

mod arguments;
mod mangle;
mod remap;
mod validate;

pub use arguments::{ArgumentError, Arguments, ParamArgument};
pub use mangle::{DdsTopic, dds_type, ros_type};
pub use remap::{RemapRule, Remapping};
pub use validate::{
    Generation, MAX_NAME_LEN, NameError, NameErrorKind, NameUse, validate_name, validate_namespace,
    validate_node_name, validate_resolved,
};

use alloc::format;
use alloc::string::{String, ToString};

/// The absolute name of `name` in a node: `/name` stays unchanged, `name` is in the node's namespace, and `~name` or `~/name`
/// is below the node. Repeated and trailing slashes are removed. As in roscpp, the empty name is the namespace, and
/// `ns + "/" + name` may contain repeated slashes.
///
/// # Errors
/// If the name, the namespace or the node's name is invalid in both generations, or the result is too long.
pub fn resolve(namespace: &str, node_name: &str, name: &str) -> Result<String, NameError> {
    let name = &collapse_slashes(name);
    validate::validate_spelling(name)?;
    validate_node_name(node_name, Generation::Ros2)?;
    let namespace = clean_namespace(namespace);
    let resolved = match name.strip_prefix('~') {
        Some(private) => join(&join(&namespace, node_name), private.trim_start_matches('/')),
        None => join(&namespace, name),
    };
    validate_resolved(&resolved)?;
    Ok(resolved)
}

/// `name` without repeated slashes.
fn collapse_slashes(name: &str) -> String {
    let mut squeezed = String::with_capacity(name.len());
    for c in name.chars() {
        if c != '/' || !squeezed.ends_with('/') {
            squeezed.push(c);
        }
    }
    squeezed
}

/// `name` within `namespace`, which is absolute and clean; an absolute `name` stays where it is.
pub fn join(namespace: &str, name: &str) -> String {
    match name {
        "" => namespace.to_string(),
        _ if name.starts_with('/') => clean_namespace(name),
        _ => clean_namespace(&format!("{namespace}/{name}")),
    }
}

/// The absolute form of a namespace or absolute name: one slash before each part and none at the end; `/` if there
/// is no part.
pub fn clean_namespace(namespace: &str) -> String {
    let mut clean = String::with_capacity(namespace.len() + 1);
    for part in namespace.split('/').filter(|part| !part.is_empty()) {
        clean.push('/');
        clean.push_str(part);
    }
    if clean.is_empty() {
        clean.push('/');
    }
    clean
}

/// The namespace of an absolute name, and its last part.
pub fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once('/') {
        Some(("", last)) => ("/", last),
        Some((namespace, last)) => (namespace, last),
        None => ("/", name),
    }
}

/// A unique node name: `base`, an underscore, and `unique` with invalid characters replaced by underscores. `unique` is, for
/// instance, host name, process id and a random number.
pub fn anonymous(base: &str, unique: &str) -> String {
    let capacity = MAX_NAME_LEN.saturating_sub(base.len() + 1);
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("{base}_{}", unique.chars().take(capacity).map(allowed).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_resolve_as_in_roscpp() {
        let table = [
            ("/ns", "node", "topic", "/ns/topic"),
            ("/ns", "node", "/topic", "/topic"),
            ("/ns", "node", "~topic", "/ns/node/topic"),
            ("/ns", "node", "~/topic", "/ns/node/topic"),
            ("/ns", "node", "~", "/ns/node"),
            ("/", "node", "a/b", "/a/b"),
            ("", "node", "a", "/a"),
            ("ns/", "node", "a/", "/ns/a"),
            ("/", "node", "~a/b", "/node/a/b"),
            ("/ns", "node", "", "/ns"),
            ("/", "node", "/", "/"),
            ("/", "node", "//a//b", "/a/b"),
            ("/", "node", "~//a", "/node/a"),
        ];
        for (namespace, node, name, expected) in table {
            assert_eq!(resolve(namespace, node, name).as_deref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn invalid_name_does_not_resolve() {
        for name in ["a b", "a~b", "1a", "a-b", "é", "~~a"] {
            assert!(resolve("/", "node", name).is_err(), "{name}");
        }
        assert!(resolve("/", "a/b", "~x").is_err());
        assert!(resolve("/", "node", &"a".repeat(MAX_NAME_LEN + 1)).is_err());
        assert!(resolve("/", "node", &"a".repeat(MAX_NAME_LEN)).is_err(), "too long with the slash");
    }

    #[test]
    fn name_splits_into_namespace_and_last_part() {
        assert_eq!(split("/a/b/c"), ("/a/b", "c"));
        assert_eq!(split("/a"), ("/", "a"));
        assert_eq!(split("a"), ("/", "a"));
    }

    #[test]
    fn anonymous_names_are_valid_in_both_generations() {
        let name = anonymous("talker", "host-1.local_4711_99");
        assert_eq!(name, "talker_host_1_local_4711_99");
        let long = anonymous("talker", &"x".repeat(1000));
        for name in [name, long] {
            assert_eq!(validate_node_name(&name, Generation::Ros1), Ok(()));
            assert_eq!(validate_node_name(&name, Generation::Ros2), Ok(()));
        }
    }
}
