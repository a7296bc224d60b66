//! `system.multicall`: several calls in one request, by which rospy unregisters everything.

use std::collections::BTreeMap;

use crate::xmlrpc::{Fault, Value};

use super::api::{Request, fault, single};
use super::measure::size;
use super::state::State;

/// The method's name.
pub(super) const MULTICALL: &str = "system.multicall";

/// Carries out the calls in order. Each result is an array of one value. A call that fails, or calls a `system.*`
/// method, gives a struct with the fault.
///
/// # Errors
/// A fault if there is no list of calls, an entry is not a call, or the results exceed their limit. The entries
/// before it have been carried out.
pub(super) fn multicall(state: &mut State, request: Request, params: &[Value]) -> Result<Value, Fault> {
    let [Value::Array(calls)] = params else {
        return Err(fault(format!("{MULTICALL} takes one argument, an array of structs")));
    };
    let part = Request { bytes: request.bytes / calls.len().max(1), ..request };
    let mut results = Vec::new();
    let mut response_bytes = 0;
    for (index, entry) in calls.iter().enumerate() {
        let (method, params) =
            parts(entry).map_err(|why| fault(format!("{MULTICALL}: entry {index} {why}")))?;
        let result = match params {
            Value::Array(params) => single(state, part, method, params),
            other => Err(fault(format!("params of {method} must be an array, not {}", other.kind()))),
        };
        let result = result.map_or_else(|no| fault_struct(&no), |value| vec![value].into());
        response_bytes += size(&result).bytes;
        results.push(result);
        if response_bytes > state.limits.multicall_bytes {
            return Err(fault(format!("{MULTICALL}: entry {index} makes the results larger than the limit")));
        }
    }
    Ok(results.into())
}

fn parts(entry: &Value) -> Result<(&str, &Value), &'static str> {
    let Value::Struct(members) = entry else { return Err("is no struct") };
    let method = members.get("methodName").ok_or("has no methodName")?;
    let params = members.get("params").ok_or("has no params")?;
    Ok((method.as_str().ok_or("has a methodName that is no string")?, params))
}

fn fault_struct(fault: &Fault) -> Value {
    Value::Struct(BTreeMap::from([
        ("faultCode".to_owned(), fault.code.into()),
        ("faultString".to_owned(), fault.message.as_str().into()),
    ]))
}
