//! The memory of the node: where what lies, and what inputs choose from.

use std::ops::Range;
use std::sync::LazyLock;

/// Entities that the node may have.
pub const MOST_ENTITIES: usize = 12;

/// Calls of one input.
pub(super) const MAX_CALLS: usize = 64;

/// Values of one call. Each has eight bytes, after four of the function's number, and four that are zero after the last call.
const MAX_VALUES: usize = 8;
pub(super) const CALL: usize = 8 * (1 + MAX_VALUES);

/// The node's memory: what names, types and records of QoS may be; the input itself; its calls; where the host may write;
/// and the arguments.
pub(super) const TEXTS: u32 = 0;
pub(super) const INPUT: u32 = 0x1000;
pub(super) const CALLS: u32 = 0x2000;
pub(super) const OUTPUT: u32 = 0x4000;
pub(super) const ARGUMENTS: u32 = 0x8000;
pub(super) const MEMORY: u32 = 0x2_0000;

/// Names, types and definitions that inputs choose from.
const NAMES: [&str; 24] = [
    "node",
    "a",
    "/b",
    "~/c",
    "",
    "a b",
    "std_msgs/msg/String",
    "std_msgs/String",
    "std_msgs/msg/UInt8MultiArray",
    "std_msgs/msg/Header",
    "std_srvs/srv/SetBool",
    "std_srvs/srv/Trigger",
    "std_srvs/Empty",
    "example_interfaces/action/Fibonacci",
    "rcl_interfaces/msg/Parameter",
    "p",
    "p.q",
    "use_sim_time",
    "my_msgs/msg/Own",
    "int32 a\nstring[] b",
    "my_msgs/srv/Own",
    "int32 a\n---\nstring b",
    "my_msgs/action/Own",
    "int8 a\n---\nint8 b\n---\nint8 c",
];

/// Messages in CDR: an empty text, "hi", true, the number 3 as a value of a parameter, and a sequence with a length of its own.
const MESSAGES: [&[u8]; 5] = [
    &[0, 1, 0, 0, 1, 0, 0, 0, 0],
    &[0, 1, 0, 0, 3, 0, 0, 0, b'h', b'i', 0],
    &[0, 1, 0, 0, 1],
    &[0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0],
    &[0, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f],
];

/// Indices of texts, of messages and of records among the places.
pub(super) const TEXT_PLACES: Range<usize> = 0..NAMES.len();
pub(super) const MESSAGE_PLACES: Range<usize> = TEXT_PLACES.end..TEXT_PLACES.end + MESSAGES.len();
pub(super) const RECORD_PLACES: Range<usize> = MESSAGE_PLACES.end..MESSAGE_PLACES.end + 2;

/// Bytes, and the address and length of each part.
type Parts = (Vec<u8>, Vec<(u32, u32)>);

/// What lies at `TEXTS`.
pub(super) static PARTS: LazyLock<Parts> = LazyLock::new(parts);

/// Texts, messages and records, one after another, and where each begins and ends.
fn parts() -> Parts {
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    let names = NAMES.iter().map(|name| name.as_bytes());
    for text in names.chain(MESSAGES) {
        places.push((TEXTS + bytes.len() as u32, text.len() as u32));
        bytes.extend_from_slice(text);
    }
    // Two records of QoS: reliable with a depth of 5, and best effort with all kept.
    for words in [[0_u32, 5, 1, 0, 0], [1, 0, 0, 1, 1]] {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        places.push((TEXTS + bytes.len() as u32, 48));
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.resize(bytes.len() + 28, 0);
    }
    assert!(bytes.len() <= (INPUT - TEXTS) as usize);
    (bytes, places)
}
