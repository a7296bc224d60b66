//! Use of the payload by the ends, apart from handing it over.

use std::str::FromStr;

use crate::NUMBER;

/// Use of the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Touch {
    /// Only the number is written and read.
    #[default]
    None,
    /// The sender also writes every byte.
    Write,
    /// The receiver also reads every byte.
    Read,
}

impl Touch {
    /// The name on command lines.
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
    pub fn is_intact(self, message: &[u8], number: u64) -> bool {
        let payload = message.get(NUMBER..).unwrap_or_default();
        self.is_intact_sum(payload.len(), number, || sum(payload))
    }

    /// Checks a payload of `bytes` bytes whose sum is `sum`.
    pub fn is_intact_sum(self, bytes: usize, number: u64, sum: impl FnOnce() -> u64) -> bool {
        self != Self::Read || sum() == expected(bytes, number)
    }
}

/// The sum of all bytes.
pub fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

/// The sum of a payload of `bytes` bytes.
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
    fn written_payload_is_read_back() {
        let mut message = vec![0; 100];
        Touch::Read.fill(&mut message, 0x0105);
        assert_eq!((message[7], message[8], message[99]), (0, 5, 5));
        assert!(Touch::Read.is_intact(&message, 0x0105));
        message[50] = 4;
        assert!(!Touch::Read.is_intact(&message, 0x0105));
        assert!(Touch::Write.is_intact(&message, 0x0105), "the payload is not checked");
    }

    #[test]
    fn untouched_payload_stays_unchanged() {
        let mut message = vec![0; 20];
        Touch::None.fill(&mut message, 3);
        assert_eq!(message, [0; 20]);
        Touch::Write.fill(&mut [0; 3], 3);
    }

    #[test]
    fn names_are_parsed_back() {
        assert_eq!("write".parse(), Ok(Touch::Write));
        assert!("wrote".parse::<Touch>().is_err());
    }
}
