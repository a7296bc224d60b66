//! The field of connection headers by which two nodes know that they meet in ROS 2, too: a random number that a node tells in
//! each graph. Nodes that do not know it pass over it.

use crate::header::ConnectionHeader;

const ORIGIN: &str = "runnel_origin";

/// Tells of a node that is in both graphs.
pub(super) fn tell(header: &mut ConnectionHeader, origin: Option<u64>) {
    origin.into_iter().for_each(|origin| header.push(ORIGIN, &format!("{origin:016x}")));
}

/// Who sent the header, if that is in both graphs.
pub(super) fn told_in(header: &ConnectionHeader) -> Option<u64> {
    let digits = header.get(ORIGIN)?;
    let is_hex = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_told_in_sixteen_hex_digits_and_nothing_else_is_taken_for_one() {
        for (told, heard) in [
            ("00000000000000ff", Some(0xff)),
            ("ff", None),
            ("+0000000000000ff", None),
            ("00000000000000fg", None),
            ("", None),
        ] {
            assert_eq!(told_in(&ConnectionHeader::new([(ORIGIN, told)])), heard, "{told}");
        }
        let mut header = ConnectionHeader::new([("topic", "/a")]);
        tell(&mut header, None);
        assert_eq!(header.get(ORIGIN), None);
        tell(&mut header, Some(0xff));
        assert_eq!(told_in(&header), Some(0xff));
    }
}
