//! Queue of events for a user's callback, which runs for one event at a time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::callback_group::{CallbackScheduler, Entered, ExclusiveGroup};
use crate::ready::{Dispatch, Listeners, Task, Waitable};
use crate::sync::{Class, Mutex, MutexGuard, TryMutex, lock};

/// An event that a callback handles.
pub(crate) trait Event: Send + 'static {
    /// Its size in bytes.
    fn bytes(&self) -> usize;

    /// True if no event follows. It is never dropped, and the callback is dropped after it.
    fn is_last(&self) -> bool {
        false
    }
}

/// Limit of waiting events: the oldest is dropped for newer ones. An empty queue accepts any event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventLimit {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
}

type Callback<E> = Box<dyn FnMut(E) + Send>;

/// Events for one callback, in order and one at a time.
pub(crate) struct Events<E> {
    waiting: Mutex<Waiting<E>>,
    callback: TryMutex<Option<Callback<E>>>,
    limit: EventLimit,
    dropped: AtomicU64,
    scheduler: CallbackScheduler,
}

struct Waiting<E> {
    events: VecDeque<E>,
    bytes: usize,
    /// It is in the ready queue, waits for its group, or its callback runs.
    scheduled: bool,
}

impl<E: Event> Events<E> {
    pub(crate) fn new(
        limit: EventLimit,
        dispatch: Dispatch,
        callback: impl FnMut(E) + Send + 'static,
    ) -> Arc<Self> {
        Self::in_group(limit, (dispatch, &Arc::new(ExclusiveGroup::new())), callback)
    }

    /// Events whose callback belongs to a callback group.
    pub(crate) fn in_group(
        limit: EventLimit,
        (dispatch, group): (Dispatch, &Arc<ExclusiveGroup>),
        callback: impl FnMut(E) + Send + 'static,
    ) -> Arc<Self> {
        let waiting = Waiting { events: VecDeque::new(), bytes: 0, scheduled: false };
        Arc::new_cyclic(|myself| Self {
            waiting: Mutex::new(Class::EventQueue, waiting),
            callback: TryMutex::new(Some(Box::new(callback))),
            limit,
            dropped: AtomicU64::new(0),
            scheduler: CallbackScheduler::in_group(dispatch, group, myself),
        })
    }

    /// Events dropped because the callback was too slow.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Queues an event.
    pub(crate) fn push(&self, event: E) {
        let mut waiting = lock(&self.waiting);
        while waiting.is_full(&event, self.limit) {
            waiting.pop();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        waiting.bytes += event.bytes();
        waiting.events.push_back(event);
        self.schedule(waiting);
    }

    /// Takes the oldest event in place of the callback.
    pub(crate) fn take(&self) -> Option<E> {
        let mut waiting = lock(&self.waiting);
        let event = waiting.pop();
        if waiting.events.is_empty() && self.scheduler.unqueue() {
            waiting.scheduled = false;
        }
        event
    }

    /// Runs the callback now for all waiting events, unless another thread is about to.
    pub(crate) fn run_due(&self) {
        while self.scheduler.has_callback() && self.is_ready() && self.scheduler.unqueue() {
            self.run();
        }
    }

    /// Drops all waiting events.
    pub(crate) fn forget(&self) {
        let waiting = {
            let mut waiting = lock(&self.waiting);
            (waiting.bytes, waiting.scheduled) = (0, false);
            std::mem::take(&mut waiting.events)
        };
        self.scheduler.unqueue();
        // The events can own anything, so they are dropped without the lock.
        drop(waiting);
    }

    fn schedule(&self, mut waiting: MutexGuard<'_, Waiting<E>>) {
        let due = !waiting.events.is_empty() && !std::mem::replace(&mut waiting.scheduled, true);
        drop(waiting);
        if due {
            self.scheduler.push();
        }
    }
}

impl<E: Event> Waiting<E> {
    /// True if the oldest event must be dropped for this one.
    fn is_full(&self, event: &E, limit: EventLimit) -> bool {
        let too_much = self.events.len() >= limit.count || self.bytes + event.bytes() > limit.bytes;
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
        self.scheduler.listeners()
    }
}

impl<E: Event> Task for Events<E> {
    fn run(&self) {
        let Some(entered) = self.scheduler.enter("the callback of an event") else { return };
        let mut running = Running { events: self, is_finished: false, _entered: entered };
        while let Some(event) = running.next() {
            running.call(event);
        }
    }

