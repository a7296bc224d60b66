//! What ends do with the payload of a message, apart from handing it over.

use std::str::FromStr;

use crate::NUMBER;

/// How far the payload is touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Touch {
    /// Only the number is written and read.
    #[default]
    None,
    /// The sender writes every byte as well.
    Write,
    /// The receiver reads every byte, too.
    Read,
}

impl Touch {
    /// As it is given on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Write => "write",
            Self::Read => "read",
        }
    }

    /// Writes the payload of a message as its sender does.
    pub fn fill(self, message: &mut [u8], number: u64) {
        if let (Self::Write | Self::Read, Some(payload)) = (self, message.get_mut(NUMBER..)) {
            payload.fill(number as u8);
        }
    }

    /// Reads the payload of a message as its receiver does; false if it is not what the sender wrote.
    pub fn is_whole(self, message: &[u8], number: u64) -> bool {
        let payload = message.get(NUMBER..).unwrap_or_default();
        self.is_whole_sum(payload.len(), number, || sum(payload))
    }

    /// The same of a payload of so many bytes that `sum` adds up.
    pub fn is_whole_sum(self, bytes: usize, number: u64, sum: impl FnOnce() -> u64) -> bool {
        self != Self::Read || sum() == expected(bytes, number)
    }
}

/// All bytes added up.
pub fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

/// The sum of a payload of so many bytes.
pub(crate) fn expected(bytes: usize, number: u64) -> u64 {
    bytes as u64 * (number & 0xFF)
}

impl FromStr for Touch {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::None, Self::Write, Self::Read];
        all.into_iter().find(|touch| touch.name() == name).ok_or_else(|| "none, write or read".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_what_is_read() {
        let mut message = vec![0; 100];
        Touch::Read.fill(&mut message, 0x0105);
        assert_eq!((message[7], message[8], message[99]), (0, 5, 5));
        assert!(Touch::Read.is_whole(&message, 0x0105));
        message[50] = 4;
        assert!(!Touch::Read.is_whole(&message, 0x0105));
        assert!(Touch::Write.is_whole(&message, 0x0105), "it is not looked at");
    }

    #[test]
    fn a_payload_that_is_only_handed_over_stays_as_it_is() {
        let mut message = vec![0; 20];
        Touch::None.fill(&mut message, 3);
        assert_eq!(message, [0; 20]);
        Touch::Write.fill(&mut [0; 3], 3);
    }

    #[test]
    fn names_are_read_back() {
        assert_eq!("write".parse(), Ok(Touch::Write));
        assert!("wrote".parse::<Touch>().is_err());
    }
}
