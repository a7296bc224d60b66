//! Goal id: a UUID in ROS 2, a text in ROS 1.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runnel_core::time::Time;

/// The identity of an action's goal.
///
/// ROS 2 uses a UUID (`unique_identifier_msgs/msg/UUID`), ROS 1 any text (`actionlib_msgs/GoalID`), such as
/// `/node-1-12.5`. Each is kept in the form of its generation. A ROS 1 client gets its text back unchanged. A text
/// that reads like a UUID is not equal to that UUID.
///
/// ```
/// use runnel::GoalId;
///
/// let of_ros1 = GoalId::from("/commander-1-12.5");
/// assert_eq!((of_ros1.text(), of_ros1.uuid()), (Some("/commander-1-12.5"), None));
/// let of_ros2 = GoalId::from([0x4d, 0x36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff]);
/// assert_eq!(of_ros2.to_string(), "4d360000-0000-0000-0000-0000000000ff");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GoalId(Id);

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Id {
    Text(Arc<str>),
    Uuid([u8; 16]),
}

impl GoalId {
    /// The text of a ROS 1 goal; `None` if the goal has a UUID.
    pub fn text(&self) -> Option<&str> {
        match &self.0 {
            Id::Text(text) => Some(text),
            Id::Uuid(_) => None,
        }
    }

    /// The UUID of a ROS 2 goal, in the byte order of its text; `None` if the goal has a text.
    pub fn uuid(&self) -> Option<[u8; 16]> {
        match self.0 {
            Id::Text(_) => None,
            Id::Uuid(uuid) => Some(uuid),
        }
    }

    /// A new id in the form of actionlib: the node's name, a number and the time.
    pub(crate) fn next(node: &str, now: Time) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
        Self::from(&*format!("{node}-{number}-{}.{}", now.sec as u32, now.nanosec))
    }

    /// A UUID of version 4 (RFC 9562, section 5.4) of these random bits.
    pub(crate) fn of_random_bits(bits: [u64; 2]) -> Self {
        let [high, low] = bits.map(u64::to_be_bytes);
        let mut uuid = [0; 16];
        uuid[..8].copy_from_slice(&high);
        uuid[8..].copy_from_slice(&low);
        uuid[6] = uuid[6] & 0x0f | 0x40;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        Self::from(uuid)
    }
}

impl From<&str> for GoalId {
    fn from(text: &str) -> Self {
        Self(Id::Text(text.into()))
    }
}

impl From<[u8; 16]> for GoalId {
    fn from(uuid: [u8; 16]) -> Self {
        Self(Id::Uuid(uuid))
    }
}

/// The text of ROS 1, or the UUID in the format of RFC 9562, section 4: `4d360000-0000-0000-0000-0000000000ff`.
impl fmt::Display for GoalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Id::Text(text) => f.write_str(text),
            Id::Uuid(uuid) => uuid.iter().enumerate().try_for_each(|(index, byte)| {
                let hyphen = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
                write!(f, "{hyphen}{byte:02x}")
            }),
        }
    }
}

impl fmt::Debug for GoalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Id::Text(text) => f.debug_tuple("GoalId").field(text).finish(),
            Id::Uuid(_) => write!(f, "GoalId({self})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: [u8; 16] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0, 1, 2, 3, 4, 5, 6, 0xff];
    const UUID_TEXT: &str = "01234567-89ab-cdef-0001-0203040506ff";

    #[test]
    fn uuid_is_written_as_in_rfc_9562() {
        assert_eq!(GoalId::from(UUID).to_string(), UUID_TEXT);
        assert_eq!(format!("{:?}", GoalId::from(UUID)), format!("GoalId({UUID_TEXT})"));
    }

    #[test]
    fn text_that_reads_like_uuid_stays_text() {
        let text = GoalId::from(UUID_TEXT);
        assert_eq!((text.text(), text.uuid()), (Some(UUID_TEXT), None));
        assert_ne!(text, GoalId::from(UUID));
        assert_eq!((GoalId::from(UUID).text(), GoalId::from(UUID).uuid()), (None, Some(UUID)));
    }

    #[test]
    fn random_uuid_names_its_version() {
        let text = |bits| GoalId::of_random_bits(bits).to_string();
        assert_eq!(text([0, 0]), "00000000-0000-4000-8000-000000000000");
        assert_eq!(text([u64::MAX; 2]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(text([0x0123_4567_89ab_cdef, 0xf]), "01234567-89ab-4def-8000-00000000000f");
    }

    #[test]
    fn new_ids_differ() {
        let now = Time { sec: 12, nanosec: 5 };
        let [first, second] = [(); 2].map(|()| GoalId::next("/node", now));
        assert_ne!(first, second);
        assert!(first.text().is_some_and(|text| text.starts_with("/node-") && text.ends_with("-12.5")));
    }
}
