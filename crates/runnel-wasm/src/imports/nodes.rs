//! Nodes, names, time and the log.

use runnel::core::wire::{Encoding, cdr};
use runnel::logging::{Level, Place};
use runnel_io::clock;
use rustix::rand::{GetRandomFlags, getrandom};
use wasmtime::{Caller, Linker};

use super::{MODULE, answer, count, create};
use crate::host::{Description, Entity, Event, EventKind, Host, NodeEntity, Verdict};
use crate::refusal::{Refusal, Refused};

/// The parameter by which a node follows simulated time.
const USE_SIM_TIME: &str = "use_sim_time";

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(MODULE, "arguments", |mut caller: Caller<'_, Host>, to: u32, capacity: u32| {
        answer(&mut caller, |host, memory| {
            let all: Vec<u8> =
                host.arguments.iter().flat_map(|one| [one.as_bytes(), &[0]].concat()).collect();
            memory.write_bytes(to, capacity, &all)
        })
    })?;
    linker.func_wrap(MODULE, "graphs", |caller: Caller<'_, Host>| graphs(caller.data()))?;
    linker.func_wrap(
        MODULE,
        "define-type",
        |mut caller: Caller<'_, Host>, name: u32, name_len: u32, text: u32, text_len: u32| {
            answer(&mut caller, |host, memory| {
                let definition = memory.bytes(text, text_len)?;
                let definition = std::str::from_utf8(definition).map_err(Refusal::invalid)?;
                host.types.define(memory.text(name, name_len)?, definition).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(MODULE, "create-node", |mut caller: Caller<'_, Host>, name: u32, length: u32| {
        answer(&mut caller, |host, memory| {
            let name = memory.text(name, length)?.to_owned();
            create(host, Description::Node { name })
        })
    })?;
    linker.func_wrap(
        MODULE,
        "resolve",
        |mut caller: Caller<'_, Host>, node: u32, name: u32, length: u32, to: u32, capacity: u32| {
            answer(&mut caller, |host, memory| {
                let resolved = host.entities.node(node)?.resolve(memory.text(name, length)?)?;
                memory.write_bytes(to, capacity, resolved.as_bytes())
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "node-name",
        |mut caller: Caller<'_, Host>, node: u32, to: u32, capacity: u32| {
            answer(&mut caller, |host, memory| {
                memory.write_bytes(to, capacity, host.entities.node(node)?.full_name().as_bytes())
            })
        },
    )?;
    linker.func_wrap(MODULE, "close", |mut caller: Caller<'_, Host>, handle: u32| {
        answer(&mut caller, |host, _| close(host, handle))
    })?;
    linker.func_wrap(MODULE, "now", |caller: Caller<'_, Host>, of: u32| now(caller.data(), of))?;
    linker.func_wrap(
        MODULE,
        "random",
        |mut caller: Caller<'_, Host>, length: u32, to: u32, capacity: u32| {
            answer(&mut caller, |_, memory| {
                fill_randomly(memory.place(to, length.min(capacity) as usize)?)?;
                Ok(count(length.min(capacity) as usize))
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "log",
        |mut caller: Caller<'_, Host>, node: u32, severity: u32, text: u32, length: u32| {
            answer(&mut caller, |host, memory| {
                log(host, (node, severity), &String::from_utf8_lossy(memory.text_bytes(text, length)?))
            })
        },
    )?;
    Ok(())
}

fn graphs(host: &Host) -> i32 {
    match host.context.graphs() {
        runnel::Graphs::Ros1 => 1,
        runnel::Graphs::Ros2 => 2,
        runnel::Graphs::Both => 3,
    }
}

pub fn create_node(host: &mut Host, handle: u32, name: &str) -> Result<Entity, Refusal> {
    host.check_name(|manifest| &manifest.nodes, "nodes", name)?;
    if name.contains('/') {
        return Err(Refusal::invalid(format!(
            "node name {name}: the namespace is that of the host's arguments"
        )));
    }
    let node = host.pace.wait_for_others(|| host.context.create_node(name))?;
    host.pace.node_names().add(handle, node.full_name());
    let events = std::sync::Arc::clone(&host.events);
    let parameters = node.add_post_set_parameters_callback(move |parameters| {
        for parameter in parameters {
            if let Ok(payload) = cdr::encode(&parameter.to_message(), Encoding::Xcdr1) {
                events.push_parameter(Event::new(EventKind::Parameter, handle, 0).payload(payload));
            }
        }
    });
    // Every node of ROS 2 has it, and anyone may set it.
    let of_every_node = Some(USE_SIM_TIME).filter(|name| node.has_parameter(name));
    let declared = of_every_node.map(|name| (name.to_owned(), false)).into_iter().collect();
    Ok(Entity::Node(NodeEntity { node, declared, _parameters: parameters }))
}

/// Closes an entity.
pub fn close(host: &mut Host, handle: u32) -> Result<i32, Refusal> {
    drop(host.entities.close(handle)?);
    host.pace.node_names().remove(handle);
    host.events.forget(handle);
    host.goals.forget(handle);
    host.requests
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .retain(|_, request| request.handle != handle);
    Ok(0)
}

fn now(host: &Host, of: u32) -> wasmtime::Result<i64> {
    match of {
        0 => Ok(host.context.now().as_nanos()),
        1 => Ok(host.clock.now().as_nanos() as i64),
        _ => Err(wasmtime::Error::msg(format!("{of} is no clock"))),
    }
}

/// Fills a buffer with random bytes from the operating system.
pub fn fill_randomly(mut buffer: &mut [u8]) -> Result<(), Refusal> {
    while !buffer.is_empty() {
        let count = getrandom(&mut *buffer, GetRandomFlags::empty())
            .map_err(|error| Refusal::new(Refused::Io, error.to_string()))?;
        buffer = &mut buffer[count..];
    }
    Ok(())
}

fn log(host: &mut Host, (node, severity): (u32, u32), text: &str) -> Result<i32, Refusal> {
    const LEVELS: [Level; 5] = [Level::Debug, Level::Info, Level::Warn, Level::Error, Level::Fatal];
    let level = LEVELS.get(severity as usize).copied();
    let level = level.ok_or_else(|| Refusal::invalid(format!("{severity} is no severity")))?;
    let verdict = host.lines.count(clock::monotonic());
    let logger = host.entities.node(node)?.logger();
    if let Verdict::WriteAfter(dropped) = verdict {
        let note = format_args!("{dropped} lines of this node were dropped: it writes too many");
        logger.log(Level::Warn, Place { file: "", line: 0, function: "" }, note);
    }
    if logger.is_enabled(level) && verdict != Verdict::Drop {
        logger.log(level, Place { file: "", line: 0, function: "" }, format_args!("{}", text.trim_end()));
    }
    Ok(0)
}
