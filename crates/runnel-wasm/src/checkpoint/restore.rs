//! From the state of a checkpoint to the host's objects.

use std::time::Duration;

use super::state::{EntityData, ParameterState, State};
use crate::host::{Entity, Event, EventKind, GuestClock, Host};
use crate::imports::{create, restore_parameter};
use crate::refusal::{Refusal, Refused};

/// Gives a new guest what one had at a checkpoint. The guest does not run yet.
pub fn restore_entities(host: &mut Host, state: &State) -> Result<(), String> {
    for (name, text) in &state.definitions {
        host.types.define(name, text).map_err(|refusal| format!("type {name}: {}", text_of(refusal)))?;
    }
    for (handle, entity) in &state.entities {
        let named = |refusal| format!("its entity {handle}: {}", text_of(refusal));
        host.entities.skip_to(*handle).map_err(named)?;
        let created = create(host, entity.description.clone()).map_err(named)?;
        if u32::try_from(created) != Ok(*handle) {
            return Err("its handles are damaged".to_owned());
        }
        restore_data(host, *handle, &entity.data).map_err(named)?;
    }
    host.entities.skip_to(state.handles.saturating_add(1)).map_err(text_of)?;
    host.events.restore_id(state.next_id);
    for event in state.events.iter().filter(|event| is_still_valid(event)) {
        if !host.events.push(event.clone()) {
            return Err("its events have more bytes than limits.queue".to_owned());
        }
    }
    let lost = |text: &str| (Refused::Unavailable.status(), text.as_bytes().to_vec());
    let calls = state.calls.iter().map(|&(id, client)| (EventKind::Response, client, id));
    let goals = state.goals.iter().map(|&(id, client)| (EventKind::GoalResult, client, id));
    for (kind, handle, id) in calls.chain(goals) {
        let (status, text) = lost("the node was restored from a checkpoint before the answer came");
        host.events.push_always(Event::new(kind, handle, id).status(status).payload(text));
    }
    host.clock = GuestClock::starting_at(Duration::from_nanos(state.clock));
    host.last_error.clone_from(&state.last_error);
    host.console.restore(&state.lines);
    Ok(())
}

/// Requests and goals of others ended with the host that had received them.
fn is_still_valid(event: &Event) -> bool {
    !matches!(event.kind, EventKind::Request | EventKind::GoalRequest | EventKind::CancelRequest)
}

fn restore_data(host: &mut Host, handle: u32, data: &EntityData) -> Result<(), Refusal> {
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
                publisher.publish(message)?;
            }
        }
        EntityData::Received(numbers) => match host.entities.get(handle) {
            Some(Entity::Subscription(subscription)) => subscription.received.restore(numbers),
            _ => return Err(Refusal::no_such_handle(handle, "subscription")),
        },
        EntityData::TimeLeft(Some(left)) => {
            host.entities.timer(handle)?.reset_after(Duration::from_nanos(*left))
        }
        EntityData::TimeLeft(None) => host.entities.timer(handle)?.cancel(),
    }
    Ok(())
}

fn text_of(refusal: Refusal) -> String {
    match refusal {
        Refusal::Error(_, text) => text,
        Refusal::Trap(error) => format!("{error:#}"),
    }
}
