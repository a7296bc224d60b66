//! One goal of a client, and the calls that its user gets.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError, Weak};

use runnel_core::time::{Instant, Time};

use super::GoalId;
use super::conversation::{Conversation, Heard};
use super::status::GoalStatus;
use crate::data::{ReadyQueue, Runnable};
use crate::sync::lock;

/// Feedback that waits for a callback at most: the oldest is dropped for newer.
const WAITING: usize = 100;

/// Bytes of that. One is always held, however long.
const MAX_BYTES: usize = 64 << 20;

/// How a goal ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) status: GoalStatus,
    pub(super) text: String,
    /// The result's bytes, if one came.
    pub(super) result: Option<Arc<[u8]>>,
}

/// What the user is told of a goal.
pub(super) enum Event {
    Feedback(Vec<u8>),
    End(Ended),
}

/// What tells the user.
pub(super) type Callback = Box<dyn FnMut(Event) + Send>;

/// A goal that a client has sent.
pub(super) struct Goal {
    pub(super) id: GoalId,
    /// When it was set.
    pub(super) stamp: Time,
    state: Mutex<State>,
    calls: Option<Arc<Calls>>,
    /// The server has said something of it that made no sense, which was logged.
    pub(super) complained: AtomicBool,
}

struct State {
    conversation: Conversation,
    result: Option<Arc<[u8]>>,
}

impl Goal {
    pub(super) fn new(id: GoalId, stamp: Time, calls: Option<Arc<Calls>>) -> Self {
        let state = State { conversation: Conversation::new(), result: None };
        Self { id, stamp, state: Mutex::new(state), calls, complained: AtomicBool::new(false) }
    }

    /// How far it has come, and the server's words on that.
    pub(super) fn status(&self) -> (GoalStatus, String) {
        let state = lock(&self.state);
        (state.conversation.status(), state.conversation.text().to_owned())
    }

    /// Whether the server has told of it.
    pub(super) fn is_acknowledged(&self) -> bool {
        lock(&self.state).conversation.is_acknowledged()
    }

    /// How it ended, if it has.
    pub(super) fn end(&self) -> Option<Ended> {
        let State { conversation, result } = &*lock(&self.state);
        let (status, text) = (conversation.status(), conversation.text().to_owned());
        conversation.is_done().then(|| Ended { status, text, result: result.clone() })
    }

    /// The calls that the user gets.
    pub(super) fn calls(&self) -> Option<&Arc<Calls>> {
        self.calls.as_ref()
    }

    /// The user cancels it; true if the server is to be told.
    pub(super) fn cancel(&self) -> bool {
        lock(&self.state).conversation.cancel()
    }

    /// The server's list has come, with this of the goal if anything.
    pub(super) fn hear_status(&self, told: Option<(GoalStatus, &str)>, now: Instant) -> Heard {
        let heard = match (&mut lock(&self.state).conversation, told) {
            (conversation, Some((status, text))) => conversation.hear_status(status, text, now),
            (conversation, None) => conversation.hear_no_status(now),
        };
        self.tell_end(heard)
    }

    /// The result has come.
    pub(super) fn hear_result(&self, status: GoalStatus, text: &str, result: &[u8]) -> Heard {
        let mut state = lock(&self.state);
        let heard = state.conversation.hear_result(status, text);
        if heard == Heard::End && state.conversation.status() != GoalStatus::Lost {
            state.result = Some(result.into());
        }
        drop(state);
        self.tell_end(heard)
    }

    /// Feedback has come.
    pub(super) fn hear_feedback(&self, feedback: &[u8]) {
        if let Some(calls) = &self.calls
            && self.end().is_none()
        {
            calls.push(Event::Feedback(feedback.to_vec()));
        }
    }

    fn tell_end(&self, heard: Heard) -> Heard {
        if heard == Heard::End
            && let (Some(calls), Some(end)) = (&self.calls, self.end())
        {
            calls.push(Event::End(end));
        }
        heard
    }
}

/// The calls that the user of one goal gets, in order and one at a time, from whoever spins or waits for the goal.
pub(super) struct Calls {
    state: Mutex<CallState>,
    /// Gone once it has told the end.
    callback: Mutex<Option<Callback>>,
    dropped: AtomicU64,
    ready: Arc<ReadyQueue>,
    myself: Weak<Calls>,
}

