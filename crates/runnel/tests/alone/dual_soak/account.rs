//! Counters of one publisher's messages at a subscription, and their text form in replies.

use std::fmt;
use std::str::FromStr;

/// Counters of received numbers. Each publisher counts from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The first number received.
    pub first: u32,
    /// The next expected number, or 0 if none has arrived.
    pub next: u32,
    /// Number of gaps, and of missing messages.
    pub gaps: u32,
    pub missing: u32,
    /// The expected number at the last gap.
    pub last_gap: u32,
    /// Number of repeated or late messages, and the last of them.
    pub repeated: u32,
    pub last_repeated: u32,
}

impl Account {
    /// Counts the message with this number.
    pub fn receive(&mut self, number: u32) {
        if self.next == 0 {
            (self.first, self.next) = (number, number);
        }
        if number < self.next {
            self.repeated += 1;
            self.last_repeated = number;
            return;
        }
        if number > self.next {
            self.gaps += 1;
            self.missing += number - self.next;
            self.last_gap = self.next;
        }
        self.next = number + 1;
    }

    /// Number of different messages received.
    pub fn received(&self) -> u32 {
        self.next - self.first - self.missing
    }
}

impl fmt::Display for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, next, gaps, missing, last_gap, repeated, last_repeated } = self;
        write!(out, "{first} {next} {gaps} {missing} {last_gap} {repeated} {last_repeated}")
    }
}

impl FromStr for Account {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text.split(' ').map(str::parse).collect();
        let numbers = numbers.map_err(|error| format!("{text}: {error}"))?;
        let [first, next, gaps, missing, last_gap, repeated, last_repeated] = numbers[..] else {
            return Err(format!("{text}: seven numbers"));
        };
        Ok(Self { first, next, gaps, missing, last_gap, repeated, last_repeated })
    }
}

#[test]
fn account_counts_gaps_and_repeated_messages() {
    let mut account = Account::default();
    [5, 6, 9, 8, 9, 10].into_iter().for_each(|number| account.receive(number));
    let expected =
        Account { first: 5, next: 11, gaps: 1, missing: 2, last_gap: 7, repeated: 2, last_repeated: 9 };
    assert_eq!((account, account.received()), (expected, 4));
    assert_eq!(account.to_string().parse(), Ok(expected));
}
