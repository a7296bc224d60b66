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
    is_in_memory: bool,
    /// Maximum number of gaps in the reliable stream.
    allowed_gaps: u32,
}

impl Subscribed {
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
        self.allowed_gaps = self.seen[RELIABLE].gaps;
    }

    /// Takes new counters.
    ///
    /// # Errors
    /// When they show a lost, repeated or late message.
    fn update(&mut self, now: [Account; 2], tally: &mut Tally) -> Result<(), String> {
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
            let allowed = self.allowed_gaps;
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
        let subscribed =
            Subscribed { name, is_reliable, seen: Default::default(), is_in_memory: false, allowed_gaps: 0 };
        self.subscriptions.push(subscribed);
    }

    /// Removes a subscription after checking its counters.
    pub fn unsubscribe(&mut self, index: usize, tally: &mut Tally) {
        let mut removed = self.subscriptions.swap_remove(index);
        let description = self.process.ask(&format!("describe {}", removed.name));
        let (accounts, _) = parse(&self.process.ask(&format!("remove {}", removed.name)));
        if let Err(fault) = removed.update(accounts, tally) {
            panic!("{fault}\n{}: {description}\n{}", removed.name, self.process.peer.output());
        }
    }

    /// Checks the counters of a subscription.
    pub fn check(&mut self, index: usize, tally: &mut Tally) -> &Subscribed {
        let subscribed = &mut self.subscriptions[index];
        let (accounts, is_in_memory) = parse(&self.process.ask(&format!("state {}", subscribed.name)));
        let updated = subscribed.update(accounts, tally);
        subscribed.is_in_memory = is_in_memory;
        if let Err(fault) = updated {
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

/// Parses the counters, and whether shared memory is used.
fn parse(answer: &str) -> ([Account; 2], bool) {
    let [reliable, best_effort, in_memory] = answer.split(", ").collect::<Vec<_>>()[..] else {
        panic!("{answer}")
    };
    ([reliable, best_effort].map(|account| account.parse().unwrap()), in_memory != "0")
}
