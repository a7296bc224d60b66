//! Name resolution of rosmaster.
//!
//! The master is more lenient than the naming rules of ROS: it accepts nearly any character, and a caller without a
//! leading slash. Results follow rosmaster 1.15, as found by experiment.

/// Removes empty segments and the slash at the end: `/a//b/` becomes `/a/b`.
pub(super) fn canonical(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let global = name.starts_with('/');
    for segment in name.split('/').filter(|segment| !segment.is_empty()) {
        if global || !out.is_empty() {
            out.push('/');
        }
        out.push_str(segment);
    }
    if global && out.is_empty() {
        out.push('/');
    }
    out
}

/// The namespace of a node, with a slash at its end: that of `/a/b` is `/a/`.
fn namespace(node: &str) -> &str {
    let trimmed = node.strip_suffix('/').unwrap_or(node);
    trimmed.rfind('/').and_then(|slash| trimmed.get(..=slash)).unwrap_or("/")
}

/// Resolves a name: global names stay, `~x` is private to the caller, others are in the caller's namespace.
pub(super) fn resolve(name: &str, caller: &str) -> String {
    let name = canonical(name);
    if name.starts_with('/') {
        return name;
    }
    match name.strip_prefix('~') {
        Some(private) => canonical(&format!("{caller}/{private}")),
        None => format!("{}{name}", namespace(caller)),
    }
}

/// The prefix of the names in a subgraph; empty for an empty name.
pub(super) fn subgraph(name: &str, caller: &str) -> String {
    let mut prefix = if name.is_empty() { "/".to_owned() } else { resolve(name, caller) };
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_resolve_as_in_rosmaster() {
        let table = [
            ("/n/m", "t", "/n/t"),
            ("/n/m", "~t", "/n/m/t"),
            ("/n/m", "q//t/", "/n/q/t"),
            ("/n/m", "//t", "/t"),
            ("/n/m", "~", "/n/m"),
            ("/n/m", "/~t", "/~t"),
            ("/n/m", "~//t", "/n/m/t"),
            ("/n//m", "t", "/n//t"),
            ("/n//m", "~t", "/n/m/t"),
            ("n/m", "t", "n/t"),
            ("a", "t", "/t"),
            ("a", "~t", "a/t"),
            ("", "~t", "/t"),
            ("/a/", "t", "/t"),
            ("/a/", "~t", "/a/t"),
            ("//", "~", "/"),
            ("~a", "~", "~a"),
        ];
        for (caller, name, resolved) in table {
            assert_eq!(resolve(name, caller), resolved, "{name:?} from {caller:?}");
        }
    }

    #[test]
    fn subgraph_ends_at_segment() {
        assert_eq!(subgraph("", "/ns/x"), "/");
        assert_eq!(subgraph("ns", "/x"), "/ns/");
        assert_eq!(subgraph("ns/", "/ns/x"), "/ns/ns/");
        assert_eq!(subgraph("//", "/x"), "/");
        assert_eq!(subgraph("~", "/x"), "/x/");
    }
}
