//! Names as Rust wants them.

use runnel_core::schema::snake_case;
use std::collections::HashSet;

/// Words that cannot be names in edition 2024, whether in use or reserved.
const KEYWORDS: [&str; 53] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "_",
];

/// A module's name: the package's, with an underscore after it if it is a word of the language.
pub(crate) fn module(package: &str) -> String {
    allowed(snake_case(package))
}

/// A type's name: `Point32` as it is, `my_type` as `MyType`.
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

/// The names of a message's fields, in order: `frame_id` as it is, `K` as `k`, `type` as `type_`.
pub(crate) fn fields<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    distinct(names.map(|name| allowed(snake_case(name))))
}

/// The names of a message's constants, in order: `DEBUG` as it is, `kDebug` as `K_DEBUG`.
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

/// The names with underscores after those that came before.
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
    fn names_that_rust_likes_stay() {
        assert_eq!(fields(["frame_id", "x2"].into_iter()), ["frame_id", "x2"]);
        assert_eq!(constants(["DEBUG", "A_1"].into_iter()), ["DEBUG", "A_1"]);
        assert_eq!((type_name("Point32"), module("std_msgs")), ("Point32".into(), "std_msgs".into()));
    }

    #[test]
    fn names_that_rust_dislikes_change() {
        assert_eq!(fields(["K", "type", "frameId", "a__b"].into_iter()), ["k", "type_", "frame_id", "a_b"]);
        assert_eq!(constants(["kDebug"].into_iter()), ["K_DEBUG"]);
        assert_eq!((type_name("my_type"), type_name("self")), ("MyType".into(), "Self_".into()));
        assert_eq!(module("move"), "move_");
    }

    #[test]
    fn names_that_become_the_same_are_told_apart() {
        assert_eq!(fields(["k", "K", "type_", "type"].into_iter()), ["k", "k_", "type_", "type__"]);
    }
}
