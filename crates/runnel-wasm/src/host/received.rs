//! What a subscription has received from each publisher, so that a restored one does not receive it again.

use runnel::MessageInfo;

/// Publishers that are remembered: the latest ones.
const MOST: usize = 256;

/// The number of the last message of each publisher, in ROS 2. ROS 1 has no numbers.
#[derive(Default)]
pub struct LastReceived(Vec<Last>);

struct Last {
    publisher: [u8; 16],
    number: u64,
    /// Received before a checkpoint: the publisher may send it again.
    is_restored: bool,
}

impl LastReceived {
    /// Notes a message. False if it was received before the checkpoint from which the subscription was restored.
    pub fn is_new(&mut self, info: &MessageInfo) -> bool {
        match (info.publisher_gid(), info.publication_sequence_number()) {
            (Some(gid), Some(number)) => self.note(gid.0, number),
            _ => true,
        }
    }

    fn note(&mut self, publisher: [u8; 16], number: u64) -> bool {
        let all = &mut self.0;
        match all.iter_mut().find(|last| last.publisher == publisher) {
            Some(last) if last.is_restored && number <= last.number => return false,
            Some(last) => (last.number, last.is_restored) = (number, false),
            None => {
                if all.len() >= MOST {
                    all.remove(0);
                }
                all.push(Last { publisher, number, is_restored: false });
            }
        }
        true
    }

    pub fn all(&self) -> Vec<([u8; 16], u64)> {
        self.0.iter().map(|last| (last.publisher, last.number)).collect()
    }

    /// Sets what was received before a checkpoint.
    pub fn restore(&mut self, all: &[([u8; 16], u64)]) {
        let restored = |&(publisher, number): &_| Last { publisher, number, is_restored: true };
        self.0 = all.iter().take(MOST).map(restored).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_from_before_a_checkpoint_are_not_received_again() {
        let mut before = LastReceived::default();
        assert!(before.note([1; 16], 7) && before.note([2; 16], 100) && before.note([1; 16], 8));
        let mut after = LastReceived::default();
        after.restore(&before.all());
        let received = [7, 8, 9].map(|number| after.note([1; 16], number));
        assert_eq!(received, [false, false, true]);
        assert!(after.note([3; 16], 1), "a publisher that is new");
    }

    #[test]
    fn publishers_are_limited() {
        let mut received = LastReceived::default();
        for publisher in 0..=u8::MAX {
            received.note([publisher; 16], 1);
            received.note([publisher.wrapping_add(1); 16], 1);
        }
        assert!(received.note([0; 16], 2) && received.note([77; 16], 2));
        for number in 0..1000_u64 {
            let mut publisher = [0xff; 16];
            publisher[..8].copy_from_slice(&number.to_le_bytes());
            received.note(publisher, 1);
        }
        assert_eq!(received.all().len(), MOST);
    }
}
