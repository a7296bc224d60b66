//! Numbered messages that show whether they are complete.

use runnel::core::wire::Bytes;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;

/// A message with at least four bytes of data.
pub fn numbered(number: u32, size: usize) -> UInt8MultiArray {
    let mut data = number.to_le_bytes().to_vec();
    data.resize(size.max(4), number as u8);
    UInt8MultiArray { data, ..Default::default() }
}

/// The number of a message. Panics if the message is damaged.
pub fn number_in<'a>(data: impl Into<Bytes<'a>>) -> u32 {
    let data = data.into().to_cow();
    let (number, rest) = data.split_first_chunk().unwrap();
    let number = u32::from_le_bytes(*number);
    assert!(rest == vec![number as u8; rest.len()], "message {number} is torn");
    number
}
