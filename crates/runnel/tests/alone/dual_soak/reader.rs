//! A reader process, and the checks of its subscriptions' counters.

use super::account::Account;
use super::control::Process;
use super::{BEST_EFFORT, RELIABLE};

/// Sums over all subscriptions.
#[derive(Debug, Default)]
pub struct Tally {
    pub received: u64,
    /// Number of gaps after resets at reliable subscriptions, and of messages in them.
    pub gaps: u32,
    pub missing: u32,
    /// Messages dropped by reliable subscriptions whose queue was full: the host is slower than the talker.
    pub dropped: u64,
    /// Lost best-effort messages.
    pub lost_by_best_effort: u64,
    /// Subscriptions at the beginning of all rounds, and how many of them used shared memory.
    pub at_beginnings: u32,
    pub in_memory: u32,
}

/// A subscription, with its counters at the last check.
pub struct Subscribed {
    pub name: String,
    is_reliable: bool,
    seen: [Account; 2],
    /// Number of messages that its full queue has dropped: at the last check, and at the last settlement.
    dropped: u32,
    settled_dropped: u32,
    is_in_memory: bool,
    /// Maximum number of gaps in the reliable stream, apart from those by dropped messages.
    allowed_gaps: u32,
}

/// A reader's reply about a subscription.
struct State {
    accounts: [Account; 2],
    dropped: u32,
    is_in_memory: bool,
}

impl Subscribed {
    fn new(name: String, is_reliable: bool) -> Self {
        let (dropped, settled_dropped, allowed_gaps) = (0, 0, 0);
        let (seen, is_in_memory) = (Default::default(), false);
        Self { name, is_reliable, seen, dropped, settled_dropped, is_in_memory, allowed_gaps }
    }

    /// Whether it has received this number of each stream, or later ones.
    pub fn has_received(&self, published: [u32; 2]) -> bool {
        self.seen.iter().zip(published).all(|(seen, published)| seen.next >= published)
    }

    /// Whether it has received the last reliable message.
    pub fn has_last(&self, published: [u32; 2]) -> bool {
        !self.is_reliable || self.seen[RELIABLE].next == published[RELIABLE]
    }

    pub fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// Allows a gap, since a connection is reset.
    pub fn allow_gap(&mut self) {
        self.allowed_gaps += 1;
    }

    /// Ends the allowance, since any gap has shown by now.
    pub fn allow_no_more_gaps(&mut self) {
        (self.allowed_gaps, self.settled_dropped) = (self.seen[RELIABLE].gaps, self.dropped);
    }

    /// Takes new counters.
    ///
    /// # Errors
    /// When they show a lost, repeated or late message.
    fn update(&mut self, state: State, tally: &mut Tally) -> Result<(), String> {
        if self.is_reliable {
            tally.dropped += u64::from(state.dropped - self.dropped);
        }
        (self.dropped, self.is_in_memory) = (state.dropped, state.is_in_memory);
        let now = state.accounts;
        for stream in [RELIABLE, BEST_EFFORT] {
            let (before, now) = (self.seen[stream], now[stream]);
            if now.repeated > 0 {
                return Err(format!("stream {stream}, a message came twice or late: {now:?}"));
            }
            tally.received += u64::from(now.received() - before.received());
            let missing = now.missing - before.missing;
            if !self.is_reliable || stream == BEST_EFFORT {
                tally.lost_by_best_effort += u64::from(missing);
                continue;
            }
            let allowed = self.allowed_gaps + self.dropped - self.settled_dropped;
            if now.gaps > allowed {
                return Err(format!("lost messages: {now:?}, {allowed} gaps allowed"));
            }
            tally.gaps += now.gaps - before.gaps;
            tally.missing += missing;
        }
        self.seen = now;
        Ok(())
    }
}

/// A reader process with one node.
pub struct Reader {
    pub process: Process,
    pub subscriptions: Vec<Subscribed>,
}

impl Reader {
    pub fn new(process: Process) -> Self {
        Self { process, subscriptions: Vec::new() }
    }

    pub fn subscribe(&mut self, name: String, is_reliable: bool) {
        let kind = if is_reliable { "reliable" } else { "best_effort" };
        self.process.ask(&format!("add {name} {kind}"));
        self.subscriptions.push(Subscribed::new(name, is_reliable));
    }

    /// Removes a subscription after checking its counters.
    pub fn unsubscribe(&mut self, index: usize, tally: &mut Tally) {
        let mut removed = self.subscriptions.swap_remove(index);
        let description = self.process.ask(&format!("describe {}", removed.name));
        let state = parse(&self.process.ask(&format!("remove {}", removed.name)));
        if let Err(fault) = removed.update(state, tally) {
            panic!("{fault}\n{}: {description}\n{}", removed.name, self.process.peer.output());
        }
    }

    /// Checks the counters of a subscription.
    pub fn check(&mut self, index: usize, tally: &mut Tally) -> &Subscribed {
        let subscribed = &mut self.subscriptions[index];
        let state = parse(&self.process.ask(&format!("state {}", subscribed.name)));
        if let Err(fault) = subscribed.update(state, tally) {
            panic!("{fault}\n{}", self.describe(index));
        }
        &self.subscriptions[index]
    }

    /// Details of a subscription, and the process's log.
    pub fn describe(&mut self, index: usize) -> String {
        let name = self.subscriptions[index].name.clone();
        let state = self.process.ask(&format!("describe {name}"));
        format!("{name}: {state}\n{}", self.process.peer.output())
    }
}

fn parse(reply: &str) -> State {
    let [reliable, best_effort, dropped, in_memory] = reply.split(", ").collect::<Vec<_>>()[..] else {
        panic!("{reply}")
    };
    let accounts = [reliable, best_effort].map(|account| account.parse().unwrap());
    State { accounts, dropped: dropped.parse().unwrap(), is_in_memory: in_memory != "0" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_explained_by_dropped_messages_only_once() {
        let (mut subscribed, mut tally) = (Subscribed::new("s".to_owned(), true), Tally::default());
        let state = |gaps, dropped| {
            let account = Account { next: 100 + 2 * gaps, gaps, missing: gaps, ..Account::default() };
            State { accounts: [account, Account::default()], dropped, is_in_memory: false }
        };
        assert!(subscribed.update(state(0, 1), &mut tally).is_ok());
        assert!(subscribed.update(state(1, 1), &mut tally).is_ok(), "its queue was full");
        subscribed.allow_no_more_gaps();
        assert!(subscribed.update(state(2, 1), &mut tally).is_err());
        assert_eq!((tally.dropped, tally.gaps), (1, 1));
    }
}
