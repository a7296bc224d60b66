//! The functions that a guest calls, one file for each kind of entity. `runnel-guest/wit/runnel.wit` describes them.

mod actions;
mod events;
mod nodes;
mod parameters;
mod pause;
mod services;
mod timers;
mod topics;

pub use actions::{cancel_goal, check_server};
pub use nodes::{close, fill_randomly};
pub use parameters::{
    encode as encode_parameter, restore as restore_parameter, set_from_event as set_parameter,
};
pub use services::{refuse, respond};
use wasmtime::{Caller, Linker};

use crate::host::{Description, GuestMemory, Host};
use crate::refusal::Refusal;

/// The module of the imports, with the interface's version.
pub const MODULE: &str = "runnel:guest/host@0.1.0";

/// Adds all functions.
pub fn add_all(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    events::add(linker)?;
    pause::add(linker)?;
    nodes::add(linker)?;
    topics::add(linker)?;
    services::add(linker)?;
    actions::add(linker)?;
    parameters::add(linker)?;
    timers::add(linker)
}

/// Creates an entity. Returns its handle.
pub fn create(host: &mut Host, description: Description) -> Result<i32, Refusal> {
    let handle = host.entities.next()?;
    create_at(host, handle, description)
}

/// Creates an entity at a handle that is free. Returns it.
pub fn create_at(host: &mut Host, handle: u32, description: Description) -> Result<i32, Refusal> {
    let entity = match &description {
        Description::Node { name } => nodes::create_node(host, handle, name)?,
        Description::Publisher(topic) => topics::create_publisher(host, topic)?,
        Description::Subscription(topic) => topics::create_subscription(host, handle, topic)?,
        Description::Client(service) => services::create_client(host, service)?,
        Description::Service(service) => services::create_service(host, handle, service)?,
        Description::ActionClient(action) => actions::create_client(host, action)?,
        Description::ActionServer(action) => actions::create_server(host, handle, action)?,
        Description::Timer(timer) => timers::create_timer(host, handle, timer)?,
    };
    host.entities.put(handle, entity, description)
}

/// Runs a function for a guest. An error is kept for `last-error`, and its number returned.
#[inline]
fn answer(
    caller: &mut Caller<'_, Host>,
    function: impl FnOnce(&mut Host, &mut GuestMemory<'_>) -> Result<i32, Refusal>,
) -> wasmtime::Result<i32> {
    let memory = caller.data().memory.ok_or_else(no_memory)?;
    let (bytes, host) = memory.data_and_store_mut(&mut *caller);
    match function(host, &mut GuestMemory(bytes)) {
        Ok(status) => Ok(status),
        Err(Refusal::Error(refused, text)) => {
            host.last_error = text;
            Ok(refused.status())
        }
        Err(Refusal::Trap(error)) => Err(error),
    }
}

#[cold]
fn no_memory() -> wasmtime::Error {
    wasmtime::Error::msg("it called the host before its memory was there")
}

/// A count as the status of a function.
fn count(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
