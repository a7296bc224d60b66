//! A callback of the user's that hears of one event after the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::callback_group::{Entered, Turn};
use crate::ready::{Listeners, Runnable, Waitable, When};
use crate::sync::{Class, Mutex, MutexGuard, TryMutex, lock};

/// Something that a callback hears of.
pub(crate) trait Event: Send + 'static {
    /// Bytes that it holds.
    fn bytes(&self) -> usize;

    /// True if nothing follows it. It is never dropped, and the callback goes when it has heard of it.
    fn is_last(&self) -> bool {
        false
    }
}

/// How much waits for a callback at most: the oldest is dropped for newer. One event always has room, however long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
}

type Callback<E> = Box<dyn FnMut(E) + Send>;

/// What is to be heard, in order and once at a time.
pub(crate) struct Events<E> {
    waiting: Mutex<Waiting<E>>,
    callback: TryMutex<Option<Callback<E>>>,
    most: Most,
    dropped: AtomicU64,
    turn: Turn,
}

struct Waiting<E> {
    events: VecDeque<E>,
    bytes: usize,
    /// It stands in the ready queue, waits for its group, or its callback runs.
    scheduled: bool,
}

impl<E: Event> Events<E> {
    pub(crate) fn new(most: Most, when: When, callback: impl FnMut(E) + Send + 'static) -> Arc<Self> {
        let waiting = Waiting { events: VecDeque::new(), bytes: 0, scheduled: false };
        Arc::new_cyclic(|myself| Self {
            waiting: Mutex::new(Class::EventQueue, waiting),
            callback: TryMutex::new(Some(Box::new(callback))),
            most,
            dropped: AtomicU64::new(0),
            turn: Turn::new(when, myself),
        })
    }

    /// Events that were dropped because the callback was slower than what it hears of.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// One more is to be heard.
    pub(crate) fn push(&self, event: E) {
        let mut waiting = lock(&self.waiting);
        while waiting.is_full(&event, self.most) {
            waiting.pop();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        waiting.bytes += event.bytes();
        waiting.events.push_back(event);
        self.schedule(waiting);
    }

    /// Takes the event that has waited longest, in place of the callback.
    pub(crate) fn take(&self) -> Option<E> {
        let mut waiting = lock(&self.waiting);
        let event = waiting.pop();
        if waiting.events.is_empty() && self.turn.take_back() {
            waiting.scheduled = false;
        }
        event
    }

    /// Has the callback hear here and now of all that waits, unless another thread is about to.
    pub(crate) fn run_due(&self) {
        while self.turn.has_callback() && self.is_ready() && self.turn.take_back() {
            self.run();
        }
    }

    /// What waits is not heard any more.
    pub(crate) fn forget(&self) {
        let waiting = {
            let mut waiting = lock(&self.waiting);
            (waiting.bytes, waiting.scheduled) = (0, false);
            std::mem::take(&mut waiting.events)
        };
        self.turn.take_back();
        // Not under the lock: what they hold may be anything.
        drop(waiting);
    }

    fn schedule(&self, mut waiting: MutexGuard<'_, Waiting<E>>) {
        let due = !waiting.events.is_empty() && !std::mem::replace(&mut waiting.scheduled, true);
        drop(waiting);
        if due {
            self.turn.push();
        }
    }
}

impl<E: Event> Waiting<E> {
    /// Something must go before this has room.
    fn is_full(&self, event: &E, most: Most) -> bool {
        let too_much = self.events.len() >= most.count || self.bytes + event.bytes() > most.bytes;
        too_much && !self.events.is_empty() && !event.is_last()
    }

    fn pop(&mut self) -> Option<E> {
        let event = self.events.pop_front()?;
        self.bytes -= event.bytes();
        Some(event)
    }
}

impl<E: Event> Waitable for Events<E> {
    fn is_ready(&self) -> bool {
        !lock(&self.waiting).events.is_empty()
    }

    fn listeners(&self) -> &Listeners {
        self.turn.listeners()
    }
}

impl<E: Event> Runnable for Events<E> {
    fn run(&self) {
        let Some(entered) = self.turn.enter("the callback of an event") else { return };
        let mut running = Running { events: self, is_over: false, _entered: entered };
        while let Some(event) = running.next() {
            running.hear(event);
        }
    }

    fn when(&self) -> Option<&When> {
        Some(self.turn.when())
    }
}

/// The callback under way. When it ends by a panic, the next event gets its turn all the same.
struct Running<'a, E: Event> {
    events: &'a Events<E>,
    /// Nothing waits any more.
    is_over: bool,
    _entered: Entered<'a>,
}

