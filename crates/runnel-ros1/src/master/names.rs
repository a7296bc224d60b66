//! Names as the original master resolves them.
//!
//! The master is laxer than the naming rules of ROS: it takes nearly any character, and a caller without a
//! leading slash. What it makes of them was found by experiment with rosmaster 1.15.

/// A name without empty segments and without a slash at its end: `/a//b/` is `/a/b`.
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

/// The namespace in which a node stands, with a slash at its end: that of `/a/b` is `/a/`.
fn namespace(node: &str) -> &str {
    let trimmed = node.strip_suffix('/').unwrap_or(node);
    trimmed.rfind('/').and_then(|slash| trimmed.get(..=slash)).unwrap_or("/")
}

/// A name as its caller means it: global names stay, `~x` is below the caller, others are in its namespace.
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

/// What the topics of a subgraph begin with; everything for an empty name.
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
    fn names_resolve_as_rosmaster_resolves_them() {
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
    fn a_subgraph_is_a_whole_segment() {
        assert_eq!(subgraph("", "/ns/x"), "/");
        assert_eq!(subgraph("ns", "/x"), "/ns/");
        assert_eq!(subgraph("ns/", "/ns/x"), "/ns/ns/");
        assert_eq!(subgraph("//", "/x"), "/");
        assert_eq!(subgraph("~", "/x"), "/x/");
    }
}