#[derive(Default)]
struct CallState {
    waiting: VecDeque<Event>,
    /// Bytes of the feedback among it.
    bytes: usize,
    /// It stands in the ready queue.
    scheduled: bool,
}

impl Calls {
    pub(super) fn new(ready: Arc<ReadyQueue>, callback: Callback) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            state: Mutex::default(),
            callback: Mutex::new(Some(callback)),
            dropped: AtomicU64::new(0),
            ready,
            myself: myself.clone(),
        })
    }

    /// Feedback that was dropped because the callback was slower than the server.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Runs the callback here and now for all that waits, unless another thread does.
    pub(super) fn run_due(&self) {
        while let Some(due) = self.ready.take(self.myself.as_ptr().cast()) {
            due.run();
        }
    }

    fn push(&self, event: Event) {
        let mut state = lock(&self.state);
        while state.is_full(&event) {
            state.pop();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        state.bytes += event.bytes();
        state.waiting.push_back(event);
        let schedule = !std::mem::replace(&mut state.scheduled, true);
        drop(state);
        if let Some(myself) = self.myself.upgrade().filter(|_| schedule) {
            self.ready.push(myself);
        }
    }

    fn has_waiting(&self) -> bool {
        !lock(&self.state).waiting.is_empty()
    }
}

impl CallState {
    /// Something must go before this has room. The end always has.
    fn is_full(&self, event: &Event) -> bool {
        let too_much = self.waiting.len() >= WAITING || self.bytes + event.bytes() > MAX_BYTES;
        too_much && !self.waiting.is_empty() && matches!(event, Event::Feedback(_))
    }

    fn pop(&mut self) -> Option<Event> {
        let event = self.waiting.pop_front()?;
        self.bytes -= event.bytes();
        Some(event)
    }
}

impl Event {
    fn bytes(&self) -> usize {
        match self {
            Self::Feedback(bytes) => bytes.len(),
            Self::End(_) => 0,
        }
    }
}

impl Runnable for Calls {
    fn run(&self) {
        lock(&self.state).scheduled = false;
        while self.has_waiting() {
            let mut callback = match self.callback.try_lock() {
                Ok(callback) => callback,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                // It runs on another thread, or further down on this thread's stack, and looks again when it is done.
                Err(TryLockError::WouldBlock) => return,
            };
            let event = lock(&self.state).pop();
            let is_end = matches!(event, Some(Event::End(_)));
            if let (Some(event), Some(call)) = (event, callback.as_mut()) {
                call(event);
            }
            // What it holds is the user's, and may be anything.
            let over = if is_end { callback.take() } else { None };
            drop(callback);
            drop(over);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// The lengths of feedback that is heard of feedback of these lengths, and how often some was dropped.
    fn heard(lengths: &[usize]) -> (Vec<usize>, u64) {
        let (heard, told) = channel();
        let callback = Box::new(move |event: Event| heard.send(event.bytes()).unwrap());
        let reactor = runnel_io::Reactor::new().unwrap();
        let calls = Calls::new(Arc::new(ReadyQueue::new(reactor.waker().clone())), callback);
        lengths.iter().for_each(|length| calls.push(Event::Feedback(vec![0; *length])));
        calls.run_due();
        (told.try_iter().collect(), calls.dropped())
    }

    #[test]
    fn the_oldest_feedback_goes_for_newer_when_there_is_much_of_it_or_it_is_long() {
        assert_eq!(heard(&[1; WAITING + 2]), (vec![1; WAITING], 2));
        let half = MAX_BYTES / 2;
        assert_eq!(heard(&[half, half]), (vec![half, half], 0));
        assert_eq!(heard(&[3, half, half]), (vec![half, half], 1));
        assert_eq!(heard(&[half, half, 1, MAX_BYTES]), (vec![MAX_BYTES], 3));
        assert_eq!(heard(&[1, MAX_BYTES + 1]), (vec![MAX_BYTES + 1], 1), "one is always held");
        assert_eq!(heard(&[MAX_BYTES + 1, 1]), (vec![1], 1));
    }
}
