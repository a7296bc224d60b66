//! Lifespan of messages that a subscriber gets over an alternate path. The RTPS writer, which otherwise applies the
//! lifespan, does not hold them.

use std::collections::VecDeque;
use std::time::Duration;

use runnel_core::time::Instant;

/// Messages that a ring can hold. Write times are kept for as many, in addition to the queued ones.
const MAX_IN_RING: usize = 16 * 1024;

/// Write times of the messages that have not expired.
pub(super) struct Lifespan {
    span: Duration,
    /// Numbers and write times. None had expired at the last check.
    write_times: VecDeque<(u64, Instant)>,
}

impl Lifespan {
    pub(super) fn new(span: Duration) -> Self {
        Self { span, write_times: VecDeque::new() }
    }

    /// Records a write time, while `waiting` messages are queued.
    pub(super) fn record_write(&mut self, number: u64, now: Instant, waiting: usize) {
        self.drop_expired(now);
        if self.write_times.len() >= waiting + MAX_IN_RING {
            self.write_times.pop_front();
        }
        self.write_times.push_back((number, now));
    }

    /// The number of the first message that has not expired.
    pub(super) fn drop_expired(&mut self, now: Instant) -> u64 {
        while self.write_times.pop_front_if(|(_, write_time)| *write_time + self.span <= now).is_some() {}
        self.write_times.front().map_or(u64::MAX, |(number, _)| *number)
    }

    /// Removes expired messages.
    pub(super) fn retain_valid<T>(&mut self, now: Instant, messages: &mut Vec<(u64, T)>) {
        let first = self.drop_expired(now);
        messages.retain(|(number, _)| *number >= first);
    }

    /// The write time of a message that has not expired.
    pub(super) fn write_time(&self, number: u64) -> Option<Instant> {
        let place = self.write_times.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.write_times.get(place).map(|(_, write_time)| *write_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_valid_for_its_lifespan() {
        let at = |millis| Instant(0) + Duration::from_millis(millis);
        let mut lifespan = Lifespan::new(Duration::from_millis(10));
        (1..=4).for_each(|number| lifespan.record_write(number, at(number * 4), 0));
        assert_eq!(
            (lifespan.write_time(1), lifespan.write_time(2), lifespan.write_time(5)),
            (None, Some(at(8)), None)
        );
        assert_eq!(
            (lifespan.drop_expired(at(20)), lifespan.drop_expired(at(26)), lifespan.write_time(4)),
            (3, u64::MAX, None)
        );
    }

    #[test]
    fn expired_messages_are_removed() {
        let at = |millis| Instant(0) + Duration::from_millis(millis);
        let mut lifespan = Lifespan::new(Duration::from_millis(10));
        (1..=3).for_each(|number| lifespan.record_write(number, at(number * 4), 0));
        let mut messages = vec![(1, 'a'), (2, 'b'), (3, 'c')];
        lifespan.retain_valid(at(18), &mut messages);
        assert_eq!(messages, [(3, 'c')]);
        lifespan.retain_valid(at(30), &mut messages);
        assert_eq!(messages, []);
    }

    #[test]
    fn write_times_are_bounded_by_messages() {
        let mut lifespan = Lifespan::new(Duration::from_secs(1));
        (0..MAX_IN_RING as u64 + 20).for_each(|number| lifespan.record_write(number, Instant(0), 5));
        assert_eq!((lifespan.write_times.len(), lifespan.drop_expired(Instant(0))), (MAX_IN_RING + 5, 15));
    }
}
