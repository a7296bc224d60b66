//! Oracle of the invariants: order, justified loss, bounds.

use runnel_delivery::{ReceiveError, Receiver};

use crate::world::{Config, bit, numbers};

/// Violation of an invariant.
#[derive(Debug)]
pub struct Fault(pub String);

impl Fault {
    /// The receiver reports an error for input of a correct sender.
    pub fn refused(error: ReceiveError) -> Self {
        Self(format!("refused: {error}"))
    }
}

/// Checker of the invariants.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Oracle {
    /// Every path has numbers, so losses are known by number.
    is_numbered: bool,
    /// The last delivered message.
    last: u64,
    /// Delivered messages, and those counted as lost.
    pub delivered: u128,
    pub lost: u128,
    /// Messages that the sender dropped, or that a dead path destroyed.
    pub gone: u128,
    /// Messages that were sent on a lossy path.
    pub risked: u128,
}

impl Oracle {
    pub fn new(is_numbered: bool) -> Self {
        Self { is_numbered, last: 0, delivered: 0, lost: 0, gone: 0, risked: 0 }
    }

    pub fn delivered(&mut self, number: Option<u64>, message: u64) -> Result<(), Fault> {
        if message <= self.last {
            return Err(Fault(format!("order: {message} is delivered after {}", self.last)));
        }
        if number.is_some_and(|number| number != message) {
            return Err(Fault(format!("number: {message} is delivered as {number:?}")));
        }
        for missing in self.last + 1..message {
            self.check_loss(missing)?;
        }
        self.last = message;
        self.delivered |= bit(message);
        Ok(())
    }

    fn check_loss(&self, number: u64) -> Result<(), Fault> {
        let is_justified = (self.gone | self.risked) & bit(number) != 0;
        if is_justified {
            Ok(())
        } else {
            Err(Fault(format!("loss: {number} is passed over and was not lost")))
        }
    }

    pub fn lost(&mut self, from: u64, count: u64) -> Result<(), Fault> {
        if count == 0 {
            return Err(Fault("loss: none is reported".into()));
        }
        if !self.is_numbered {
            return Ok(());
        }
        for number in from..from + count {
            self.check_loss(number)?;
            if (self.lost | self.delivered) & bit(number) != 0 {
                return Err(Fault(format!("loss: {number} is counted twice")));
            }
            self.lost |= bit(number);
        }
        Ok(())
    }

    pub fn check_bounds(&self, receiver: &Receiver<u64>, config: &Config) -> Result<(), Fault> {
        // Where paths have no numbers, messages that wait for the end of another path are held separately.
        let queues = if self.is_numbered { 1 } else { 3 };
        if receiver.held() > config.credit.messages as usize * queues {
            return Err(Fault(format!("bounds: {} messages held", receiver.held())));
        }
        if receiver.held_bytes() > config.credit.bytes.saturating_mul(2) {
            return Err(Fault(format!("bounds: {} bytes held", receiver.held_bytes())));
        }
        if self.is_numbered && receiver.lost() != u64::from(self.lost.count_ones()) {
            return Err(Fault(format!("loss: {} counted, {:#b} reported", receiver.lost(), self.lost)));
        }
        Ok(())
    }

    /// Returns published messages that are neither delivered nor counted.
    pub fn missing(&self, receiver: &Receiver<u64>, messages: u64) -> u128 {
        let all = numbers(u128::MAX).filter(|number| (1..=messages).contains(number));
        let accounted = |number: &u64| {
            if self.is_numbered {
                *number < receiver.next()
            } else {
                (self.delivered | self.gone) & bit(*number) != 0
            }
        };
        all.filter(|number| !accounted(number)).fold(0, |mask, number| mask | bit(number))
    }

    /// Returns messages that may be missing undetected. A lossy path has no Skip.
    pub fn may_be_missing(&self, receiver: &Receiver<u64>, is_lossy: bool) -> u128 {
        let lost = if is_lossy { self.risked | self.gone } else { self.risked };
        numbers(lost).filter(|number| !receiver.holds(*number)).fold(0, |mask, number| mask | bit(number))
    }
}
