//! Header field by which two nodes recognize that they are connected in ROS 2, too: a random number that a node
//! announces in both graphs. Other implementations ignore the field.

use crate::header::ConnectionHeader;

const KEY: &str = "runnel_origin";

/// Adds the id of a node that is in both graphs.
pub(super) fn announce(header: &mut ConnectionHeader, dual_node_id: Option<u64>) {
    dual_node_id.into_iter().for_each(|dual_node_id| header.push(KEY, &format!("{dual_node_id:016x}")));
}

/// The id in a header, if its sender is in both graphs.
pub(super) fn announced_in(header: &ConnectionHeader) -> Option<u64> {
    let digits = header.get(KEY)?;
    let is_hex = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_sixteen_hex_digits() {
        for (text, expected) in [
            ("00000000000000ff", Some(0xff)),
            ("ff", None),
            ("+0000000000000ff", None),
            ("00000000000000fg", None),
            ("", None),
        ] {
            assert_eq!(announced_in(&ConnectionHeader::new([(KEY, text)])), expected, "{text}");
        }
        let mut header = ConnectionHeader::new([("topic", "/a")]);
        announce(&mut header, None);
        assert_eq!(header.get(KEY), None);
        announce(&mut header, Some(0xff));
        assert_eq!(announced_in(&header), Some(0xff));
    }
}
