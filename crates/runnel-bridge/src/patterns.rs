//! Patterns of topic names.

/// Names and patterns with `*`, such as `/chatter` and `/robot/*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(Vec<String>);

impl Patterns {
    /// These patterns. Without any, all names match.
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Self(patterns.into_iter().collect())
    }

    /// True if a name matches one of the patterns.
    pub fn allow(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| matches(pattern, name))
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(before) else { return false };
    let mut parts: Vec<&str> = after.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_any_part_of_name() {
        for (pattern, name, expected) in [
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("/a*", "/ab/c", true),
            ("*", "/x", true),
            ("/a/*/c", "/a/b/c", true),
            ("/a/*/c", "/a/c", false),
            ("*b*d", "/abcd", true),
            ("*b*d", "/abcde", false),
            ("*aa", "/a", false),
        ] {
            assert_eq!(Patterns::new([pattern.to_owned()]).allow(name), expected, "{pattern} {name}");
        }
        assert!(Patterns::default().allow("/any"));
    }
}
