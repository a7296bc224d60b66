//! From the state of a checkpoint to the host's objects.

use std::time::Duration;

use super::state::{EntityData, ParameterState, State};
use crate::host::{Description, Entity, Event, EventKind, GuestClock, Host};
use crate::imports::{self, close, create_at, restore_parameter};
use crate::refusal::{Refusal, Refused};

/// Whether the guest's host before goes on to serve what it had begun.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Restoring {
    /// From a checkpoint: its calls, and requests and goals of others, have ended with the host.
    Checkpoint,
    /// From another host, which answers them.
    Move,
}

/// Creates the entities that a guest has, as far as they are not there. Those that act by themselves are created only by
/// [`restore_entities`].
pub fn create_entities<'a>(
    host: &mut Host,
    definitions: &[(String, String)],
    entities: impl Iterator<Item = (u32, &'a Description)>,
) -> Result<(), String> {
    for definition @ (name, text) in definitions {
        if host.types.definitions().contains(definition) {
            continue;
        }
        host.types.define(name, text).map_err(|refusal| format!("type {name}: {}", text_of(refusal)))?;
    }
    for (handle, description) in entities {
        let named = |refusal| format!("its entity {handle}: {}", text_of(refusal));
        if host.entities.description(handle) == Some(description) {
            continue;
        }
        let acts = matches!(description, Description::Timer(_) | Description::ActionServer(_));
        if acts && host.is_expected {
            check(host, description).map_err(named)?;
            host.entities.skip_to(handle.saturating_add(1)).map_err(named)?;
            continue;
        }
        host.entities.skip_to(handle).map_err(named)?;
        host.entities.check_room().map_err(named)?;
        create_at(host, handle, description.clone()).map_err(named)?;
    }
    Ok(())
}

/// Refuses an entity that could not be created later.
fn check(host: &Host, description: &Description) -> Result<(), Refusal> {
    match description {
        Description::ActionServer(action) => imports::check_server(host, action),
        Description::Timer(timer) => host.entities.node(timer.node).map(|_| ()),
        _ => Ok(()),
    }
}

/// Gives a guest that runs from now on what acts by itself.
pub fn restore_acting(host: &mut Host, state: &State) -> Result<(), String> {
    let described = state.entities.iter().map(|(handle, entity)| (*handle, &entity.description));
    create_entities(host, &state.definitions, described)?;
    for (handle, entity) in &state.entities {
        if let EntityData::TimeLeft(left) = &entity.data {
            let timer = host.entities.timer(*handle).map_err(text_of)?;
            match left {
                Some(left) => timer.reset_after(Duration::from_nanos(*left)),
                None => timer.cancel(),
            }
        }
    }
    Ok(())
}

/// Gives a guest what it had. It does not run yet.
pub fn restore_entities(host: &mut Host, state: &State, restoring: Restoring) -> Result<(), String> {
    if !state.entities.is_sorted_by(|(one, _), (next, _)| one < next) {
        return Err("its handles are damaged".to_owned());
    }
    if state.entities.len() > host.manifest.limits.entities {
        return Err(format!("it has {} entities, more than limits.entities", state.entities.len()));
    }
    let described = state.entities.iter().map(|(handle, entity)| (*handle, &entity.description));
    create_entities(host, &state.definitions, described)?;
    if !host.is_expected {
        restore_acting(host, state)?;
    }
    let is_open = |handle| state.entities.binary_search_by_key(&handle, |(of, _)| *of).is_ok();
    let closed: Vec<u32> = host.entities.all().filter(|(_, slot)| slot.is_some()).map(|(of, _)| of).collect();
    for handle in closed.into_iter().filter(|handle| !is_open(*handle)) {
        close(host, handle).map_err(text_of)?;
    }
    for (handle, entity) in &state.entities {
        let named = |refusal| format!("its entity {handle}: {}", text_of(refusal));
        restore_data(host, *handle, &entity.data, restoring).map_err(named)?;
    }
    host.entities.skip_to(state.handles.saturating_add(1)).map_err(text_of)?;
    host.events.restore_id(state.next_id);
    restore_events(host, state, restoring)?;
    host.clock = GuestClock::starting_at(Duration::from_nanos(state.clock));
    host.last_error.clone_from(&state.last_error);
    host.console.restore(&state.lines);
    Ok(())
}

fn restore_events(host: &Host, state: &State, restoring: Restoring) -> Result<(), String> {
    for event in state.events.iter().filter(|event| restoring == Restoring::Move || is_still_valid(event)) {
        if !host.events.push(event.clone()) {
            return Err("its events have more bytes than limits.queue".to_owned());
        }
    }
    if restoring == Restoring::Move {
        return Ok(());
    }
    let calls = state.calls.iter().map(|&(id, client)| (EventKind::Response, client, id));
    let goals = state.goals.iter().map(|&(id, client)| (EventKind::GoalResult, client, id));
    for (kind, handle, id) in calls.chain(goals) {
        let text = "the node was restored from a checkpoint before the answer came";
        let (status, text) = (Refused::Unavailable.status(), text.as_bytes().to_vec());
        host.events.push_always(Event::new(kind, handle, id).status(status).payload(text));
    }
    Ok(())
}

/// Requests and goals of others ended with the host that had received them.
fn is_still_valid(event: &Event) -> bool {
    !matches!(event.kind, EventKind::Request | EventKind::GoalRequest | EventKind::CancelRequest)
}

fn restore_data(
    host: &mut Host,
    handle: u32,
    data: &EntityData,
    restoring: Restoring,
) -> Result<(), Refusal> {
    match data {
        EntityData::None => {}
        EntityData::Parameters(parameters) => {
            parameters.iter().try_for_each(|ParameterState { name, value, is_read_only }| {
                restore_parameter(host, handle, name, (value, *is_read_only))
            })?;
        }
        EntityData::Kept(messages) => {
            let publisher = host.entities.publisher(handle)?;
            for message in messages {
                match restoring {
                    Restoring::Checkpoint => publisher.publish(message)?,
                    Restoring::Move => publisher.keep(message)?,
                }
            }
        }
        EntityData::Received(positions) => match (host.entities.get(handle), restoring) {
            (Some(Entity::Subscription(subscription)), Restoring::Checkpoint) => {
                subscription.incoming.restore(positions);
            }
            // Its messages follow those that the guest had received.
            (Some(Entity::Subscription(_)), Restoring::Move) => {}
            _ => return Err(Refusal::no_such_handle(handle, "subscription")),
        },
        EntityData::Requests(_) => {
            host.entities.service(handle)?;
        }
        // See `restore_acting`.
        EntityData::TimeLeft(_) => {}
    }
    Ok(())
}

fn text_of(refusal: Refusal) -> String {
    match refusal {
        Refusal::Error(_, text) => text,
        Refusal::Trap(error) => format!("{error:#}"),
    }
}
