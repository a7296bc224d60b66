//! One goal of a client, and the calls that its user gets.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use runnel_core::time::{Instant, Time};
use runnel_core::wire::Bytes;

use super::conversation::{Conversation, Heard};
use crate::data::{EventLimit, Events};
use crate::goal_status::{GoalId, GoalStatus};
use crate::ready::{Listeners, Waitable, When};
use crate::sync::{Class, Mutex, lock};

/// Feedback that waits for a callback at most.
const LIMIT: EventLimit = EventLimit { count: 100, bytes: 64 << 20 };

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

/// The calls that the user of one goal gets, from whoever spins or waits for the goal.
pub(super) type Calls = Events<Event>;

/// Those calls by a callback.
pub(super) fn calls(when: When, callback: Callback) -> Arc<Calls> {
    Events::new(LIMIT, when, callback)
}

/// A goal that a client has sent.
pub(super) struct Goal {
    pub(super) id: GoalId,
    /// When it was set.
    pub(super) stamp: Time,
    state: Mutex<State>,
    calls: Option<Arc<Calls>>,
    /// Waiters for its end.
    listeners: Listeners,
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
        let state = Mutex::new(Class::ClientGoal, state);
        Self { id, stamp, state, calls, listeners: Listeners::new(), complained: AtomicBool::new(false) }
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
    pub(super) fn hear_result(&self, status: GoalStatus, text: &str, result: Bytes<'_>) -> Heard {
        let mut state = lock(&self.state);
        let heard = state.conversation.hear_result(status, text);
        if heard == Heard::End && state.conversation.status() != GoalStatus::Lost {
            state.result = Some(result.to_cow().into());
        }
        drop(state);
        self.tell_end(heard)
    }

    /// Feedback has come.
    pub(super) fn hear_feedback(&self, feedback: Bytes<'_>) {
        if let Some(calls) = &self.calls
            && self.end().is_none()
        {
            calls.push(Event::Feedback(feedback.to_vec()));
        }
    }

    fn tell_end(&self, heard: Heard) -> Heard {
        if heard == Heard::End {
            if let (Some(calls), Some(end)) = (&self.calls, self.end()) {
                calls.push(Event::End(end));
            }
            self.listeners.notify();
        }
        heard
    }
}

/// It is ready once it has ended.
impl Waitable for Goal {
    fn is_ready(&self) -> bool {
        lock(&self.state).conversation.is_done()
    }

    fn listeners(&self) -> &Listeners {
        &self.listeners
    }
}

impl crate::data::Event for Event {
    fn bytes(&self) -> usize {
        match self {
            Self::Feedback(bytes) => bytes.len(),
            Self::End(_) => 0,
        }
    }

    fn is_last(&self) -> bool {
        matches!(self, Self::End(_))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::ready::Signal;

    #[test]
    fn end_of_a_goal_wakes_its_waiter() {
        let reactor = runnel_io::Reactor::new().unwrap();
        let signal = Signal::new(reactor.waker().clone());
        let goal = Goal::new(GoalId::from("1"), Time::default(), None);
        goal.listeners().add(&Waker::from(Arc::clone(&signal)));
        assert!(signal.begin_polling() && !goal.is_ready());
        goal.hear_result(GoalStatus::Succeeded, "", Bytes::from(&[][..]));
        assert!(goal.is_ready() && !signal.begin_polling());
    }
}
