//! A process that reads, and what its subscriptions may have received.

use super::account::Account;
use super::control::Process;
use super::{BEST_EFFORT, RELIABLE};

/// What all subscriptions have received.
#[derive(Debug, Default)]
pub struct Tally {
    pub received: u64,
    /// Gaps that killed connections left at reliable subscriptions, and how many messages were in them.
    pub gaps: u32,
    pub missing: u32,
    /// Messages that best effort lost.
    pub lost_by_best_effort: u64,
    /// Subscriptions at the beginning of all rounds, and how many of them received by shared memory then.
    pub at_beginnings: u32,
    pub in_memory: u32,
}

/// A subscription, and what it had received when it was last looked at.
pub struct Subscribed {
    pub name: String,
    is_reliable: bool,
    seen: [Account; 2],
    is_in_memory: bool,
    /// So many gaps it may have of what is published reliably.
    allowed_gaps: u32,
}

impl Subscribed {
    /// Whether it has received what had been published of each stream, or later messages.
    pub fn has_received(&self, published: [u32; 2]) -> bool {
        self.seen.iter().zip(published).all(|(seen, published)| seen.next >= published)
    }

    /// Whether it has received the last message of those that must come.
    pub fn has_last(&self, published: [u32; 2]) -> bool {
        !self.is_reliable || self.seen[RELIABLE].next == published[RELIABLE]
    }

    pub fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// A connection is killed: what was under way by it may be missing, at one place.
    pub fn allow_gap(&mut self) {
        self.allowed_gaps += 1;
    }

    /// What was to be missing shows by now.
    pub fn allow_no_more_gaps(&mut self) {
        self.allowed_gaps = self.seen[RELIABLE].gaps;
    }

    #[track_caller]
    fn update(&mut self, now: [Account; 2], tally: &mut Tally) {
        for stream in [RELIABLE, BEST_EFFORT] {
            let (before, now) = (self.seen[stream], now[stream]);
            assert_eq!(
                now.repeated, 0,
                "{}, stream {stream}, a message came twice or late: {now:?}",
                self.name
            );
            tally.received += u64::from(now.received() - before.received());
            let missing = now.missing - before.missing;
            if !self.is_reliable || stream == BEST_EFFORT {
                tally.lost_by_best_effort += u64::from(missing);
                continue;
            }
            let allowed = self.allowed_gaps;
            assert!(now.gaps <= allowed, "{} lost messages: {now:?}, {allowed} gaps allowed", self.name);
            tally.gaps += now.gaps - before.gaps;
            tally.missing += missing;
        }
        self.seen = now;
    }
}

/// A process that reads by one node.
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

    /// Removes one of its subscriptions, and checks what that had received.
    pub fn unsubscribe(&mut self, index: usize, tally: &mut Tally) {
        let mut removed = self.subscriptions.swap_remove(index);
        let (accounts, _) = parse(&self.process.ask(&format!("remove {}", removed.name)));
        removed.update(accounts, tally);
    }

    /// Checks what a subscription has received by now.
    pub fn look_at(&mut self, index: usize, tally: &mut Tally) -> &Subscribed {
        let subscribed = &mut self.subscriptions[index];
        let (accounts, is_in_memory) = parse(&self.process.ask(&format!("state {}", subscribed.name)));
        subscribed.update(accounts, tally);
        subscribed.is_in_memory = is_in_memory;
        subscribed
    }

    /// What it says of a subscription, and what it has logged.
    pub fn describe(&mut self, index: usize) -> String {
        let name = self.subscriptions[index].name.clone();
        let state = self.process.ask(&format!("describe {name}"));
        format!("{name}: {state}\n{}", self.process.peer.output())
    }
}

/// What it has received of each stream, and whether any of it comes by shared memory.
fn parse(answer: &str) -> ([Account; 2], bool) {
    let [reliable, best_effort, in_memory] = answer.split(", ").collect::<Vec<_>>()[..] else {
        panic!("{answer}")
    };
    ([reliable, best_effort].map(|account| account.parse().unwrap()), in_memory != "0")
}
