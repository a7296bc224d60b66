//! From the host's objects to the state.

use std::sync::PoisonError;

use runnel::ParameterValue;
use wasmtime::Store;

use super::request::{Captured, Moment, Wanted};
use super::state::{EntityData, EntityState, ParameterState, State};
use super::{Checkpoint, MemoryImage};
use crate::host::{Description, Entity, Host, NodeEntity, Suspended};
use crate::imports::encode_parameter;
use crate::program::ModuleHash;

/// What is wanted of a guest that is suspended.
pub fn capture(
    store: &mut Store<Host>,
    (module, wanted): (ModuleHash, Wanted),
    at: Suspended,
) -> Result<Captured, String> {
    let memory = store.data().memory.ok_or("it has no memory")?;
    match wanted {
        Wanted::Copy(_) | Wanted::Checkpoint if store.data().former.is_some() => Ok(Captured::StillServed),
        Wanted::Checkpoint => {
            let memory = MemoryImage::of(memory.data(&mut *store));
            Ok(Captured::Checkpoint(Box::new(Checkpoint { module, state: state(store, at)?, memory })))
        }
        Wanted::Nothing => {
            count_messages(store.data(), false);
            Ok(Captured::Nothing)
        }
        Wanted::Copy(mut copy) => {
            count_messages(store.data(), true);
            copy.update(memory.data(&mut *store));
            let host = store.data();
            let goals = host.goals.served.lock().unwrap_or_else(PoisonError::into_inner).len();
            let links = links(host);
            Ok(Captured::Copy(Box::new(Moment { state: state(store, at)?, memory: copy, goals, links })))
        }
    }
}

/// Whether the messages of ROS 1 are counted.
fn count_messages(host: &Host, counts: bool) {
    for (_, slot) in host.entities.all() {
        if let Some((Entity::Subscription(subscription), _)) = slot {
            subscription.incoming.count(counts);
        }
    }
}

/// How many peers each entity is linked to.
pub fn links(host: &Host) -> Vec<(u32, u32)> {
    let count = |entity: &Entity| match entity {
        Entity::Publisher(publisher) => Some(publisher.publisher.ready_subscription_count()),
        Entity::Subscription(subscription) => Some(subscription.subscription.publisher_count()),
        Entity::Client(client) => Some(usize::from(client.client.service_is_ready().unwrap_or(false))),
        _ => None,
    };
    let open = host.entities.all().filter_map(|(handle, slot)| Some((handle, slot?.0)));
    open.filter_map(|(handle, entity)| Some((handle, count(entity)? as u32))).collect()
}

fn state(store: &mut Store<Host>, at: Suspended) -> Result<State, String> {
    let asyncify = store.data().asyncify.clone().ok_or("it is not suspended")?;
    let globals = asyncify.globals(store);
    let host = store.data();
    let sent = host.goals.sent.lock().unwrap_or_else(PoisonError::into_inner);
    let goals = sent.iter().map(|(id, goal)| (*id, goal.client)).collect();
    drop(sent);
    let pending = host.requests.lock().unwrap_or_else(PoisonError::into_inner);
    let requests = pending.iter().map(|(id, request)| (*id, request.handle)).collect();
    drop(pending);
    let open = host.entities.all().filter_map(|(handle, slot)| Some((handle, slot?)));
    let entities =
        open.map(|(handle, slot)| Ok((handle, entity_state(slot)?))).collect::<Result<_, String>>()?;
    Ok(State {
        arguments: host.arguments.clone(),
        ros_arguments: host.ros_arguments.clone(),
        graphs: host.context.graphs().into(),
        definitions: host.types.definitions().to_vec(),
        clock: host.clock.now().as_nanos() as u64,
        handles: host.entities.count(),
        entities,
        events: host.events.waiting(),
        next_id: host.events.peek_id(),
        calls: host.calls.all(),
        goals,
        requests,
        lines: host.console.unfinished().clone(),
        last_error: host.last_error.clone(),
        suspended: at,
        buffer: asyncify.buffer(),
        under_buffer: asyncify.under_buffer().to_vec(),
        globals,
    })
}

fn entity_state((entity, description): (&Entity, &Description)) -> Result<EntityState, String> {
    let data = match entity {
        Entity::Node(node) => EntityData::Parameters(parameters(node)?),
        Entity::Publisher(publisher) => match &publisher.kept {
            Some(kept) => EntityData::Kept(kept.messages().map(<[u8]>::to_vec).collect()),
            None => EntityData::None,
        },
        Entity::Subscription(subscription) => EntityData::Received(subscription.incoming.positions()),
        Entity::Service(service) => EntityData::Requests(service.requests.last()),
        Entity::Timer(timer) => {
            EntityData::TimeLeft(timer.time_until_next().map(|left| left.as_nanos() as u64))
        }
        Entity::Client(_) | Entity::ActionClient(_) | Entity::ActionServer { .. } => EntityData::None,
    };
    Ok(EntityState { description: description.clone(), data })
}

fn parameters(node: &NodeEntity) -> Result<Vec<ParameterState>, String> {
    let state = |(name, is_read_only): &(String, bool)| {
        let failed = |why: &dyn std::fmt::Display| format!("parameter {name}: {why}");
        let value: ParameterValue = node.node.get_parameter(name).map_err(|error| failed(&error))?;
        let value = encode_parameter(&value).map_err(|_| failed(&"its value cannot be written"))?;
        Ok(ParameterState { name: name.clone(), value, is_read_only: *is_read_only })
    };
    node.declared.iter().map(state).collect()
}
