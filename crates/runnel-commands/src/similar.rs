//! Similar names, one of which may be a misspelling of the other.

use std::fmt;

use crate::output::shown;

/// Fewest letters of an abbreviation for which the whole name is suggested.
const LEAST_LETTERS: usize = 3;

/// Letters of a word in which a second difference makes another word.
const SHORT_WORD: usize = 5;

/// The question whether a similar name was meant, in parentheses behind a message about an unknown name; empty if no
/// known name is similar.
pub fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |other| format!(" (did you mean {}?)", shown(other)))
}

/// The same, or else the command that lists such names.
pub fn meant_or_listed<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    list: impl fmt::Display,
) -> String {
    let meant = meant(name, known);
    if meant.is_empty() { format!(" (see '{list}')") } else { meant }
}

fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let similar = known.into_iter().filter(|other| is_similar(name, other) || is_abbreviated(name, other));
    similar.min_by_key(|other| strsim::osa_distance(name, other))
}

/// Whether a name is the beginning of another one.
fn is_abbreviated(name: &str, other: &str) -> bool {
    let letters = name.trim_start_matches('/').len();
    name != other && letters >= LEAST_LETTERS && other.starts_with(name)
}

/// Whether a word is a misspelling or the beginning of a known word: of up to five letters one may differ, of more two.
pub fn is_misspelt(word: &str, known: &str) -> bool {
    let most = if word.len().max(known.len()) > SHORT_WORD { 2 } else { 1 };
    strsim::osa_distance(word, known) <= most || is_abbreviated(word, known) || is_abbreviated(known, word)
}

/// Whether two different names differ only by slashes, by the namespace, or by one letter.
pub fn is_similar(one: &str, other: &str) -> bool {
    one != other
        && (same_letters(one, other) || same_base(one, other) || strsim::osa_distance(one, other) == 1)
}

fn same_letters(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.replace('/', "").to_lowercase();
    letters(one) == letters(other)
}

/// Whether both names have the same last part.
fn same_base(one: &str, other: &str) -> bool {
    let base = |name: &'_ str| name.rsplit('/').next().unwrap_or_default().to_owned();
    !base(one).is_empty() && base(one) == base(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_similar() {
        for (one, other) in [
            ("/scan", "/robot/scan"),
            ("/left/scan", "/right/scan"),
            ("/robotscan", "/robot/scan"),
            ("/Scan", "/scan"),
            ("/cmd_vel", "/cmdvel"),
            ("/cmd_vle", "/cmd_vel"),
        ] {
            assert!(is_similar(one, other) && is_similar(other, one), "{one} {other}");
        }
    }

    #[test]
    fn nearest_known_name_is_suggested() {
        let known = ["/chatter", "/robot/scan", "/chart", "/fibonacci"];
        for (name, expected) in [
            ("/chater", " (did you mean /chatter?)"),
            ("/scan", " (did you mean /robot/scan?)"),
            ("/fib", " (did you mean /fibonacci?)"),
            ("/fi", ""),
            ("/chatter", ""),
            ("/other", ""),
        ] {
            assert_eq!(meant(name, known), expected);
        }
        assert_eq!(meant_or_listed("/other", known, "runnel topic list"), " (see 'runnel topic list')");
        assert_eq!(meant("/sca", ["/scan\n"]), " (did you mean /scan\\n?)");
    }

    #[test]
    fn short_words_may_differ_by_one_letter() {
        for (word, known) in [
            ("topci", "topic"),
            ("nodes", "node"),
            ("servcie", "service"),
            ("parameter", "param"),
            ("serv", "service"),
        ] {
            assert!(is_misspelt(word, known), "{word} {known}");
        }
        for (word, known) in [("lunch", "bench"), ("bug", "tf"), ("master", "param"), ("no", "node")] {
            assert!(!is_misspelt(word, known), "{word} {known}");
        }
    }

    #[test]
    fn different_names_are_not_similar() {
        for (one, other) in
            [("/scan", "/scan"), ("/scan", "/image"), ("/robot/scan", "/robot/odom"), ("/", "/a/b")]
        {
            assert!(!is_similar(one, other) && !is_similar(other, one), "{one} {other}");
        }
    }
}
