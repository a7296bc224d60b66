//! Sums of the type of a topic, by which its ends in one process are compared.

/// See the module's documentation. `*` stands for any type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeSums<'a> {
    /// The MD5 sum; the type hash if the topic is only in ROS 2.
    pub(crate) md5: &'a str,
    /// The type hash in ROS 2; empty if it is unknown or the topic is only in ROS 1.
    pub(crate) type_hash: &'a str,
}

impl TypeSums<'_> {
    /// True if one end can read the messages of the other. The MD5 sum decides between ends in ROS 1, the type hash if one of
    /// them is only in ROS 2.
    pub(crate) fn agrees_with(self, other: TypeSums<'_>) -> bool {
        self.md5 == other.md5
            || self.is_any()
            || other.is_any()
            || (!self.type_hash.is_empty() && self.type_hash == other.md5)
            || (!other.type_hash.is_empty() && other.type_hash == self.md5)
    }

    /// True if it accepts messages of all types.
    pub(crate) fn is_any(self) -> bool {
        self.md5 == "*"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_only_in_ros2_is_compared_by_its_hash() {
        let sums = |md5, type_hash| TypeSums { md5, type_hash };
        let both = sums("1", "RIHS01_a");
        for (other, agrees) in [
            (both, true),
            (sums("*", ""), true),
            (sums("1", ""), true),
            (sums("RIHS01_a", "RIHS01_a"), true),
            (sums("RIHS01_b", "RIHS01_b"), false),
            (sums("2", "RIHS01_a"), false),
            (sums("2", ""), false),
            (sums("", ""), false),
        ] {
            assert_eq!((both.agrees_with(other), other.agrees_with(both)), (agrees, agrees), "{other:?}");
        }
    }
}
