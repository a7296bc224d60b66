//! Parameters of a guest's nodes.

use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::rcl_interfaces::msg;
use runnel::{Parameter, ParameterDeclaration, ParameterValue};
use wasmtime::{Caller, Linker};

use super::{MODULE, answer};
use crate::host::Host;
use crate::refusal::{Refusal, Refused};

/// Bytes of a value, at most.
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
                host.pace.pause(|| host.events.change_parameters(|| node.set_parameter(name, value)))?;
                Ok(0)
            })
        },
    )?;
    Ok(())
}

/// Declares a parameter once. A guest whose buffer was too small for its value asks again.
fn declare(
    host: &mut Host,
    node: u32,
    name: &str,
    (default, read_only): (ParameterValue, bool),
) -> Result<Vec<u8>, Refusal> {
    let node = host.entities.node(node)?;
    if !node.has_parameter(name) {
        if host.parameters >= host.manifest.limits.entities {
            let why =
                format!("the node has {} parameters, as many as limits.entities allows", host.parameters);
            return Err(Refusal::new(Refused::TooMany, why));
        }
        let declaration = ParameterDeclaration::new(default);
        let declaration = if read_only { declaration.read_only() } else { declaration };
        // It asks the master.
        let declare = || host.events.change_parameters(|| node.declare_parameter(name, declaration));
        host.pace.pause(declare)?;
        host.parameters += 1;
    }
    encode(&node.get_parameter::<ParameterValue>(name)?)
}

fn decode(bytes: &[u8]) -> Result<ParameterValue, Refusal> {
    if bytes.len() > LONGEST {
        let why = format!("a value of {} bytes: at most {LONGEST}", bytes.len());
        return Err(Refusal::new(Refused::TooLong, why));
    }
    let value: msg::ParameterValue = cdr::decode(bytes).map_err(|error| {
        Refusal::invalid(format!("a value is no rcl_interfaces/msg/ParameterValue: {error}"))
    })?;
    let parameter = Parameter::from_message(&msg::Parameter { name: String::new(), value });
    parameter.map_err(Refusal::invalid)?.value.ok_or_else(|| Refusal::invalid("a value is not set"))
}

fn encode(value: &ParameterValue) -> Result<Vec<u8>, Refusal> {
    let parameter = Parameter { name: String::new(), value: Some(value.clone()) };
    cdr::encode(&parameter.to_message().value, Encoding::Xcdr1).map_err(Refusal::invalid)
}
