//! Messages that are published while the player is paused.

use std::collections::VecDeque;

use super::control::Reply;

/// Requests to publish messages, the first of which is being served.
#[derive(Default)]
pub struct Stepping {
    bursts: VecDeque<Burst>,
}

struct Burst {
    /// How many are still to be published; `None` for all that remain.
    remaining: Option<u64>,
    published: u64,
    reply: Reply<u64>,
}

/// Most bursts that wait for the first one.
const MOST_BURSTS: usize = 64;

impl Stepping {
    /// Adds a request. It is refused if too many wait.
    pub fn add(&mut self, count: Option<u64>, reply: Reply<u64>) {
        if self.bursts.len() < MOST_BURSTS {
            self.bursts.push_back(Burst { remaining: count, published: 0, reply });
        } else {
            reply(0);
        }
        self.finish_complete();
    }

    /// Whether messages are to be published.
    pub fn is_active(&self) -> bool {
        !self.bursts.is_empty()
    }

    /// Counts a message.
    pub fn published(&mut self) {
        if let Some(first) = self.bursts.front_mut() {
            first.published += 1;
            first.remaining = first.remaining.map(|count| count.saturating_sub(1));
        }
        self.finish_complete();
    }

    fn finish_complete(&mut self) {
        while self.bursts.front().is_some_and(|first| first.remaining == Some(0)) {
            self.bursts.pop_front().into_iter().for_each(Burst::finish);
        }
    }

    /// Ends all: there are no more messages, or the player is no longer paused.
    pub fn finish(&mut self) {
        self.bursts.drain(..).for_each(Burst::finish);
    }
}

impl Burst {
    fn finish(self) {
        (self.reply)(self.published);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn each_burst_gets_its_own_count() {
        let (sender, counts) = mpsc::channel();
        let reply = |number: u64| -> Reply<u64> {
            let sender = sender.clone();
            Box::new(move |count| sender.send((number, count)).expect("a receiver"))
        };
        let mut stepping = Stepping::default();
        stepping.add(Some(2), reply(1));
        stepping.add(None, reply(2));
        (0..3).for_each(|_| stepping.published());
        assert!(stepping.is_active());
        assert_eq!(counts.try_iter().collect::<Vec<_>>(), [(1, 2)]);
        stepping.finish();
        assert_eq!(counts.try_iter().collect::<Vec<_>>(), [(2, 1)]);
        assert!(!stepping.is_active());
        (0..MOST_BURSTS as u64 + 1).for_each(|number| stepping.add(Some(1), reply(number)));
        assert_eq!(counts.try_iter().collect::<Vec<_>>(), [(MOST_BURSTS as u64, 0)], "too many wait");
    }
}
