//! Splitter of a stream into messages.

use crate::pace::Sizes;
use crate::touch::{self, Touch};
use crate::{Course, NUMBER};

/// Splits a stream into messages of known sizes, and keeps only their numbers.
pub(crate) struct MessageSplitter {
    sizes: Sizes,
    touch: Touch,
    /// Complete messages.
    count: u64,
    /// Received bytes of the current message.
    filled: usize,
    number: [u8; NUMBER],
    /// Received bytes of its payload.
    sum: u64,
    is_intact: bool,
}

impl MessageSplitter {
    pub(crate) fn new(course: &Course) -> Self {
        Self {
            sizes: course.sizes.clone(),
            touch: course.touch,
            count: 0,
            filled: 0,
            number: [0; NUMBER],
            sum: 0,
            is_intact: true,
        }
    }

    /// Number of complete messages.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether every checked payload was what the sender wrote.
    pub(crate) fn is_intact(&self) -> bool {
        self.is_intact
    }

    /// Processes received bytes, and calls `complete` with the number of each message that they complete.
    pub(crate) fn each(&mut self, mut bytes: &[u8], mut complete: impl FnMut(u64)) {
        while !bytes.is_empty() {
            let size = self.sizes.size(self.count);
            let (now, rest) = bytes.split_at(bytes.len().min(size - self.filled));
            self.take(now);
            bytes = rest;
            if self.filled == size {
                complete(self.end_message());
            }
        }
    }

    /// Processes bytes of one message.
    fn take(&mut self, bytes: &[u8]) {
        let of_number = NUMBER.saturating_sub(self.filled).min(bytes.len());
        if let Some(place) = self.number.get_mut(self.filled..self.filled + of_number) {
            place.copy_from_slice(&bytes[..of_number]);
        }
        if self.touch == Touch::Read {
            self.sum += touch::sum(&bytes[of_number..]);
        }
        self.filled += bytes.len();
    }

    fn end_message(&mut self) -> u64 {
        let number = u64::from_le_bytes(self.number);
        if self.touch == Touch::Read {
            self.is_intact &= self.sum == touch::expected(self.filled - NUMBER, number);
        }
        (self.filled, self.sum) = (0, 0);
        self.count += 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trial;

    fn course(sizes: &[usize], touch: Touch) -> Course {
        let trial = Trial { size: 12, count: 4, warm_up: 0 };
        Course { sizes: Sizes::of(trial, sizes), touch, ..Course::plain(trial) }
    }

    fn stream(course: &Course) -> Vec<u8> {
        let message = |number: u64| {
            let mut message = vec![0; course.sizes.size(number)];
            crate::set_number(&mut message, number);
            course.touch.fill(&mut message, number);
            message
        };
        (0..course.trial.total()).flat_map(message).collect()
    }

    #[test]
    fn messages_are_split_at_any_read_boundary() {
        for course in [course(&[], Touch::None), course(&[8, 12], Touch::Read)] {
            let stream = stream(&course);
            for piece in 1..=stream.len() {
                let (mut splitter, mut numbers) = (MessageSplitter::new(&course), Vec::new());
                stream.chunks(piece).for_each(|bytes| splitter.each(bytes, |number| numbers.push(number)));
                assert_eq!(
                    (numbers.as_slice(), splitter.count()),
                    (&[0, 1, 2, 3][..], 4),
                    "in pieces of {piece}"
                );
                assert!(splitter.is_intact());
            }
        }
    }

    #[test]
    fn wrong_byte_is_detected_when_all_are_read() {
        for (touch, is_intact) in [(Touch::Read, false), (Touch::Write, true)] {
            let course = course(&[], touch);
            let (mut stream, mut splitter) = (stream(&course), MessageSplitter::new(&course));
            stream[11] ^= 1;
            splitter.each(&stream, |_| {});
            assert_eq!(splitter.is_intact(), is_intact);
        }
    }
}
