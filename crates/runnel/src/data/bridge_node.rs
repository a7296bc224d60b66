//! Names of bridges. A bridge joins nodes that are only in ROS 1 with nodes that are only in ROS 2. Its nodes have the same
//! name in both graphs, by which other bridges recognize them as soon as a ROS 1 connection is made.

/// What their names begin with, before 16 hexadecimal digits.
const PREFIX: &str = "runnel_bridge_";

/// The base name of the nodes of the bridge with this number.
#[must_use]
pub fn bridge_node_name(bridge: u64) -> String {
    format!("{PREFIX}{bridge:016x}")
}

/// The number of the bridge that a node of this full name belongs to.
#[must_use]
pub fn bridge_of_node(full_name: &str) -> Option<u64> {
    let (_, name) = full_name.rsplit_once('/').unwrap_or(("", full_name));
    let digits = name.strip_prefix(PREFIX)?;
    let is_number = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bridge_is_recognized_by_its_name() {
        let name = bridge_node_name(0xab);
        for (text, expected) in [
            (name.clone(), Some(0xab)),
            (format!("/{name}"), Some(0xab)),
            (format!("/robot/{name}"), Some(0xab)),
            (format!("/{name}/x"), None),
            (format!("/{name}0"), None),
            ("/runnel_bridge".into(), None),
            ("/runnel_bridge_+0000000000000ab".into(), None),
            (String::new(), None),
        ] {
            assert_eq!(bridge_of_node(&text), expected, "{text}");
        }
    }
}
