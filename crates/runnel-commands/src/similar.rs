//! Similar names, one of which may be a misspelling of the other.

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
    fn different_names_are_not_similar() {
        for (one, other) in
            [("/scan", "/scan"), ("/scan", "/image"), ("/robot/scan", "/robot/odom"), ("/", "/a/b")]
        {
            assert!(!is_similar(one, other) && !is_similar(other, one), "{one} {other}");
        }
    }
}
