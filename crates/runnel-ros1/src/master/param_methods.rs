//! Methods of the parameter server.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::xmlrpc::Value;

use super::api::{Outcome, Refusal};
use super::params::{SetError, tree_key};
use super::registry::Role;
use super::state::{Caller, State};

/// `setParam(caller_id, key, value)`
pub(super) fn set(state: &mut State, from: Caller<'_>, key: &str, value: &Value) -> Outcome {
    let checked = state.params.check(key, value, &state.limits)?;
    state.store_param(from, key, Some(value))?;
    state.params.set(checked);
    state.param_changed(&tree_key(key), Some(from.name));
    Ok((format!("parameter {key} set"), 0.into()))
}

/// `getParam(caller_id, key)`: the value, or the struct of all values below the key.
pub(super) fn get(state: &mut State, _from: Caller<'_>, key: &str) -> Outcome {
    match state.params.get(key) {
        Some(value) => Ok((format!("Parameter [{key}]"), value.clone())),
        None => Err(Refusal::new(format!("Parameter [{key}] is not set"))),
    }
}

/// `hasParam(caller_id, key)`
pub(super) fn has(state: &mut State, _from: Caller<'_>, key: &str) -> Outcome {
    Ok((key.to_owned(), state.params.get(key).is_some().into()))
}

/// `deleteParam(caller_id, key)`
pub(super) fn delete(state: &mut State, from: Caller<'_>, key: &str) -> Outcome {
    if !state.params.can_delete(key) {
        return Err(Refusal::new(format!("parameter [{key}] is not set")));
    }
    state.store_param(from, key, None)?;
    state.params.delete(key);
    state.param_changed(&tree_key(key), None);
    Ok((format!("parameter {key} deleted"), 0.into()))
}

/// `searchParam(caller_id, key)`: the first match from the caller's namespace upwards.
pub(super) fn search(state: &mut State, from: Caller<'_>, key: &str) -> Outcome {
    if key.starts_with('~') {
        return Err(Refusal::internal("invalid key"));
    }
    if !from.name.starts_with('/') {
        return Err(Refusal::internal("namespace must be global"));
    }
    match state.params.search(from.name, key) {
        Some(found) => Ok((format!("Found [{found}]"), found.into())),
        None => {
            let text = format!("Cannot find parameter [{key}] in an upwards search");
            Err(Refusal { value: Some("".into()), ..Refusal::new(text) })
        }
    }
}

/// `getParamNames(caller_id)`
pub(super) fn names(state: &mut State, _from: Caller<'_>) -> Outcome {
    Ok(("Parameter names".to_owned(), state.params.names().into()))
}

/// `subscribeParam(caller_id, caller_api, key)`: the value, or an empty struct if it is not set.
pub(super) fn subscribe(state: &mut State, from: Caller<'_>, api: &str, key: &str) -> Outcome {
    let watched = tree_key(key);
    state.admit_registration(from, api, Role::ParamSubscriber, &watched)?;
    state.registry.subscribe_param(from.name, &watched);
    state.param_subscribers.add(&watched, from.name);
    let value = state.params.get(key).cloned().unwrap_or_else(|| Value::Struct(BTreeMap::new()));
    Ok((format!("Subscribed to parameter [{key}]"), value))
}

/// `unsubscribeParam(caller_id, caller_api, key)`: always 1, as in rosmaster.
pub(super) fn unsubscribe(state: &mut State, from: Caller<'_>, api: &str, key: &str) -> Outcome {
    let watched: Arc<str> = tree_key(key).into();
    if let Ok(last) = state.registry.unregister((from.name, api), Role::ParamSubscriber, &watched) {
        state.param_subscribers.remove(&watched, from.name);
        state.on_unregistered(from.name, Role::ParamSubscriber, &watched, last);
    }
    Ok((format!("Unsubscribe to parameter [{key}]"), 1.into()))
}

impl From<SetError> for Refusal {
    fn from(error: SetError) -> Self {
        match error {
            SetError::Root => Refusal::new(
                "Error: invalid arguments: cannot set root of parameter tree to non-dictionary".to_owned(),
            ),
            SetError::Limit(limit) => limit.into(),
        }
    }
}