impl<E: Event> Running<'_, E> {
    /// The next event. If there is none, one that comes is to stand in line again.
    fn next(&mut self) -> Option<E> {
        let mut waiting = lock(&self.events.waiting);
        let next = waiting.pop();
        self.is_over = next.is_none();
        waiting.scheduled = !self.is_over;
        next
    }

    fn hear(&self, event: E) {
        let is_last = event.is_last();
        // Only a thread that is in the group uses it.
        let Some(mut callback) = self.events.callback.try_lock() else { return };
        if let Some(hear) = callback.as_mut() {
            hear(event);
        }
        // What it holds is the user's, and may be anything: it goes when the lock is free.
        let over = if is_last { callback.take() } else { None };
        drop(callback);
        drop(over);
    }
}

impl<E: Event> Drop for Running<'_, E> {
    fn drop(&mut self) {
        if !self.is_over {
            let mut waiting = lock(&self.events.waiting);
            waiting.scheduled = false;
            self.events.schedule(waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ready::{NodeQueue, ReadyQueue};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::channel;

    const MOST: Most = Most { count: 100, bytes: 1000 };

    impl Event for usize {
        fn bytes(&self) -> usize {
            *self
        }

        fn is_last(&self) -> bool {
            *self == 0
        }
    }

    fn queue() -> Arc<ReadyQueue> {
        let reactor = runnel_io::Reactor::new().unwrap();
        Arc::new(ReadyQueue::new(reactor.waker().clone()))
    }

    /// What is heard of events of these lengths, and how many were dropped.
    fn heard(lengths: &[usize]) -> (Vec<usize>, u64) {
        let (heard, told) = channel();
        let events =
            Events::new(MOST, When::Spun(NodeQueue::new(queue())), move |event| heard.send(event).unwrap());
        lengths.iter().for_each(|length| events.push(*length));
        events.run_due();
        (told.try_iter().collect(), events.dropped())
    }

    #[test]
    fn the_oldest_goes_for_newer_when_there_are_many_or_they_are_long() {
        assert_eq!(heard(&[1; 102]), (vec![1; 100], 2));
        assert_eq!(heard(&[500, 500]), (vec![500, 500], 0));
        assert_eq!(heard(&[3, 500, 500]), (vec![500, 500], 1));
        assert_eq!(heard(&[500, 500, 1, 1000]), (vec![1000], 3));
        assert_eq!(heard(&[1, 1001]), (vec![1001], 1), "one always has room");
        assert_eq!(heard(&[1001, 1]), (vec![1], 1));
    }

    #[test]
    fn the_last_one_has_room_and_ends_the_hearing() {
        let all = [vec![1; 100], vec![0]].concat();
        assert_eq!(heard(&all), (all.clone(), 0));
        assert_eq!(heard(&[1, 0, 1]), (vec![1, 0], 0));
    }

    #[test]
    fn a_callback_that_panics_hears_of_the_next_event_in_its_turn() {
        let (ready, (heard, told)) = (queue(), channel());
        let events =
            Events::new(MOST, When::Spun(NodeQueue::new(Arc::clone(&ready))), move |event: usize| {
                assert_ne!(event, 1, "as it is to");
                heard.send(event).unwrap();
            });
        [1, 2].into_iter().for_each(|event| events.push(event));
        let due = ready.pop().unwrap();
        catch_unwind(AssertUnwindSafe(|| due.run())).unwrap_err();
        ready.pop().unwrap().run();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_is_forgotten_is_not_heard() {
        let (ready, (heard, told)) = (queue(), channel());
        let events = Events::new(MOST, When::Spun(NodeQueue::new(Arc::clone(&ready))), move |event| {
            heard.send(event).unwrap()
        });
        events.push(5);
        events.forget();
        assert!(ready.pop().is_none());
        events.push(6);
        events.run_due();
        assert_eq!(told.try_iter().collect::<Vec<usize>>(), [6]);
    }

    #[test]
    fn events_are_due_again_once_those_before_were_taken() {
        let ready = queue();
        let events = Events::new(MOST, When::Spun(NodeQueue::new(Arc::clone(&ready))), |_: usize| {
            panic!("it was taken")
        });
        for event in [5, 6] {
            events.push(event);
            assert_eq!((ready.len(), events.is_ready()), (1, true));
            assert_eq!((events.take(), events.take()), (Some(event), None));
            assert_eq!((ready.len(), events.is_ready()), (0, false));
        }
    }
}
