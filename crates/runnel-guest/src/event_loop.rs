//! The event loop: it receives events of the host and runs the callbacks of their entities.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runnel_core::sorted::SortedMap;

use crate::abi::{Event, EventKind, Handle};
use crate::error::Error;
use crate::host;

/// Limit of the messages that wait while the program waits for the response of a call.
const MOST_DEFERRED: usize = 1000;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// A subscription, timer, service or action server.
    Entity(Handle),
    /// A call of a client, by its id.
    Call(u64),
    /// A goal of a client, by its id.
    Goal(u64),
    /// Changes of the parameters of a node; the second number tells its callbacks apart.
    Parameters(Handle, u32),
}

/// Runs for an event and its payload.
pub(crate) type Callback = Box<dyn FnMut(&Event, &[u8]) + Send>;

struct State {
    /// `None` while the callback runs.
    callbacks: SortedMap<Source, Option<Callback>>,
    /// Events that were received while the program waited for a response.
    deferred: VecDeque<(Event, Vec<u8>)>,
    /// The payload of the last event, whose memory is used again.
    payload: Vec<u8>,
    is_shutting_down: bool,
}

static STATE: Mutex<State> = Mutex::new(State {
    callbacks: SortedMap::new(),
    deferred: VecDeque::new(),
    payload: Vec::new(),
    is_shutting_down: false,
});

/// There is one thread, and no function of this module runs foreign code while it holds the lock.
fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The host is asked too, since a program that does not wait for events never receives the last one.
pub(crate) fn is_shutting_down() -> bool {
    state().is_shutting_down || host::is_shutting_down()
}

/// Ends spinning.
pub(crate) fn shut_down() {
    state().is_shutting_down = true;
}

pub(crate) fn add(source: Source, callback: Callback) {
    let replaced = state().callbacks.insert(source, Some(callback));
    drop(replaced);
}

/// Removes a callback. It may be the one that runs.
pub(crate) fn remove(source: Source) {
    let removed = state().callbacks.remove(&source);
    drop(removed);
}

/// Waits at most `timeout` for an event and runs its callback. False if none was received.
pub(crate) fn run_once(timeout: Duration) -> Result<bool, Error> {
    let deferred = state().deferred.pop_front();
    if let Some((event, payload)) = deferred {
        dispatch(&event, &payload);
        return Ok(true);
    }
    let mut payload = mem::take(&mut state().payload);
    let event = receive(timeout, &mut payload)?;
    dispatch(&event, &payload);
    state().payload = payload;
    Ok(event.kind != EventKind::NONE)
}

/// Runs the callbacks for a parameter that the program itself has changed.
pub(crate) fn change_parameter(node: Handle, parameter: &[u8]) {
    dispatch_parameter(&Event { kind: EventKind::PARAMETER, handle: node, ..Event::default() }, parameter);
}

/// Waits for the end of a call. Other events wait until the loop runs again.
pub(crate) fn wait_for_response(call: u64) -> Result<(Event, Vec<u8>), Error> {
    loop {
        let mut payload = Vec::new();
        let event = receive(Duration::MAX, &mut payload)?;
        match event.kind {
            EventKind::RESPONSE if event.id == call => return Ok((event, payload)),
            EventKind::SHUTDOWN => return Err(Error::ShuttingDown),
            EventKind::NONE => {}
            _ => defer(event, payload),
        }
    }
}

fn receive(timeout: Duration, payload: &mut Vec<u8>) -> Result<Event, Error> {
    let received = host::wait(timeout, payload);
    if matches!(received, Err(Error::ShuttingDown) | Ok(Event { kind: EventKind::SHUTDOWN, .. })) {
        shut_down();
    }
    received
}

/// Keeps an event. A timer ticks once for many; the oldest message goes if there are too many.
fn defer(event: Event, payload: Vec<u8>) {
    let deferred = &mut state().deferred;
    let is_tick = event.kind == EventKind::TIMER;
    let is_same_tick =
        |(other, _): &(Event, _)| other.kind == EventKind::TIMER && other.handle == event.handle;
    if is_tick && deferred.iter().any(is_same_tick) {
        return;
    }
    if deferred.len() >= MOST_DEFERRED {
        let oldest = deferred.iter().position(|(other, _)| other.kind == EventKind::MESSAGE);
        oldest.map(|oldest| deferred.remove(oldest));
    }
    deferred.push_back((event, payload));
}

fn dispatch(event: &Event, payload: &[u8]) {
    let source = match event.kind {
        EventKind::NONE | EventKind::SHUTDOWN => return,
        EventKind::RESPONSE => Source::Call(event.id),
        EventKind::FEEDBACK | EventKind::GOAL_RESULT => Source::Goal(event.id),
        EventKind::PARAMETER => return dispatch_parameter(event, payload),
        _ => Source::Entity(event.handle),
    };
    run(source, event, payload);
    if matches!(event.kind, EventKind::RESPONSE | EventKind::GOAL_RESULT) {
        remove(source);
    }
}

fn dispatch_parameter(event: &Event, payload: &[u8]) {
    let of_node = Source::Parameters(event.handle, 0)..=Source::Parameters(event.handle, u32::MAX);
    let sources: Vec<Source> = state().callbacks.range(of_node).map(|(source, _)| *source).collect();
    sources.into_iter().for_each(|source| run(source, event, payload));
}

/// Runs a callback, which may add and remove callbacks, and run the loop.
fn run(source: Source, event: &Event, payload: &[u8]) {
    let callback = state().callbacks.get_mut(&source).and_then(Option::take);
    let Some(mut callback) = callback else { return };
    callback(event, payload);
    let mut callback = Some(callback);
    if let Some(slot) = state().callbacks.get_mut(&source) {
        *slot = callback.take();
    }
    // Removed meanwhile: what it owns may use this module, so it is dropped without the lock.
    drop(callback);
}
