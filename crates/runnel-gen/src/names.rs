//! Conversion of ROS names to Rust names.

use runnel_core::schema::snake_case;
use std::collections::HashSet;

/// Keywords of edition 2024, in use or reserved.
const KEYWORDS: [&str; 53] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "_",
];

/// Module name of a package. A keyword gets an underscore after it.
pub(crate) fn module(package: &str) -> String {
    allowed(snake_case(package))
}

/// Type name: `Point32` unchanged, `my_type` as `MyType`.
pub(crate) fn type_name(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut characters = word.chars();
        characters
            .next()
            .map(|first| first.to_ascii_uppercase())
            .into_iter()
            .chain(characters)
            .collect::<String>()
    });
    allowed(words.collect())
}

/// Field names of a message, in order: `frame_id` unchanged, `K` as `k`, `type` as `type_`.
pub(crate) fn fields<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    distinct(names.map(|name| allowed(snake_case(name))))
}

/// Constant names of a message, in order: `DEBUG` unchanged, `kDebug` as `K_DEBUG`.
pub(crate) fn constants<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    distinct(names.map(|name| {
        let has_lower = name.contains(|c: char| c.is_ascii_lowercase());
        if has_lower { snake_case(name).to_ascii_uppercase() } else { name.to_owned() }
    }))
}

fn allowed(mut name: String) -> String {
    if KEYWORDS.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// Appends underscores to duplicates of earlier names.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut taken = HashSet::new();
    names
        .map(|mut name| {
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            name
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names_stay_unchanged() {
        assert_eq!(fields(["frame_id", "x2"].into_iter()), ["frame_id", "x2"]);
        assert_eq!(constants(["DEBUG", "A_1"].into_iter()), ["DEBUG", "A_1"]);
        assert_eq!((type_name("Point32"), module("std_msgs")), ("Point32".into(), "std_msgs".into()));
    }

    #[test]
    fn invalid_names_are_converted() {
        assert_eq!(fields(["K", "type", "frameId", "a__b"].into_iter()), ["k", "type_", "frame_id", "a_b"]);
        assert_eq!(constants(["kDebug"].into_iter()), ["K_DEBUG"]);
        assert_eq!((type_name("my_type"), type_name("self")), ("MyType".into(), "Self_".into()));
        assert_eq!(module("move"), "move_");
    }

    #[test]
    fn colliding_names_get_underscores() {
        assert_eq!(fields(["k", "K", "type_", "type"].into_iter()), ["k", "k_", "type_", "type__"]);
    }
}
