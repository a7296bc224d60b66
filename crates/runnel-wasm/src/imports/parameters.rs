//! Parameters of a guest's nodes.

use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::rcl_interfaces::msg;
use runnel::{Parameter, ParameterDeclaration, ParameterValue};
use wasmtime::{Caller, Linker};

use super::{MODULE, answer};
use crate::host::Host;
use crate::refusal::{Refusal, Refused};

/// Bytes of a value that the guest gives, at most.
const LONGEST: usize = 64 << 10;

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "declare-parameter",
        |mut caller: Caller<'_, Host>,
         node: u32,
         name: u32,
         name_len: u32,
         default: u32,
         default_len: u32,
         read_only: u32,
         to: u32,
         capacity: u32| {
            answer(&mut caller, |host, memory| {
                let name = memory.text(name, name_len)?;
                let default = decode(memory.bytes(default, default_len)?)?;
                let value = declare(host, node, name, (default, read_only != 0))?;
                memory.write_bytes(to, capacity, &value)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "get-parameter",
        |mut caller: Caller<'_, Host>, node: u32, name: u32, length: u32, to: u32, capacity: u32| {
            answer(&mut caller, |host, memory| {
                let name = memory.text(name, length)?;
                let value: ParameterValue = host.entities.node(node)?.get_parameter(name)?;
                memory.write_bytes(to, capacity, &encode(&value)?)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "set-parameter",
        |mut caller: Caller<'_, Host>, node: u32, name: u32, name_len: u32, value: u32, value_len: u32| {
            answer(&mut caller, |host, memory| {
                let value = decode(memory.bytes(value, value_len)?)?;
                let (node, name) = (host.entities.node(node)?, memory.text(name, name_len)?);
                host.pace
                    .wait_for_others(|| host.events.change_parameters(|| node.set_parameter(name, value)))?;
                Ok(0)
            })
        },
    )?;
    Ok(())
}

/// Declares a parameter once. A guest whose buffer was too small for its value asks again.
fn declare(
    host: &mut Host,
    handle: u32,
    name: &str,
    (default, read_only): (ParameterValue, bool),
) -> Result<Vec<u8>, Refusal> {
    if !host.entities.node(handle)?.has_parameter(name) {
        let declaration = ParameterDeclaration::new(default);
        let declaration = if read_only { declaration.read_only() } else { declaration };
        declare_as(host, handle, name, (declaration, read_only))?;
    }
    encode(&host.entities.node(handle)?.get_parameter::<ParameterValue>(name)?)
}

fn declare_as(
    host: &mut Host,
    handle: u32,
    name: &str,
    (declaration, is_read_only): (ParameterDeclaration<ParameterValue>, bool),
) -> Result<(), Refusal> {
    if host.parameters >= host.manifest.limits.entities {
        let why = format!("the node has {} parameters, as many as limits.entities allows", host.parameters);
        return Err(Refusal::new(Refused::TooMany, why));
    }
    let node = host.entities.node(handle)?;
    // It asks the master.
    host.pace
        .wait_for_others(|| host.events.change_parameters(|| node.declare_parameter(name, declaration)))?;
    host.parameters += 1;
    host.entities.node_mut(handle)?.declared.push((name.to_owned(), is_read_only));
    Ok(())
}

/// Declares a parameter of a restored node, with the value that it had: command line and files do not change it. It may be
/// longer than those that the guest gives, since others set it, too.
pub fn restore(
    host: &mut Host,
    handle: u32,
    name: &str,
    (value, is_read_only): (&[u8], bool),
) -> Result<(), Refusal> {
    let value = read(value)?;
    let node = host.entities.node(handle)?;
    // A parameter that every node has.
    if node.has_parameter(name) {
        host.pace.wait_for_others(|| host.events.change_parameters(|| node.set_parameter(name, value)))?;
        return Ok(());
    }
    let declaration = ParameterDeclaration::new(value).ignore_override();
    let declaration = if is_read_only { declaration.read_only() } else { declaration };
    declare_as(host, handle, name, (declaration, is_read_only))
}

/// Sets a parameter as the event of its change says.
pub fn set_from_event(host: &Host, node: u32, event: &[u8]) -> Result<(), Refusal> {
    let message: msg::Parameter = cdr::decode(event).map_err(Refusal::invalid)?;
    let Parameter { name, value } = Parameter::from_message(&message).map_err(Refusal::invalid)?;
    let value = value.ok_or_else(|| Refusal::invalid("a value is not set"))?;
    let node = host.entities.node(node)?;
    host.events.change_parameters(|| node.set_parameter(&name, value))?;
    Ok(())
}

fn decode(bytes: &[u8]) -> Result<ParameterValue, Refusal> {
    if bytes.len() > LONGEST {
        let why = format!("a value of {} bytes: at most {LONGEST}", bytes.len());
        return Err(Refusal::new(Refused::TooLong, why));
    }
    read(bytes)
}

fn read(bytes: &[u8]) -> Result<ParameterValue, Refusal> {
    let value: msg::ParameterValue = cdr::decode(bytes).map_err(|error| {
        Refusal::invalid(format!("a value is no rcl_interfaces/msg/ParameterValue: {error}"))
    })?;
    let parameter = Parameter::from_message(&msg::Parameter { name: String::new(), value });
    parameter.map_err(Refusal::invalid)?.value.ok_or_else(|| Refusal::invalid("a value is not set"))
}

pub fn encode(value: &ParameterValue) -> Result<Vec<u8>, Refusal> {
    let parameter = Parameter { name: String::new(), value: Some(value.clone()) };
    cdr::encode(&parameter.to_message().value, Encoding::Xcdr1).map_err(Refusal::invalid)
}
