//! The event loop: it receives events of the host and runs the callbacks of their entities.

mod deferred;

use std::mem;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runnel_core::sorted::SortedMap;

use crate::abi::{Event, EventKind, Handle};
use crate::error::Error;
use crate::host::{self, actions, services};
use deferred::Deferred;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// A subscription, timer, service or action server.
    Entity(Handle),
    /// A call of a client, by its id.
    Call(u64),
    /// A goal of a client, by its id.
    Goal(u64),
    /// Changes of the parameters of a node; the second number is that of a callback.
    Parameters(Handle, u32),
}

/// Runs for an event and its payload.
pub(crate) type Callback = Box<dyn FnMut(&Event, &[u8]) + Send>;

struct State {
    callbacks: SortedMap<Source, Slot>,
    deferred: Deferred,
    /// The payload of the last event, whose memory is used again.
    payload: Vec<u8>,
    is_shutting_down: bool,
}

/// Place of a callback.
struct Slot {
    /// `None` while it runs.
    callback: Option<Callback>,
    /// How many messages wait for it, at most.
    depth: usize,
}

static STATE: Mutex<State> = Mutex::new(State {
    callbacks: SortedMap::new(),
    deferred: Deferred::new(),
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
    add_with_depth(source, callback, usize::MAX);
}

/// Adds a callback for which at most `depth` messages wait.
pub(crate) fn add_with_depth(source: Source, callback: Callback, depth: usize) {
    let replaced = state().callbacks.insert(source, Slot { callback: Some(callback), depth });
    drop(replaced);
}

/// Removes a callback. It may be the one that runs.
pub(crate) fn remove(source: Source) {
    let removed = state().callbacks.remove(&source);
    drop(removed);
}

/// Waits at most `timeout` for an event and runs its callback. False if none was received.
pub(crate) fn run_once(timeout: Duration) -> Result<bool, Error> {
    let deferred = state().next_deferred();
    if let Some((event, payload)) = deferred {
        dispatch(&event, &payload);
        return Ok(true);
    }
    let mut payload = mem::take(&mut state().payload);
    let event = receive(timeout, &mut payload)?;
    if is_busy(&state().callbacks, &event) {
        // The loop is nested in that callback, which has to return first.
        defer(event, payload.clone());
    } else {
        dispatch(&event, &payload);
    }
    state().payload = payload;
    Ok(event.kind != EventKind::NONE)
}

/// Runs the callbacks for a parameter that the program itself has changed, but not one that runs: a callback that sets a
/// parameter would run for ever.
pub(crate) fn change_parameter(node: Handle, parameter: &[u8]) {
    dispatch(&Event { kind: EventKind::PARAMETER, handle: node, ..Event::default() }, parameter);
}

/// Drops the tick of a timer that waits.
pub(crate) fn forget_tick(timer: Handle) {
    state().deferred.remove_tick(timer);
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

/// Keeps an event for its callback. A request or goal for which there is no room is refused.
fn defer(event: Event, payload: Vec<u8>) {
    if state().defer(event, payload) {
        return;
    }
    let why = "too many bytes wait for the node";
    // The host has nothing to refuse if the entity is closed.
    let _ = match event.kind {
        EventKind::REQUEST => services::refuse(event.id, why),
        EventKind::GOAL_REQUEST => actions::reject_goal(event.id, why),
        _ => Ok(()),
    };
}

impl State {
    /// False if there is no room for the event. One without a callback is dropped.
    fn defer(&mut self, event: Event, payload: Vec<u8>) -> bool {
        let depth = self.callbacks.range(sources(&event)).map(|(_, slot)| slot.depth).max();
        depth.is_none_or(|depth| self.deferred.push(event, payload, depth))
    }

    /// Removes the oldest event whose callback does not run.
    fn next_deferred(&mut self) -> Option<(Event, Vec<u8>)> {
        let Self { callbacks, deferred, .. } = self;
        deferred.pop(|event| !is_busy(callbacks, event))
    }
}

/// Whether a callback of an event runs.
fn is_busy(callbacks: &SortedMap<Source, Slot>, event: &Event) -> bool {
    callbacks.range(sources(event)).any(|(_, slot)| slot.callback.is_none())
}

/// The sources of an event: one, or all callbacks for a node's parameters. Other events have no callbacks.
fn sources(event: &Event) -> RangeInclusive<Source> {
    let source = match event.kind {
        EventKind::PARAMETER => {
            return Source::Parameters(event.handle, 0)..=Source::Parameters(event.handle, u32::MAX);
        }
        EventKind::RESPONSE => Source::Call(event.id),
        EventKind::FEEDBACK | EventKind::GOAL_RESULT => Source::Goal(event.id),
        _ => Source::Entity(event.handle),
    };
    source..=source
}

/// Runs the callbacks of an event.
fn dispatch(event: &Event, payload: &[u8]) {
    let sources = sources(event);
    if event.kind == EventKind::PARAMETER {
        let sources: Vec<Source> = state().callbacks.range(sources).map(|(source, _)| *source).collect();
        return sources.into_iter().for_each(|source| run(source, event, payload));
    }
    let source = *sources.start();
    run(source, event, payload);
    if matches!(event.kind, EventKind::RESPONSE | EventKind::GOAL_RESULT) {
        remove(source);
    }
}

/// Runs a callback, which may add and remove callbacks, and run the loop.
fn run(source: Source, event: &Event, payload: &[u8]) {
    let callback = state().callbacks.get_mut(&source).and_then(|slot| slot.callback.take());
    let Some(mut callback) = callback else { return };
    callback(event, payload);
    let mut callback = Some(callback);
    if let Some(slot) = state().callbacks.get_mut(&source) {
        slot.callback = callback.take();
    }
    // Removed meanwhile: what it owns may use this module, so it is dropped without the lock.
    drop(callback);
}
