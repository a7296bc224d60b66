//! Lifespan of messages that a subscriber gets over an alternate path. The RTPS writer, which otherwise applies the
//! lifespan, does not hold them.

use std::collections::VecDeque;
use std::time::Duration;

use runnel_core::time::Instant;

/// Messages that a ring can hold. Write times are kept for as many, in addition to the queued ones.
const MOST_SENT: usize = 16 * 1024;

/// Write times of the messages that have not expired.
pub(super) struct Life {
    span: Duration,
    /// Numbers and write times. None had expired at the last check.
    written: VecDeque<(u64, Instant)>,
}

impl Life {
    pub(super) fn new(span: Duration) -> Self {
        Self { span, written: VecDeque::new() }
    }

    /// Records a write time, while `waiting` messages are queued.
    pub(super) fn begin(&mut self, number: u64, now: Instant, waiting: usize) {
        self.pass(now);
        if self.written.len() >= waiting + MOST_SENT {
            self.written.pop_front();
        }
        self.written.push_back((number, now));
    }

    /// The number of the first message that has not expired.
    pub(super) fn pass(&mut self, now: Instant) -> u64 {
        while self.written.pop_front_if(|(_, written)| *written + self.span <= now).is_some() {}
        self.written.front().map_or(u64::MAX, |(number, _)| *number)
    }

    /// Removes expired messages.
    pub(super) fn retain_alive<T>(&mut self, now: Instant, messages: &mut Vec<(u64, T)>) {
        let first = self.pass(now);
        messages.retain(|(number, _)| *number >= first);
    }

    /// The write time of a message that has not expired.
    pub(super) fn written(&self, number: u64) -> Option<Instant> {
        let place = self.written.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.written.get(place).map(|(_, written)| *written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_worth_delivering_for_its_lifespan() {
        let at = |millis| Instant(0) + Duration::from_millis(millis);
        let mut life = Life::new(Duration::from_millis(10));
        (1..=4).for_each(|number| life.begin(number, at(number * 4), 0));
        assert_eq!((life.written(1), life.written(2), life.written(5)), (None, Some(at(8)), None));
        assert_eq!((life.pass(at(20)), life.pass(at(26)), life.written(4)), (3, u64::MAX, None));
    }

    #[test]
    fn expired_messages_are_removed() {
        let at = |millis| Instant(0) + Duration::from_millis(millis);
        let mut life = Life::new(Duration::from_millis(10));
        (1..=3).for_each(|number| life.begin(number, at(number * 4), 0));
        let mut messages = vec![(1, 'a'), (2, 'b'), (3, 'c')];
        life.retain_alive(at(18), &mut messages);
        assert_eq!(messages, [(3, 'c')]);
        life.retain_alive(at(30), &mut messages);
        assert_eq!(messages, []);
    }

    #[test]
    fn no_more_times_are_kept_than_messages_may_be_there() {
        let mut life = Life::new(Duration::from_secs(1));
        (0..MOST_SENT as u64 + 20).for_each(|number| life.begin(number, Instant(0), 5));
        assert_eq!((life.written.len(), life.pass(Instant(0))), (MOST_SENT + 5, 15));
    }
}
