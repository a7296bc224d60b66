//! Lists of parameters by prefix and depth.

use std::collections::HashSet;

use runnel_msgs::rcl_interfaces::msg::ListParametersResult;
use runnel_msgs::rcl_interfaces::srv::ListParametersRequest;

/// The separator of the parts of a name.
const SEPARATOR: char = '.';

/// Those of `names` that a request selects, and the prefixes of these.
///
/// Without prefixes, depth is the number of parts that a name has at most; with prefixes, that of the parts below one.
/// [`ListParametersRequest::DEPTH_RECURSIVE`] is any number. A name that equals a prefix is always selected.
pub(super) fn list<'a>(
    names: impl Iterator<Item = &'a str>,
    prefixes: &[String],
    depth: u64,
) -> ListParametersResult {
    let is_shallow = |name: &str| {
        let separators = name.matches(SEPARATOR).count() as u64;
        depth == ListParametersRequest::DEPTH_RECURSIVE || separators < depth
    };
    let is_below = |name: &str, prefix: &str| match name.strip_prefix(prefix) {
        Some("") => true,
        Some(rest) => rest.strip_prefix(SEPARATOR).is_some_and(is_shallow),
        None => false,
    };
    let is_selected = |name: &str| match prefixes {
        [] => is_shallow(name),
        _ => prefixes.iter().any(|prefix| is_below(name, prefix)),
    };
    let mut result = ListParametersResult::default();
    let mut listed = HashSet::new();
    for name in names.filter(|name| is_selected(name)) {
        result.names.push(name.to_owned());
        let prefix = name.rsplit_once(SEPARATOR).map(|(prefix, _)| prefix);
        let new = prefix.filter(|prefix| listed.insert(*prefix));
        result.prefixes.extend(new.map(str::to_owned));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["a", "a.b", "a.b.c", "ab", "d.e"];

    fn listed(prefixes: &[&str], depth: u64) -> (Vec<String>, Vec<String>) {
        let prefixes: Vec<String> = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
        let ListParametersResult { names, prefixes } = list(NAMES.into_iter(), &prefixes, depth);
        (names, prefixes)
    }

    #[test]
    fn depth_limits_parts_of_names() {
        assert_eq!(listed(&[], 0).0, NAMES);
        assert_eq!(listed(&[], 1).0, ["a", "ab"]);
        assert_eq!(listed(&[], 2).0, ["a", "a.b", "ab", "d.e"]);
    }

    #[test]
    fn prefix_selects_itself_and_names_below() {
        assert_eq!(listed(&["a"], 0).0, ["a", "a.b", "a.b.c"]);
        assert_eq!(listed(&["a"], 1).0, ["a", "a.b"]);
        assert_eq!(listed(&["d", "ab"], 1).0, ["ab", "d.e"]);
        assert_eq!(listed(&["x", ""], 0), (vec![], vec![]));
    }

    #[test]
    fn prefixes_of_listed_names_are_unique() {
        assert_eq!(listed(&[], 0).1, ["a", "a.b", "d"]);
        assert_eq!(listed(&["a"], 1).1, ["a"]);
    }
}
