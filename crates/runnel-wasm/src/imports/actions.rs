//! Action clients and servers.

use std::sync::{Arc, PoisonError};

use runnel::core::dynamic::DynamicMessage;
use runnel::{DynamicServerGoalHandle, Error, GoalOutcome, GoalStatus};
use wasmtime::{Caller, Linker};

use super::services::{decode, encode, read};
use super::{MODULE, answer, create};
use crate::host::{
    ActionClientEntity, Description, Entity, Event, EventKind, Host, Interface, MOST_PENDING, SentGoal,
    ServedGoal, generation,
};
use crate::refusal::{Refusal, Refused};

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    add_client(linker)?;
    add_server(linker)
}

fn add_client(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "create-action-client",
        |mut caller: Caller<'_, Host>, node, name, name_len, of_type, type_len, encoding| {
            answer(&mut caller, |host, memory| {
                let names = ((name, name_len), (of_type, type_len));
                create(host, Description::ActionClient(read(memory, node, names.0, names.1, encoding)?))
            })
        },
    )?;
    linker.func_wrap(MODULE, "action-is-ready", |mut caller: Caller<'_, Host>, client: u32| {
        answer(&mut caller, |host, _| {
            Ok(i32::from(host.entities.action_client(client)?.client.server_is_ready()))
        })
    })?;
    linker.func_wrap(
        MODULE,
        "send-goal",
        |mut caller: Caller<'_, Host>, client: u32, goal: u32, length: u32, to: u32| {
            answer(&mut caller, |host, memory| {
                let id = send_goal(host, client, memory.bytes(goal, length)?)?;
                memory.write(to, &id.to_le_bytes()).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(MODULE, "cancel-goal", |mut caller: Caller<'_, Host>, goal: u64| {
        answer(&mut caller, |host, _| cancel_goal(host, goal))
    })?;
    Ok(())
}

fn add_server(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "create-action-server",
        |mut caller: Caller<'_, Host>, node, name, name_len, of_type, type_len, encoding| {
            answer(&mut caller, |host, memory| {
                let names = ((name, name_len), (of_type, type_len));
                create(host, Description::ActionServer(read(memory, node, names.0, names.1, encoding)?))
            })
        },
    )?;
    linker.func_wrap(MODULE, "accept-goal", |mut caller: Caller<'_, Host>, goal: u64| {
        answer(&mut caller, |host, _| with_goal(host, goal, |goal| goal.handle.accept()))
    })?;
    linker.func_wrap(
        MODULE,
        "reject-goal",
        |mut caller: Caller<'_, Host>, goal: u64, why: u32, length: u32| {
            answer(&mut caller, |host, memory| {
                let why = memory.text(why, length)?;
                with_goal(host, goal, |goal| goal.handle.reject(why))?;
                forget(host, goal);
                Ok(0)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "publish-feedback",
        |mut caller: Caller<'_, Host>, goal: u64, feedback: u32, length: u32| {
            answer(&mut caller, |host, memory| {
                let served = served(host, goal)?;
                let schema = &host.entities.action_server(served.server)?.feedback;
                let feedback = decode(schema, memory.bytes(feedback, length)?)?;
                served.handle.publish_feedback(&feedback)?;
                Ok(0)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "finish-goal",
        |mut caller: Caller<'_, Host>, goal: u64, status: i32, result, result_len, text, text_len| {
            answer(&mut caller, |host, memory| {
                let served = served(host, goal)?;
                let schema = &host.entities.action_server(served.server)?.result;
                let result = decode(schema, memory.bytes(result, result_len)?)?;
                finish(&served.handle, status, &result, memory.text(text, text_len)?)?;
                forget(host, goal);
                Ok(0)
            })
        },
    )?;
    Ok(())
}

pub fn create_client(host: &mut Host, action: &Interface) -> Result<Entity, Refusal> {
    host.check_name(|manifest| &manifest.send_goals, "send_goals", &action.name)?;
    let schema = host.types.action(generation(action.encoding)?, &action.type_name)?;
    let node = host.entities.node(action.node)?;
    let client = host.pace.wait_for_others(|| node.create_dynamic_action_client(&action.name, &schema))?;
    let goal = Arc::clone(&schema.goal);
    Ok(Entity::ActionClient(ActionClientEntity { client, goal }))
}

fn send_goal(host: &Host, handle: u32, goal: &[u8]) -> Result<u64, Refusal> {
    let ActionClientEntity { client, goal: schema } = host.entities.action_client(handle)?;
    let goal = decode(schema, goal)?;
    let id = host.events.next_id();
    let (events, sent) = (Arc::clone(&host.events), Arc::clone(&host.goals.sent));
    let (of_feedback, still_sent) = (Arc::clone(&events), Arc::clone(&sent));
    // Goals of a closed client are forgotten.
    let feedback = move |feedback: &DynamicMessage| {
        if still_sent.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&id)
            && let Ok(payload) = encode(feedback)
        {
            of_feedback.push(Event::new(EventKind::Feedback, handle, id).payload(payload));
        }
    };
    let done = move |outcome: GoalOutcome<DynamicMessage>| {
        if sent.lock().unwrap_or_else(PoisonError::into_inner).remove(&id).is_none() {
            return;
        }
        let (status, payload) = ended(outcome);
        events.push(Event::new(EventKind::GoalResult, handle, id).status(status).payload(payload));
    };
    let mut sent = host.goals.sent.lock().unwrap_or_else(PoisonError::into_inner);
    if sent.len() >= MOST_PENDING {
        return Err(Refusal::new(Refused::TooMany, format!("{MOST_PENDING} goals wait for their result")));
    }
    let sending = client.send_goal_with(&goal, feedback, done)?;
    sent.insert(id, SentGoal { handle: sending, client: handle });
    Ok(id)
}

/// Cancels a goal of one of the guest's action clients.
pub fn cancel_goal(host: &Host, goal: u64) -> Result<i32, Refusal> {
    if host.former.as_ref().is_some_and(|former| former.cancel_goal(goal)) {
        return Ok(0);
    }
    let sent = host.goals.sent.lock().unwrap_or_else(PoisonError::into_inner);
    let handle = sent.get(&goal).map(|sent| sent.handle.clone());
    drop(sent);
    handle.ok_or_else(|| no_such_goal(goal))?.cancel()?;
    Ok(0)
}

/// Status and payload of a goal's end.
fn ended(outcome: GoalOutcome<DynamicMessage>) -> (i32, Vec<u8>) {
    let status = match outcome.status {
        GoalStatus::Succeeded => 4,
        GoalStatus::Preempted | GoalStatus::Recalled => 5,
        GoalStatus::Aborted => 6,
        GoalStatus::Rejected => return (Refused::Failed.status(), outcome.text.into_bytes()),
        _ => return (Refused::Unavailable.status(), outcome.text.into_bytes()),
    };
    match outcome.result.as_ref().map(encode) {
        Some(Ok(payload)) => (status, payload),
        _ => (Refused::Unavailable.status(), b"the server sent no result that can be read".to_vec()),
    }
}

/// Refuses a server that the manifest does not allow, or whose type is not known.
pub fn check_server(host: &Host, action: &Interface) -> Result<(), Refusal> {
    host.check_name(|manifest| &manifest.execute, "execute", &action.name)?;
    host.entities.node(action.node)?;
    host.types.action(generation(action.encoding)?, &action.type_name).map(|_| ())
}

pub fn create_server(host: &mut Host, server: u32, action: &Interface) -> Result<Entity, Refusal> {
    host.check_name(|manifest| &manifest.execute, "execute", &action.name)?;
    let schema = host.types.action(generation(action.encoding)?, &action.type_name)?;
    let (events, served) = (Arc::clone(&host.events), Arc::clone(&host.goals.served));
    let on_goal = move |handle: DynamicServerGoalHandle| {
        let id = events.next_id();
        let Ok(payload) = encode(handle.goal()) else { return };
        let mut served = served.lock().unwrap_or_else(PoisonError::into_inner);
        // A goal that is dropped is refused.
        if served.len() < MOST_PENDING
            && events.push(Event::new(EventKind::GoalRequest, server, id).payload(payload))
        {
            served.insert(id, ServedGoal { handle, server });
        }
    };
    let (events, served) = (Arc::clone(&host.events), Arc::clone(&host.goals.served));
    let on_cancel = move |handle: DynamicServerGoalHandle| {
        let mut served = served.lock().unwrap_or_else(PoisonError::into_inner);
        let goal = served.iter_mut().find(|(_, goal)| goal.handle.id() == handle.id());
        if let Some((id, goal)) = goal {
            // This handle knows of the cancel request.
            goal.handle = handle;
            events.push(Event::new(EventKind::CancelRequest, server, *id));
        }
    };
    let node = host.entities.node(action.node)?;
    let create = || node.create_dynamic_action_server(&action.name, &schema, on_goal, on_cancel);
    let created = host.pace.wait_for_others(create)?;
    Ok(Entity::ActionServer { _server: Box::new(created), schema })
}

fn served(host: &Host, id: u64) -> Result<ServedGoal, Refusal> {
    let served = host.goals.served.lock().unwrap_or_else(PoisonError::into_inner);
    served.get(&id).cloned().ok_or_else(|| no_such_goal(id))
}

fn with_goal(
    host: &Host,
    id: u64,
    act: impl FnOnce(&ServedGoal) -> Result<(), Error>,
) -> Result<i32, Refusal> {
    act(&served(host, id)?)?;
    Ok(0)
}

fn forget(host: &Host, id: u64) {
    host.goals.served.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
}

fn finish(
    goal: &DynamicServerGoalHandle,
    status: i32,
    result: &DynamicMessage,
    text: &str,
) -> Result<(), Refusal> {
    match status {
        4 => goal.succeed(Some(result), text)?,
        5 => goal.canceled(Some(result), text)?,
        6 => goal.abort(Some(result), text)?,
        _ => return Err(Refusal::invalid(format!("{status} is no status in which a goal ends: 4, 5 or 6"))),
    }
    Ok(())
}

fn no_such_goal(id: u64) -> Refusal {
    Refusal::new(Refused::NoSuchHandle, format!("goal {id} does not exist or has ended"))
}
