//! What is to be done when.

use alloc::collections::BTreeSet;
use runnel_core::time::Instant;

/// What is to be done when. Whoever is armed for a time is told once; who needs it no more finds that out then.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    due: BTreeSet<(Instant, T)>,
}

impl<T: Ord + Copy> Timers<T> {
    pub fn new() -> Self {
        Self { due: BTreeSet::new() }
    }

    /// Arms for a time, unless `armed` for an earlier one.
    pub fn arm(&mut self, armed: &mut Option<Instant>, at: Option<Instant>, what: T) {
        let Some(at) = at else { return };
        if armed.is_some_and(|armed| armed <= at) {
            return;
        }
        if let Some(later) = armed.replace(at) {
            self.due.remove(&(later, what));
        }
        self.due.insert((at, what));
    }

    /// Is armed no more.
    pub fn disarm(&mut self, armed: Option<Instant>, what: T) {
        if let Some(at) = armed {
            self.due.remove(&(at, what));
        }
    }

    /// The next time that something is due.
    pub fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes the next of what is due.
    pub fn pop(&mut self, now: Instant) -> Option<T> {
        self.due.first().filter(|(at, _)| *at <= now)?;
        self.due.pop_first().map(|(_, what)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_counts() {
        let mut timers = Timers::new();
        let mut armed = None;
        timers.arm(&mut armed, Some(Instant(5)), 'a');
        timers.arm(&mut armed, Some(Instant(9)), 'a');
        timers.arm(&mut armed, Some(Instant(3)), 'a');
        timers.arm(&mut armed, None, 'a');
        timers.arm(&mut None, Some(Instant(4)), 'b');
        assert_eq!((timers.next(), armed), (Some(Instant(3)), Some(Instant(3))));
        assert_eq!(
            [timers.pop(Instant(2)), timers.pop(Instant(9)), timers.pop(Instant(9))],
            [None, Some('a'), Some('b')]
        );
        assert_eq!(timers.pop(Instant(9)), None);
    }

    #[test]
    fn who_is_disarmed_is_not_told() {
        let mut timers = Timers::new();
        let mut armed = None;
        timers.arm(&mut armed, Some(Instant(5)), 'a');
        timers.disarm(armed, 'a');
        assert_eq!(timers.next(), None);
    }
}