    fn dispatch(&self) -> Option<&Dispatch> {
        Some(self.scheduler.dispatch())
    }
}

/// A running callback. When it ends by a panic, it is scheduled again for the next event.
struct Running<'a, E: Event> {
    events: &'a Events<E>,
    /// No event waits any more.
    is_finished: bool,
    _entered: Entered<'a>,
}

impl<E: Event> Running<'_, E> {
    /// The next event. If there is none, the next one schedules the callback again.
    fn next(&mut self) -> Option<E> {
        let mut waiting = lock(&self.events.waiting);
        let next = waiting.pop();
        self.is_finished = next.is_none();
        waiting.scheduled = !self.is_finished;
        next
    }

    fn call(&self, event: E) {
        let is_last = event.is_last();
        // Only a thread in the group uses it.
        let Some(mut callback) = self.events.callback.try_lock() else { return };
        if let Some(call) = callback.as_mut() {
            call(event);
        }
        // The callback can own anything of the user's, so it is dropped without the lock.
        let finished = if is_last { callback.take() } else { None };
        drop(callback);
        drop(finished);
    }
}

impl<E: Event> Drop for Running<'_, E> {
    fn drop(&mut self) {
        if !self.is_finished {
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

    const LIMIT: EventLimit = EventLimit { count: 100, bytes: 1000 };

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

    /// Handles events of these lengths. Returns those that the callback got, and how many were dropped.
    fn received(lengths: &[usize]) -> (Vec<usize>, u64) {
        let (sender, received) = channel();
        let dispatch = Dispatch::Executor(NodeQueue::new(queue()));
        let events = Events::new(LIMIT, dispatch, move |event| sender.send(event).unwrap());
        lengths.iter().for_each(|length| events.push(*length));
        events.run_due();
        (received.try_iter().collect(), events.dropped())
    }

    #[test]
    fn oldest_events_are_dropped_beyond_count_or_bytes() {
        assert_eq!(received(&[1; 102]), (vec![1; 100], 2));
        assert_eq!(received(&[500, 500]), (vec![500, 500], 0));
        assert_eq!(received(&[3, 500, 500]), (vec![500, 500], 1));
        assert_eq!(received(&[500, 500, 1, 1000]), (vec![1000], 3));
        assert_eq!(received(&[1, 1001]), (vec![1001], 1), "one always has room");
        assert_eq!(received(&[1001, 1]), (vec![1], 1));
    }

    #[test]
    fn last_event_is_never_dropped_and_ends_callback() {
        let all = [vec![1; 100], vec![0]].concat();
        assert_eq!(received(&all), (all.clone(), 0));
        assert_eq!(received(&[1, 0, 1]), (vec![1, 0], 0));
    }

    #[test]
    fn panicking_callback_gets_next_event() {
        let (ready, (sender, received)) = (queue(), channel());
        let dispatch = Dispatch::Executor(NodeQueue::new(Arc::clone(&ready)));
        let events = Events::new(LIMIT, dispatch, move |event: usize| {
            assert_ne!(event, 1, "the panic of this test");
            sender.send(event).unwrap();
        });
        [1, 2].into_iter().for_each(|event| events.push(event));
        let due = ready.pop().unwrap();
        catch_unwind(AssertUnwindSafe(|| due.run())).unwrap_err();
        ready.pop().unwrap().run();
        assert_eq!(received.try_iter().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn forgotten_events_reach_no_callback() {
        let (ready, (sender, received)) = (queue(), channel());
        let dispatch = Dispatch::Executor(NodeQueue::new(Arc::clone(&ready)));
        let events = Events::new(LIMIT, dispatch, move |event| sender.send(event).unwrap());
        events.push(5);
        events.forget();
        assert!(ready.pop().is_none());
        events.push(6);
        events.run_due();
        assert_eq!(received.try_iter().collect::<Vec<usize>>(), [6]);
    }

    #[test]
    fn event_is_due_after_earlier_ones_were_taken() {
        let ready = queue();
        let dispatch = Dispatch::Executor(NodeQueue::new(Arc::clone(&ready)));
        let events = Events::new(LIMIT, dispatch, |_: usize| panic!("it was taken"));
        for event in [5, 6] {
            events.push(event);
            assert_eq!((ready.len(), events.is_ready()), (1, true));
            assert_eq!((events.take(), events.take()), (Some(event), None));
            assert_eq!((ready.len(), events.is_ready()), (0, false));
        }
    }
}
