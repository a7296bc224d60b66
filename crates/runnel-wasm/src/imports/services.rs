//! Clients and services.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Schema};
use runnel::core::wire::Encoding;
use runnel::{Error, ServiceError, ServiceFailure};
use wasmtime::{Caller, Linker};

use super::{MODULE, answer, create};
use crate::host::{
    ClientEntity, Description, Entity, Event, EventKind, GuestMemory, Host, Interface, MOST_PENDING,
    PendingRequest, ServiceEntity, ServiceRequests, generation,
};
use crate::refusal::{Refusal, Refused};

/// Reads what the guest says of a service or an action.
pub fn read(
    memory: &GuestMemory<'_>,
    node: u32,
    name: (u32, u32),
    type_name: (u32, u32),
    encoding: u32,
) -> Result<Interface, Refusal> {
    Ok(Interface {
        node,
        name: memory.text(name.0, name.1)?.to_owned(),
        type_name: memory.text(type_name.0, type_name.1)?.to_owned(),
        encoding,
    })
}

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "create-client",
        |mut caller: Caller<'_, Host>, node, name, name_len, of_type, type_len, encoding| {
            answer(&mut caller, |host, memory| {
                let names = ((name, name_len), (of_type, type_len));
                create(host, Description::Client(read(memory, node, names.0, names.1, encoding)?))
            })
        },
    )?;
    linker.func_wrap(MODULE, "service-is-ready", |mut caller: Caller<'_, Host>, client: u32| {
        answer(&mut caller, |host, _| Ok(i32::from(host.entities.client(client)?.client.service_is_ready()?)))
    })?;
    linker.func_wrap(
        MODULE,
        "call",
        |mut caller: Caller<'_, Host>, client: u32, request: u32, length: u32, timeout: u64, to: u32| {
            answer(&mut caller, |host, memory| {
                let call = call(host, client, memory.bytes(request, length)?, timeout)?;
                memory.write(to, &call.to_le_bytes()).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "create-service",
        |mut caller: Caller<'_, Host>, node, name, name_len, of_type, type_len, encoding| {
            answer(&mut caller, |host, memory| {
                let names = ((name, name_len), (of_type, type_len));
                create(host, Description::Service(read(memory, node, names.0, names.1, encoding)?))
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "respond",
        |mut caller: Caller<'_, Host>, request: u64, response: u32, length: u32| {
            answer(&mut caller, |host, memory| respond(host, request, memory.bytes(response, length)?))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "refuse",
        |mut caller: Caller<'_, Host>, request: u64, why: u32, length: u32| {
            answer(&mut caller, |host, memory| {
                let why = memory.text(why, length)?.to_owned();
                refuse(host, request, &why)
            })
        },
    )?;
    Ok(())
}

pub fn create_client(host: &mut Host, service: &Interface) -> Result<Entity, Refusal> {
    host.check_name(|manifest| &manifest.call, "call", &service.name)?;
    let schema = host.types.service(generation(service.encoding)?, &service.type_name)?;
    let node = host.entities.node(service.node)?;
    let client = host.pace.wait_for_others(|| node.create_dynamic_client(&service.name, &schema))?;
    Ok(Entity::Client(ClientEntity { client, schema }))
}

/// Sends a request, and returns the number of the call.
fn call(host: &mut Host, handle: u32, request: &[u8], timeout: u64) -> Result<u64, Refusal> {
    let ClientEntity { client, schema } = host.entities.client(handle)?;
    let request = decode(&schema.request, request)?;
    if host.calls.count() >= MOST_PENDING {
        return Err(Refusal::new(Refused::TooMany, format!("{MOST_PENDING} calls wait for a response")));
    }
    let (id, events) = (host.events.next_id(), Arc::clone(&host.events));
    let pending = host.calls.add(id, handle);
    let timeout = Some(timeout).filter(|timeout| *timeout > 0).map(Duration::from_nanos);
    let done = move |response: Result<DynamicMessage, Error>| {
        drop(pending);
        let event = Event::new(EventKind::Response, handle, id);
        events.push(match response.map_err(failed).and_then(|response| encode(&response)) {
            Ok(payload) => event.payload(payload),
            Err(Refusal::Error(refused, text)) => event.status(refused.status()).payload(text.into_bytes()),
            Err(Refusal::Trap(error)) => {
                event.status(Refused::Io.status()).payload(error.to_string().into_bytes())
            }
        });
    };
    client.call_with(&request, timeout, done)?;
    Ok(id)
}

/// Why a call has no response.
fn failed(error: Error) -> Refusal {
    let refused = match &error {
        Error::Service { why: ServiceError::NoAnswer(ServiceFailure::TimedOut { .. }), .. } => {
            Refused::Timeout
        }
        Error::Service { why: ServiceError::NoAnswer(_), .. } => Refused::Unavailable,
        Error::Service { .. } => Refused::Failed,
        _ => return error.into(),
    };
    Refusal::new(refused, error.to_string())
}

pub fn create_service(host: &mut Host, handle: u32, service: &Interface) -> Result<Entity, Refusal> {
    host.check_name(|manifest| &manifest.serve, "serve", &service.name)?;
    let schema = host.types.service(generation(service.encoding)?, &service.type_name)?;
    let requests = ServiceRequests::new(handle, &host.events, &host.requests, host.is_expected);
    let requests = Arc::new(requests);
    let received = Arc::clone(&requests);
    let receive = move |request: DynamicMessage, responder: runnel::DynamicResponder| match encode(&request) {
        Ok(payload) => received.receive(responder, payload),
        Err(Refusal::Error(_, why)) => responder.fail(why),
        Err(Refusal::Trap(error)) => responder.fail(error),
    };
    let node = host.entities.node(service.node)?;
    let server =
        host.pace.wait_for_others(|| node.create_dynamic_service(&service.name, &schema, receive))?;
    Ok(Entity::Service(ServiceEntity { _server: server, schema, requests }))
}

/// Sends the response to a request.
pub fn respond(host: &mut Host, id: u64, response: &[u8]) -> Result<i32, Refusal> {
    if host.former.as_mut().is_some_and(|former| former.respond(id, Ok(response))) {
        return Ok(0);
    }
    let request = take_request(host, id)?;
    let schema = Arc::clone(&host.entities.service(request.handle)?.schema);
    match decode(&schema.response, response) {
        Ok(response) => request.responder.respond(&response),
        Err(refusal) => {
            request.responder.fail("the service gave a response that is not of its type");
            return Err(refusal);
        }
    }
    Ok(0)
}

/// Sends an error in place of the response to a request.
pub fn refuse(host: &mut Host, id: u64, why: &str) -> Result<i32, Refusal> {
    if host.former.as_mut().is_some_and(|former| former.respond(id, Err(why))) {
        return Ok(0);
    }
    take_request(host, id)?.responder.fail(why);
    Ok(0)
}

fn take_request(host: &Host, id: u64) -> Result<PendingRequest, Refusal> {
    let request = host.requests.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    request.ok_or_else(|| {
        Refusal::new(Refused::NoSuchHandle, format!("request {id} does not wait for a response"))
    })
}

/// Reads bytes of the guest.
pub fn decode(schema: &Arc<Schema>, bytes: &[u8]) -> Result<DynamicMessage, Refusal> {
    let read = match schema.generation {
        Generation::Ros1 => DynamicMessage::decode(schema, bytes),
        Generation::Ros2 => DynamicMessage::decode_payload(schema, bytes),
    };
    read.map_err(|error| Refusal::invalid(format!("the bytes are no {}: {error}", schema.def.name)))
}

/// The bytes that the guest gets.
pub fn encode(message: &DynamicMessage) -> Result<Vec<u8>, Refusal> {
    let encoding = match message.schema().generation {
        Generation::Ros1 => Encoding::Ros1,
        Generation::Ros2 => Encoding::Xcdr1,
    };
    message.to_payload(encoding).map_err(Refusal::invalid)
}
