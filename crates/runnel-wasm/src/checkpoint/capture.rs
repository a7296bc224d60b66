//! From the host's objects to the state.

use std::sync::PoisonError;

use runnel::ParameterValue;
use wasmtime::Store;

use super::state::{EntityData, EntityState, ParameterState, State};
use super::{Checkpoint, MemoryImage};
use crate::host::{Description, Entity, Host, NodeEntity, Suspended};
use crate::imports::encode_parameter;
use crate::program::ModuleHash;

/// The checkpoint of a guest that is suspended.
pub fn capture(store: &mut Store<Host>, module: ModuleHash, at: Suspended) -> Result<Checkpoint, String> {
    let asyncify = store.data().asyncify.clone().ok_or("it is not suspended")?;
    let globals = asyncify.globals(store);
    let memory = store.data().memory.ok_or("it has no memory")?;
    let memory = MemoryImage::of(memory.data(&mut *store));
    let host = store.data();
    let pending = |goals: &std::sync::Mutex<std::collections::HashMap<u64, crate::host::SentGoal>>| {
        let goals = goals.lock().unwrap_or_else(PoisonError::into_inner);
        goals.iter().map(|(id, goal)| (*id, goal.client)).collect()
    };
    let open = host.entities.all().filter_map(|(handle, slot)| Some((handle, slot?)));
    let entities =
        open.map(|(handle, slot)| Ok((handle, entity_state(slot)?))).collect::<Result<_, String>>()?;
    let state = State {
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
        goals: pending(&host.goals.sent),
        lines: host.console.unfinished().clone(),
        last_error: host.last_error.clone(),
        suspended: at,
        buffer: asyncify.buffer(),
        under_buffer: asyncify.under_buffer().to_vec(),
        globals,
    };
    Ok(Checkpoint { module, state, memory })
}

fn entity_state((entity, description): (&Entity, &Description)) -> Result<EntityState, String> {
    let data = match entity {
        Entity::Node(node) => EntityData::Parameters(parameters(node)?),
        Entity::Publisher(publisher) => match &publisher.kept {
            Some(kept) => EntityData::Kept(kept.messages().map(<[u8]>::to_vec).collect()),
            None => EntityData::None,
        },
        Entity::Subscription(subscription) => EntityData::Received(subscription.received.all()),
        Entity::Timer(timer) => {
            EntityData::TimeLeft(timer.time_until_next().map(|left| left.as_nanos() as u64))
        }
        Entity::Client(_)
        | Entity::Service { .. }
        | Entity::ActionClient(_)
        | Entity::ActionServer { .. } => EntityData::None,
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
